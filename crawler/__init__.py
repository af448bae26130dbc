"""The crawl itself, and the packages for each of its tasks, here called rooms.

Programs import from here what they need to crawl (`Crawl`, `crawl_sync`) and to add their own components;
docs/library.md shows how. These names are loaded when they are used, so importing this package is quick.

`engine` is the loop. `pipeline` takes one URL from its lease to its end: `reading` reads its page, and `settlement`
settles it. All of them use the `components`; `protocols` and `seams` define what these must do. `slots` limits how many
URLs are processed at once, `steps` divides long work, `background` runs tasks beside other work. `counters` counts what
the crawl does, `status` is its state as one value, `progress` says it in words. `notes` survive a restart.
`html_document` is the frame of all reports. The rooms:

    page                                    the values of a crawl
    url, discover, politeness, revisit      pure: what a URL is, which links to follow, when to fetch, when to come back
    fetch, identity, render                 HTTP, the keys that sign requests, a browser
    read, repeats, preferences              what a page says, whether it repeats another one, what it may be used for
    record, write                           page records, and what stores them: files, archives, databases
    disk, prune, copies, export             the directory of a crawl: its files, deleting, copying, converting them
    search                                  finds pages by their words
    control, operate, course                how an operator controls and watches a crawl, whether it runs or not
    parts, supervise, cluster               one crawl in several processes, and on many machines
    redis, shared_pace                      Redis servers, and the pace that several crawls keep together
    serve                                   the daemon
    compare, simweb, testing                measurements of visited sets, a simulated web, suites for plug-ins
    codes                                   exit codes of the command, and errors of the system
    wiring                                  makes the concrete components, and connects them
    library, cli                            a crawl for programs, and for people

The life of a URL: a link to it is found, resolved, in scope, canonicalized and new to the visited set. The URL enters
the ledger and its queue. A worker leases it, robots.txt allows it, and it is fetched, decoded and extracted. The sinks
write the page. Then its links are added, and only then the URL is done. So a crash repeats at most the pages in flight.
If something stops a URL on its way, its reason is kept.

The rooms know `page` and `url`, but not each other. What the world does (a dead server, a page of garbage) is a value
of a closed union. An exception that reaches the engine is a bug, and ends the crawl.
"""

from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Final

__version__ = "0.1.0"
"""As in `pyproject.toml`. To read it from the installed package takes as long as to start Python."""

_HOMES: Final = {
    "Config": "config",
    "ConfigError": "config",
    "Crawl": "crawler.library.crawl",
    "CrawlResult": "crawler.library.result",
    "CrawledPage": "crawler.library.page",
    "DirectoryRefused": "crawler.disk.directory",
    "Ending": "crawler.engine",
    "Extract": "crawler.page",
    "Failure": "crawler.page",
    "Fetched": "crawler.page",
    "Link": "crawler.page",
    "LinkExtractor": "crawler.seams",
    "LinkKind": "crawler.page",
    "NotModified": "crawler.page",
    "NotTaken": "crawler.seams",
    "Page": "crawler.page",
    "PageLink": "crawler.library.page",
    "PageRecord": "crawler.page",
    "Redirect": "crawler.page",
    "Sink": "crawler.seams",
    "Status": "crawler.status",
    "StoreFailed": "frontier",
    "StoreRefused": "frontier",
    "SyncCrawl": "crawler.library.sync",
    "VisitedSet": "visited",
    "crawl_sync": "crawler.library.sync",
    "read_records": "crawler.write.records",
    "record_directories": "crawler.library.records",
}
"""The module of each name. `__init__.pyi` says the same to type checkers."""

__all__ = list(_HOMES)


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'crawler' has no attribute {name!r}")
    value: object = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})


def _check_packages() -> None:
    """Refuse to work if other files hide our packages. Python takes those beside the script, and in PYTHONPATH, first.

    Raises `ImportError`. A file that hides this package itself is found by Python, or by `onceover_crawler`.
    """
    root = Path(__file__).resolve().parents[1]
    for name in ("config", "frontier", "visited"):
        try:
            spec = find_spec(name)
        except ValueError:  # something is loaded under that name that was never imported
            spec = None
        found = None if spec is None else spec.origin
        if found is not None and Path(found).resolve().parents[1] != root:
            raise ImportError(
                f"{found} hides the package {name!r} of onceover, which is in {root}: rename it, or move it out of the "
                "folder of the script and out of PYTHONPATH",
                name=name,
                path=found,
            )


_check_packages()

"""The report lists the dead links that linkchecker finds, with all pages that have them.

linkchecker, of the Debian package of that name, logs each dead URL with the first page only, so we have it note each
link that it finds. Both crawl the documentation of Python and of LibreOffice, of Debian's packages, from nginx on
loopback.
"""

import csv
import json
import subprocess
from pathlib import Path
from typing import Final

import msgspec
import pytest

from crawler.operate.report.lists.forms import DeadLinkList
from tests.e2e.crawling import COMPLETE, assert_told, onceover, setting
from tests.nginx import NGINX, serving

PYTHON: Final = Path("/usr/bin/python3")
"""That of Debian, which has the modules of its linkchecker."""
LINKCHECKER: Final = Path("/usr/bin/linkchecker")
NOTE_EVERY_LINK: Final = """
import json, sys
from linkcheck.cache.urlqueue import UrlQueue
from linkcheck.command.linkchecker import linkchecker
from linkcheck.configuration import Configuration

notes = open(sys.argv.pop(1), "a", encoding="utf-8", buffering=1)
put, begin = UrlQueue._put, Configuration.__init__

def note_and_put(queue, url_data):
    notes.write(json.dumps([url_data.url, url_data.parent_url]) + chr(10))
    put(queue, url_data)

def begin_without_limits(configuration):
    begin(configuration)
    configuration.update(maxfilesizeparse=1 << 30, maxrequestspersecond=1000)

UrlQueue._put, Configuration.__init__ = note_and_put, begin_without_limits
linkchecker()
"""
"""By itself it reads no page of more than 1 MiB, and asks ten times in a second."""


class Site(msgspec.Struct, frozen=True, kw_only=True):
    """A directory of a Debian package, served as a site."""

    package: str
    root: Path
    start: str
    """A page from which links lead to all others."""
    server: str = ""
    """Directives for nginx."""


SITES: Final = {
    "python3-doc": Site(package="python3-doc", root=Path("/usr/share/doc/python3-doc/html"), start="index.html"),
    # All links to the rest are dead.
    "a part of python3-doc": Site(
        package="python3-doc", root=Path("/usr/share/doc/python3-doc/html/whatsnew"), start="index.html"
    ),
    # linkchecker does not know that the address in <base> may be relative, and does not leave the folder of its seed.
    "libreoffice-help": Site(
        package="libreoffice-help-en-us",
        root=Path("/usr/share/libreoffice/help"),
        start="begin.html",
        server="".join(
            [
                *(
                    f"""sub_filter '<base href="{"../" * depth}">' '<base href="http://$http_host/">';"""
                    for depth in (3, 4, 5)
                ),
                "location = /begin.html { default_type text/html; ",
                """return 200 '<a href="/en-US/text/swriter/main0000.html">Writer</a>'; }""",
            ]
        ),
    ),
}
TIMEOUT_S: Final = 3_600.0

pytestmark = pytest.mark.long

DeadLinks = set[tuple[str, str]]
"""A dead URL, and a page that links to it."""


def by_linkchecker(seed: str, folder: Path) -> DeadLinks:
    links = folder / "links.jsonl"
    command: list[str | Path] = [
        PYTHON,
        "-c",
        NOTE_EVERY_LINK,
        links,
        "--no-status",
        "--threads",
        "4",
        "-o",
        "csv",
        seed,
    ]
    # As root it becomes nobody, who may not write here: so it logs to stdout.
    ended = subprocess.run(command, cwd=folder, timeout=TIMEOUT_S, capture_output=True, check=False)
    lines = ended.stdout.decode().splitlines()
    rows = csv.DictReader((line for line in lines if not line.startswith("#")), delimiter=";")
    dead = {_page(row["url"]) for row in rows if row["valid"] == "False"}
    found = (json.loads(line) for line in links.read_text("utf-8").splitlines())
    return {(_page(url), _page(page)) for url, page in found if page and url and _page(url) in dead}


def by_onceover(seed: str, folder: Path) -> DeadLinks:
    options = setting(
        "politeness.min_delay_s=0",
        "politeness.delay_factor=0",
        "fetch.allow_private=true",
        "scope.sitemap_paths=[]",
        "output.link_details=true",
        "output.warc=false",
    )
    crawled = onceover("crawl", "--seed", seed, "--dir", "crawl", *options, cwd=folder, timeout_s=TIMEOUT_S)
    assert_told(crawled, COMPLETE)
    told = onceover("report", "crawl", "dead-links", "--json", cwd=folder).json()
    dead = msgspec.convert(told["dead_links"], DeadLinkList)
    assert dead.is_whole
    return {(link.url, link.page) for link in dead.links if link.page is not None}


def _page(url: str) -> str:
    return url.partition("#")[0]


@pytest.mark.parametrize("site", SITES)
def test_dead_links_are_those_of_linkchecker_on_all_pages(site: str, tmp_path: Path) -> None:
    served = SITES[site]
    if NGINX is None:
        pytest.skip("nginx is not installed")
    if not LINKCHECKER.exists():
        pytest.skip(f"no {LINKCHECKER}: the Debian package linkchecker is not installed")
    if not served.root.exists():
        pytest.skip(f"no {served.root}: the Debian package {served.package} is not installed")
    with serving(served.root, tmp_path, server=served.server) as port:
        seed = f"http://127.0.0.1:{port}/{served.start}"
        theirs, ours = by_linkchecker(seed, tmp_path), by_onceover(seed, tmp_path)
    assert theirs, "linkchecker has found none, so that there is nothing to compare"
    assert ours == theirs

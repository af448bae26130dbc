"""onceover demo"""

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path

import click
import msgspec

from config import Loaded
from crawler.cli.options import settings_option
from crawler.cli.run.division import is_in_parts, keep_parts, parts_option
from crawler.cli.run.running import print_result, run_crawl
from crawler.codes.exit_codes import COMPLETE, FAILED
from crawler.disk.directory import CrawlDirectory, DirectoryRefused
from crawler.disk.layout import record_directories
from crawler.operate.settings.start import Start
from crawler.page import LinkKind
from crawler.simweb.expected import Kind
from crawler.simweb.params import WorldParams, demo_params
from crawler.simweb.process import running
from crawler.simweb.world import World
from crawler.url.urls import UrlReader
from crawler.wiring.configuration import load
from crawler.write.records import read_records

_SETTINGS = (
    'crawl.name="demo"',
    "politeness.min_delay_s=0.0",
    "politeness.delay_factor=0.0",
    "frontier.retry_delay_s=0.3",
    "frontier.retry_max_delay_s=1.0",
    'visited.backend="bloom"',
    "visited.capacity=100_000",
)


@click.command()
@click.option("--dir", "directory", default="crawls/demo", show_default=True, help="Directory for state and output.")
@click.option("--fresh", is_flag=True, help="First delete the state and output of the last demo.")
@settings_option("visited.backend=exact")
@click.option("--parts", metavar="N|auto", help="Share the crawl among N processes, or as many as there are cores.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def demo(directory: str, fresh: bool, settings: tuple[str, ...], parts: str | None, as_json: bool) -> int:
    """Crawl a simulated web, and check that every page was found. It has 40 hosts on loopback.

    The web has redirects, dead links, servers that fail at first, robots.txt rules, traps, session ids and old
    charsets. Its 2,000 pages are known in advance.
    """
    options = {"crawl.directory": ("--dir", directory), **parts_option(parts)}
    loaded = _load(options, settings, fresh=fresh)
    _refuse_other_crawl(Path(directory), loaded.config.crawl.name)
    in_parts = is_in_parts(loaded, fresh=fresh)
    # A registered domain belongs to one part. Directly below .test, each host is a domain of its own.
    params = msgspec.structs.replace(demo_params(), domain="test") if in_parts else demo_params()
    with running(params) as port:
        scope = f'scope.within="{"any" if in_parts else "domain"}"'
        hosts = f'fetch.hosts={{"*.{params.domain}" = "127.0.0.1:{port}"}}'
        run = run_crawl
        if in_parts:
            from crawler.cli.run.parts import run_in_parts  # noqa: PLC0415 - as in `crawl`

            run = run_in_parts
        result = run(
            _load(options, (scope, hosts, *settings), fresh=fresh, seed=f"http://h00000.{params.domain}/"),
            fresh=fresh,
            start=Start(is_demo=True),
        )
        print_result(result, as_json=as_json, again=f"onceover demo --dir {shlex.quote(directory)}")
    if result.exit_code != COMPLETE or not _load(options, settings, fresh=False).config.output.records:
        return result.exit_code
    expected, found = page_urls(params, Path(result.directory))
    click.echo(
        f"{len(found & expected):,} of {len(expected):,} expected pages fetched, "
        f"{len(expected - found):,} missing, {len(found - expected):,} unexpected",
        err=as_json,
    )
    return COMPLETE if found == expected else FAILED


def _refuse_other_crawl(directory: Path, name: str) -> None:
    """Raise `DirectoryRefused` if a crawl of another name is there, whose settings and output the demo would change."""
    configuration = CrawlDirectory(directory).earlier_configuration
    if configuration is None:
        return
    found = load(configuration, environ={}, require_seeds=False, require_contact=False).config.crawl.name
    if found != name:
        raise DirectoryRefused(
            f"{directory} has the crawl {found!r}, expected a demo ({name!r}) or nothing; "
            "choose another directory with --dir"
        )


def _load(
    options: Mapping[str, tuple[str, object]],
    settings: Sequence[str],
    *,
    fresh: bool,
    seed: str = "http://h00000.sim.test/",
) -> Loaded:
    overrides = [*_SETTINGS, f'crawl.seeds=["{seed}"]', *settings]
    return keep_parts(load(None, overrides=overrides, options=options, environ={}), fresh=fresh)


def page_urls(params: WorldParams, directory: Path) -> tuple[set[str], set[str]]:
    """The canonical URLs of all pages of a web, and of those that the records of a crawl of it have."""
    reader = UrlReader()
    found = {
        reader.seed(record.url).canonical
        for record in read_records(*record_directories(directory))
        if record.state == "done" and record.status == 200 and record.kind != LinkKind.SITEMAP
    }
    return {item.url for item in World(params).expected() if item.kind is Kind.PAGE}, found

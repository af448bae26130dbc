"""One crawl of a comparison, in its own process: `python -m crawler.cli.compare.live`.

It reads the trial from stdin and writes the outcome to stdout, like `crawler.wiring.comparing.worker`.
"""

import contextlib
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import msgspec

from config import ConfigError, Loaded, toml_value
from crawler.cli.demo import page_urls
from crawler.cli.run.running import run_crawl
from crawler.codes.exit_codes import COMPLETE
from crawler.compare.measure.process import end_with_parent
from crawler.compare.measure.trial import Competitor, Crawled, Failed, Outcome, Trial
from crawler.compare.measure.work import Live
from crawler.library.opening import lock_crawl
from crawler.library.result import CrawlResult
from crawler.simweb.params import WorldParams
from crawler.simweb.process import running
from crawler.wiring.comparing.ending import interrupts_s
from crawler.wiring.configuration import load
from crawler.wiring.opening.starting_over import start_over
from crawler.wiring.plugins.catalog import descriptor
from crawler.wiring.plugins.checks import PluginFailed
from crawler.wiring.plugins.kinds import VISITED
from visited.backends import PEERS
from visited.descriptor import CommonOptions

_CAPACITY = 1_000_000


def crawl_with(live: Live, competitor: Competitor, directory: Path) -> Outcome:
    """Crawl with this competitor as visited set, without verification and cache, which would hide its losses."""
    if competitor.backend in PEERS:
        return Failed(
            reason=f"{competitor.backend} can't be the visited set of a crawl; it can only be compared on links"
        )
    is_on_server = "server" in descriptor(VISITED, competitor.backend).needs
    path = directory / "live.toml"
    path.write_text(live.configuration, encoding="utf-8")
    overrides = [
        f"crawl.directory={toml_value(str(directory / 'crawl'))}",
        f"visited.backend={toml_value(competitor.backend)}",
        f"visited.store={toml_value('memory')}",
        f"visited.capacity={competitor.capacity_for(_CAPACITY)}",
        f"visited.error_rate={competitor.error_rate!r}",
        *_options(competitor),
        "visited.verify=false",
        "visited.recent=0",
    ]
    with _web(live) as more:
        loaded = load(path, overrides=[*overrides, *more], environ={})
        with _deleting(loaded) if is_on_server else contextlib.nullcontext():
            return _outcome(live, run_crawl(loaded, fresh=False), is_on_server=is_on_server)


@contextlib.contextmanager
def _deleting(loaded: Loaded) -> Iterator[None]:
    """Delete the set that the crawl has on a server when the context ends, however it ends."""
    try:
        yield
    finally:
        with lock_crawl(loaded) as crawled:
            start_over(crawled, loaded.config)


def _outcome(live: Live, run: CrawlResult, *, is_on_server: bool) -> Outcome:
    if run.exit_code != COMPLETE:
        return Failed(reason=f"the crawl ended with exit code {run.exit_code}")
    visited = run.status.visited
    return Crawled(
        pages=run.status.pages,
        missing=None if live.web is None else _missing(live.web, Path(run.directory)),
        seconds=run.status.elapsed_s,
        count=visited.count,
        reported_bytes=None if is_on_server else visited.memory_bytes,  # a crawl does not ask what it takes there
        estimated_lost=visited.expected_lost,
    )


def _options(competitor: Competitor) -> list[str]:
    structs = (descriptor(VISITED, competitor.backend).options, CommonOptions)
    names = [field.name for struct in structs for field in msgspec.structs.fields(struct)]
    options = competitor.all_options
    return [f"visited.options.{name}={toml_value(value)}" for name in names if (value := options.get(name)) is not None]


@contextlib.contextmanager
def _web(live: Live) -> Iterator[list[str]]:
    """The settings to crawl the simulated web, which runs in this context; none if the seeds are crawled."""
    if live.web is None:
        yield []
        return
    with running(msgspec.json.decode(live.web, type=WorldParams)) as port:
        yield [f'fetch.hosts={{"*.sim.test" = "127.0.0.1:{port}"}}']


def _missing(web: str, directory: Path) -> int:
    expected, found = page_urls(msgspec.json.decode(web, type=WorldParams), directory)
    return len(expected - found)


def main() -> None:
    trial = msgspec.json.decode(sys.stdin.buffer.readline(), type=Trial)
    end_with_parent(interrupts_s(trial))
    assert isinstance(trial.work.stream, Live)
    try:
        # A plug-in may print without ending its line, and the outcome needs a line of its own.
        with (
            contextlib.redirect_stdout(sys.stderr),
            tempfile.TemporaryDirectory(prefix="onceover-compare-") as scratch,
        ):
            outcome = crawl_with(trial.work.stream, trial.competitor, Path(scratch))
    except (ConfigError, OSError, PluginFailed, ValueError) as error:
        outcome = Failed(reason=str(error))
    sys.stdout.buffer.write(msgspec.json.encode({"outcome": outcome}) + b"\n")
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()

"""Locks the directory of a crawl, and opens the crawl in it."""

import logging
import shlex
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import msgspec

from config import Config, ConfigError, Loaded, changes, render_run
from crawler.control.replies import Reconfigured, Refusal
from crawler.control.requests import Reload
from crawler.copies.folder import delete_leftovers
from crawler.disk.clearing import delete_leftovers_of_state
from crawler.disk.directory import CrawlDirectory, DirectoryInUse, DirectoryRefused
from crawler.disk.going_on import how_to_go_on
from crawler.disk.layout import part_at, read_layout, whole_crawl
from crawler.disk.unlocking import locked_to_run, locked_to_run_in_loop
from crawler.engine import Ending
from crawler.library.crawl_log import log_beginning
from crawler.library.known_pages import knows_page
from crawler.library.result import CrawlResult, end_run
from crawler.operate.begun import has_begun, is_unbegun
from crawler.operate.course import CourseKeeper
from crawler.operate.opening import has_crawl
from crawler.operate.running import RunningCrawl, answer_operator
from crawler.operate.settings.changing import RunningSettings
from crawler.operate.settings.lines import log_reload
from crawler.operate.settings.start import Start
from crawler.parts.ending import Gate
from crawler.status import number_of
from crawler.wiring.additions import NO_ADDITIONS, Additions
from crawler.wiring.auto_backend import choose_backend, filter_warnings
from crawler.wiring.backends import frontier_backend
from crawler.wiring.configuration import load
from crawler.wiring.crawl import OpenedCrawl, check_configuration, open_crawl
from crawler.wiring.opening.kept import RebuildProgress
from crawler.wiring.opening.lost_output import lost_output
from crawler.wiring.opening.starting_over import check_servers, start_over
from crawler.wiring.parts import number_of_parts
from frontier import Pausing

log = logging.getLogger(__name__)


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """A crawl that is open, and ready to run."""

    crawl: OpenedCrawl
    loaded: Loaded
    """At the start."""
    settings: RunningSettings
    place: CrawlDirectory
    course: CourseKeeper
    resumed: bool
    choice: str | None
    """What `visited.backend = "auto"` has chosen, for people."""

    async def answer_operator(self, *, stop: Callable[[bool], object], gate: Gate | None = None) -> None:
        """Let commands such as `onceover pause` reach the crawl while it runs, until cancelled. `stop` ends the run; if
        called with True, at once. `gate` is that of a part."""
        try:
            await answer_operator(self._running(stop, gate))
        except Exception:
            log.exception("commands can't reach the crawl any more; it goes on")

    def _running(self, stop: Callable[[bool], object], gate: Gate | None = None) -> RunningCrawl:
        return RunningCrawl(self.crawl, self.settings, self.place, self.course, stop=stop, gate=gate)

    async def reload(self) -> None:
        """Read the configuration again, and log what has changed, or why nothing has."""
        try:
            reply = await self._running(lambda _: None).answer(Reload())
        except Exception:
            log.exception("the configuration can't be read again; the crawl goes on with the settings that it has")
            return
        if isinstance(reply, Reconfigured | Refusal):
            log_reload(reply)

    @property
    def paused(self) -> str | None:
        """Why an operator has paused it; None if none has."""
        frontier = self.crawl.frontier
        return frontier.paused if isinstance(frontier, Pausing) else None

    @property
    def has_urls(self) -> bool:
        stats = self.crawl.frontier.describe()
        return bool(stats.pending or stats.retrying)

    def result(self, ending: Ending) -> CrawlResult:
        """How this run ended, by its status now."""
        status = self.crawl.gauge.status()
        may_lack_pages = ending is Ending.COMPLETE and not status.pages and not status.frontier.queued
        return end_run(
            ending,
            status,
            directory=str(self.place.path),
            new_seeds=self.crawl.new_seeds,
            resumed=self.resumed,
            has_page=not may_lack_pages or knows_page(self.crawl, self.loaded.config, resumed=self.resumed),
        )


@contextmanager
def lock_crawl(loaded: Loaded, *, fresh: bool = False) -> Iterator[CrawlDirectory]:
    """The directory of a crawl, created if it is missing, and locked in this context. With `fresh`, state and output of
    the crawl in it are deleted, unless the new one can't reach a server that it needs.

    Raises `ConfigError` and `DirectoryRefused`, also for the directory of a crawl in parts, and for that of a part."""
    with locked_to_run(_place_of(loaded, fresh=fresh, as_part=False)) as directory:
        starts_over = _check_ready(directory, loaded, fresh=fresh, as_part=False, additions=NO_ADDITIONS)
        if starts_over:
            start_over(directory, loaded.config)
        yield directory


async def _nothing() -> None:
    """A program without sinks has nothing to begin."""


@asynccontextmanager
async def lock_crawl_in_loop(
    loaded: Loaded,
    *,
    fresh: bool = False,
    as_part: bool = False,
    additions: Additions = NO_ADDITIONS,
    begin: Callable[[], Awaitable[None]] = _nothing,
) -> AsyncIterator[CrawlDirectory]:
    """The same as `lock_crawl`, for a part if opened `as_part`, with a program's `additions`. The event loop goes on
    while a command that uses the crawl is waited for. `begin` may refuse the crawl: nothing was deleted then."""
    async with locked_to_run_in_loop(_place_of(loaded, fresh=fresh, as_part=as_part)) as directory:
        starts_over = _check_ready(directory, loaded, fresh=fresh, as_part=as_part, additions=additions)
        await begin()
        if starts_over:
            start_over(directory, loaded.config)
        yield directory


@asynccontextmanager
async def open_run(
    loaded: Loaded,
    directory: CrawlDirectory,
    *,
    rebuild: bool = False,
    on_rebuild: RebuildProgress = lambda _what, _urls: None,
    additions: Additions = NO_ADDITIONS,
    start: Start | None = None,
    may_be_paused: bool = False,
) -> AsyncIterator[Run]:
    """Open the crawl in its locked directory, and store its configuration there. Leaving the context closes it in
    order.

    With `rebuild`, stored URLs are rebuilt after a change of the rules. `start` says how the configuration is read
    again; None if it can't be, because a program gave it. Raises whatever keeps a crawl from starting,
    and `DirectoryRefused` if an operator has paused it, unless it `may_be_paused`: then it waits to be resumed.
    """
    whole = directory.path if part_at(directory.original) is None else directory.original.parent
    _delete_leftovers(directory, whole)
    lost = lost_output(loaded, directory)
    async with open_crawl(loaded, directory, rebuild=rebuild, on_rebuild=on_rebuild, additions=additions) as crawl:
        if isinstance(crawl.frontier, Pausing) and (reason := crawl.frontier.paused) is not None:
            if not may_be_paused:
                raise DirectoryRefused(
                    f"the crawl in {whole} is paused: {reason}. `onceover resume {whole}` lets it continue"
                )
            await crawl.frontier.pause(reason)
        # Not earlier: if something is refused until here, the old configuration must stay.
        directory.write_configuration(render_run(loaded.lasting), start=b"" if start is None else start.encode())
        _, choice = choose_backend(loaded.config, directory)
        resumed = crawl.frontier.describe().admitted > crawl.new_seeds
        for warning in (*filter_warnings(loaded), *(lost if crawl.frontier.describe().settled else ())):
            log.warning("%s", warning)
        log_beginning(loaded.config, str(directory.path), resumed=resumed)
        yield Run(
            crawl=crawl,
            loaded=loaded,
            settings=RunningSettings(crawl.live, directory, start),
            place=directory,
            course=CourseKeeper(
                crawl.frontier.describe, lambda: crawl.engine.counters.settled, crawl.state, directory.course
            ),
            resumed=resumed,
            choice=None if choice is None else choice.text,
        )


def _place_of(loaded: Loaded, *, fresh: bool, as_part: bool) -> Path:
    """Where the crawl is. What is refused here must be before anything is deleted or locked."""
    check_configuration(loaded)
    if not as_part:
        _check_is_whole(loaded, fresh=fresh)
    return Path(loaded.config.crawl.directory)


def _check_ready(
    directory: CrawlDirectory, loaded: Loaded, *, fresh: bool, as_part: bool, additions: Additions
) -> bool:
    """Check that a run can begin in a locked directory. Returns whether what is in it has to be deleted first."""
    if fresh:
        check_servers(loaded, directory, additions=additions)
    # What a first start made that was refused must not fix the settings of the next one.
    if fresh or (not as_part and is_unbegun(directory, loaded.config)):
        return True
    _check_output(directory, loaded.config)
    return False


def check_is_no_part(path: Path) -> None:
    """Raises `DirectoryRefused` for the directory of a part, which runs with all others."""
    if part_at(path) is not None:
        raise DirectoryRefused(
            f"{path} is one part of the crawl in {whole_crawl(path)}, which runs all of them: `{how_to_go_on(path)}`"
        )


def _check_is_whole(loaded: Loaded, *, fresh: bool) -> None:
    path = Path(loaded.config.crawl.directory)
    check_is_no_part(path)
    if number_of_parts(loaded.config) > 1:
        raise loaded.refuse(
            "crawl.parts", "expected 1, found more: only the command `onceover crawl` runs a crawl in parts"
        )
    if not fresh and (layout := read_layout(path)) is not None:
        raise DirectoryRefused(
            f"{path} has a crawl in {number_of(len(layout.parts), 'part')}, and only the command runs such a crawl: "
            f"`onceover crawl --dir {shlex.quote(str(path))}`"
        )


def _check_output(directory: CrawlDirectory, config: Config) -> None:
    """Refuse to append the output of a new crawl to that of another: numbers of records would occur twice. A part that
    was open before must not begin anew, even if it has no output."""
    backend = frontier_backend(config)
    if backend.is_persistent and directory.has_state():
        return
    has_output = directory.has_output()
    if (has_output or directory.configuration.exists()) and part_at(directory.path) is not None:
        has = "has the output of a part of the crawl" if has_output else "is a part of the crawl that was open before"
        raise DirectoryRefused(
            f"{directory.path} {has}, and its state is missing: mount its disk; if that is lost, "
            f"`onceover inspect {directory.path.parent} fsck --repair` rebuilds it from the output of all parts"
        )
    if has_output:
        if backend.is_persistent:
            why = "its state is missing"
            back = f"rebuild it with `onceover inspect {directory.path} fsck --repair`, "
        else:
            why, back = f"frontier.backend is {backend.name}, which can't resume it", ""
        raise DirectoryRefused(
            f"{directory.path} has the output of an earlier crawl, and {why}; {back}"
            "choose another directory with --dir, or delete that crawl with --fresh"
        )


def changed_settings(loaded: Loaded) -> list[str]:
    """How the settings of this run differ from those of the last run in its directory."""
    directory = CrawlDirectory(Path(loaded.config.crawl.directory))
    earlier = directory.earlier_configuration
    if earlier is None:
        if not has_crawl(directory.path) or _is_unbegun(directory, loaded.config):
            return []
        lost = f"the settings of the last run are lost, because {directory.configuration} is missing"
        return [f"{lost}; what this start does not set has its default"]
    try:
        return changes(load(earlier, require_seeds=False, require_contact=False).config, loaded)
    except ConfigError as error:
        return [f"the settings of the last run can't be read, and are replaced: {error.problems[0]}"]


def _is_unbegun(directory: CrawlDirectory, config: Config) -> bool:
    try:
        with directory:
            layout = read_layout(directory.path)
            return is_unbegun(directory, config) if layout is None else not has_begun(directory.path, layout, config)
    except DirectoryInUse:
        return False


def _delete_leftovers(directory: CrawlDirectory, whole: Path) -> None:
    """Delete what interrupted work has left in the directory, and in that of the whole crawl."""
    delete_leftovers(directory)
    try:
        delete_leftovers_of_state(directory)
    except PermissionError:
        if not directory.frontier.exists():
            raise
        log.warning("what a rebuild by another user has left in %s can't be deleted, and stays", directory.path)
    if whole != directory.path:
        delete_leftovers(CrawlDirectory(whole))

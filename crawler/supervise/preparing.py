"""Locks the directory of a crawl in parts, and makes its parts."""

import asyncio
import logging
import shlex
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import msgspec

from config import Config, Loaded, render_run, values_of
from crawler import __version__
from crawler.control.process import is_stopped
from crawler.disk.directory import CrawlDirectory, DirectoryInUse, DirectoryRefused
from crawler.disk.going_on import how_to_run_machine
from crawler.disk.layout import Layout, read_layout, write_layout
from crawler.disk.unlocking import locked_to_run
from crawler.library.opening import check_is_no_part
from crawler.operate.begun import has_begun, has_other_rules, is_unbegun
from crawler.operate.missing import missing_parts
from crawler.operate.settings.start import Start
from crawler.parts.line.messages import Begin
from crawler.status import number_of
from crawler.supervise.process import check_still_there
from crawler.wiring.crawl import check_configuration
from crawler.wiring.opening.starting_over import check_servers, start_over
from crawler.wiring.parts import begin_suffixes, number_of_parts, use_suffixes_of

log = logging.getLogger(__name__)

WAIT_S: Final = 40.0
"""How long the parts of a supervisor that has died may take to finish what is in flight."""
_LOOK_AGAIN_S: Final = 0.2


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """A crawl in parts whose directory is locked and whose parts are not running."""

    loaded: Loaded
    directory: CrawlDirectory
    layout: Layout
    rebuild: bool = False
    start: Start | None = None

    @property
    def parts(self) -> int:
        return len(self.layout.parts)

    @property
    def directories(self) -> list[Path]:
        return self.layout.directories(self.directory.path)

    def begin(self, number: int, *, again: bool) -> Begin:
        """What to tell the process of a part first. `again` says whether the part was open before in this run."""
        return Begin(
            version=__version__,
            number=number,
            lineage=self.layout.parts[number].lineage,
            directories=[str(each) for each in self.directories],
            configuration=configuration_for_parts(self.loaded.config),
            rebuild=self.rebuild,
            again=again,
        )

    def write_configuration(self) -> None:
        """Store the configuration for later runs. If the parts refuse it, the old one must stay."""
        start = b"" if self.start is None else self.start.encode()
        self.directory.write_configuration(render_run(self.loaded.lasting), start=start)


def configuration_for_parts(config: Config) -> str:
    """What each part gets: as JSON, all values that differ from their defaults, by key."""
    return msgspec.json.encode(values_of(for_parts(config)), order="sorted").decode()


def for_parts(config: Config) -> Config:
    """The configuration for the parts. A part does not stop by what only the whole crawl can count."""
    limits = msgspec.structs.replace(config.limits, bytes=None, seconds=None)
    return msgspec.structs.replace(config, limits=limits)


@contextmanager
def lock_parts(
    loaded: Loaded,
    *,
    fresh: bool = False,
    rebuild: bool = False,
    start: Start | None = None,
    on_wait: Callable[[str], object],
) -> Iterator[Plan]:
    """A crawl in parts, locked in this context and ready to start. `on_wait` is told what is waited for.

    Raises `ConfigError` and `DirectoryRefused`.
    """
    # This must come before anything is deleted or locked.
    check_configuration(loaded)
    path = Path(loaded.config.crawl.directory)
    check_is_no_part(path)
    with locked_to_run(path) as directory:
        before = read_layout(path)
        if before is not None and before.cluster is not None:
            # Without leases, another machine could run the same part.
            raise DirectoryRefused(
                f"{path} has parts of a crawl on many machines, and runs only while it holds their leases: "
                f"`{how_to_run_machine(path, before.cluster)}`"
            )
        if before is not None:
            for pause_s in waits_for_parts(before.directories(path), on_wait):
                time.sleep(pause_s)
        if fresh:
            check_servers(loaded, directory)
        # A first start that was refused must not fix the number of parts, or the rules for URLs.
        if fresh or _is_refused_start(directory, before, loaded):
            start_over(directory, loaded.config)
        layout = read_layout(path) or _begin(directory, loaded)
        _check_number(directory, layout, loaded)
        _check_places(directory, layout)
        use_suffixes_of(directory)
        yield Plan(loaded=loaded, directory=directory, layout=layout, rebuild=rebuild, start=start)


def _is_refused_start(directory: CrawlDirectory, before: Layout | None, loaded: Loaded) -> bool:
    """Whether a crawl with another number of parts, or none, or with other rules is there, which has not begun."""
    if before is None:
        return is_unbegun(directory, loaded.config)
    path, config = directory.path, loaded.config
    if has_begun(path, before, config):
        return False
    return not _has_number(before, loaded) or has_other_rules(path, before, config)


def waits_for_parts(directories: list[Path], on_wait: Callable[[str], object]) -> Iterator[float]:
    """For how long to wait, again and again, until no process holds a part: after a supervisor has died, its parts
    finish what is in flight. Raises `DirectoryRefused` if they take too long."""
    give_up_at = time.monotonic() + WAIT_S
    has_told = False
    while held := [error for each in directories if (error := _holder(each)) is not None]:
        stopped = [error for error in held if error.pid is not None and is_stopped(error.pid)]
        if stopped or time.monotonic() >= give_up_at:
            raise DirectoryRefused(_still_held(held, stopped))
        if not has_told:
            has_told = True
            are_commands = all(error.is_command for error in held)
            earlier = "parts of an earlier run, which finish what is in flight"
            on_wait(f"Waiting for {'commands that use parts' if are_commands else earlier}: {_pids(held)}")
        yield _LOOK_AGAIN_S


async def wait_until_free(begin: Begin) -> None:
    """Wait until no process of an earlier run holds the directory of a part. One whose supervisor died before it had
    its lock was not there when the next supervisor waited for all of them.

    Raises `DirectoryRefused` if that takes too long, and what `check_still_there` raises."""
    check_still_there(begin)
    for pause_s in waits_for_parts([Path(begin.directories[begin.number])], log.warning):
        await asyncio.sleep(pause_s)


def _holder(directory: Path) -> DirectoryInUse | None:
    part = CrawlDirectory(directory)
    part.check_place()
    if not part.lock.exists():
        return None
    try:
        with part:
            return None
    except DirectoryInUse as error:
        return error


def _still_held(held: list[DirectoryInUse], stopped: list[DirectoryInUse]) -> str:
    if stopped:
        pids = " ".join(str(error.pid) for error in stopped)
        return (
            f"parts of an earlier run are stopped (by Ctrl-Z, SIGSTOP or a debugger): {_pids(stopped)}. "
            f"`kill -CONT {pids}` lets them end; then start the crawl again"
        )
    if commands := [error for error in held if error.is_command]:
        return str(commands[0])
    pids = " ".join(str(error.pid) for error in held if error.pid is not None)
    return (
        f"parts of an earlier run still use their directories: {_pids(held)}. Start the crawl again when they have "
        f"ended; `kill -9 {pids}` ends them without loss"
    )


def _pids(held: list[DirectoryInUse]) -> str:
    noun = "process" if len(held) == 1 else "processes"
    return f"{noun} {', '.join(str(error.pid or 'unknown') for error in held)}"


def _begin(directory: CrawlDirectory, loaded: Loaded) -> Layout:
    """Make the layout of a new crawl."""
    if directory.has_state() or directory.has_output():
        where = shlex.quote(str(directory.path))
        raise DirectoryRefused(
            f"{directory.path} has a crawl that is not in parts: divide it by `onceover parts {where} --into "
            f"{number_of_parts(loaded.config)}`, run it with crawl.parts = 1, or start over with --fresh"
        )
    begin_suffixes(directory)
    layout = Layout.begin(number_of_parts(loaded.config))
    for path in layout.directories(directory.path):
        with CrawlDirectory(path):
            pass
    write_layout(directory.path, layout)
    return layout


def _check_places(directory: CrawlDirectory, layout: Layout) -> None:
    """A part whose disk is missing must not begin anew."""
    for number, part in missing_parts(directory.path, layout).items():
        expected = f"its frontier {part.frontier}" if part.lock.is_file() else f"its directory {part.path}"
        raise DirectoryRefused(
            f"part {number} of the crawl in {directory.path} is missing: expected {expected}. Mount its disk, or "
            f"restore a copy. If both are lost, `onceover inspect {shlex.quote(str(directory.path))} fsck --repair` "
            "makes the part again from the output of the others"
        )


def _has_number(layout: Layout, loaded: Loaded) -> bool:
    """With "auto", a crawl keeps the number of parts with which it began."""
    return loaded.config.crawl.parts in ("auto", len(layout.parts))


def _check_number(directory: CrawlDirectory, layout: Layout, loaded: Loaded) -> None:
    if _has_number(layout, loaded):
        return
    parts, wanted = len(layout.parts), loaded.config.crawl.parts
    where = shlex.quote(str(directory.path))
    raise DirectoryRefused(
        f"the crawl in {directory.path} has {number_of(parts, 'part')}, and the configuration says {wanted}: run it "
        f"with --parts {parts}, divide it anew by `onceover parts {where} --into {wanted}`, or start over with --fresh"
    )

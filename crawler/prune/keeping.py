"""Prunes while a crawl runs."""

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Final

import msgspec

from crawler.background import Repeating
from crawler.disk.directory import CrawlDirectory, DirectoryRefused
from crawler.disk.layout import replaced_directories
from crawler.disk.pruned import Cycle, lacked_before, read_pruned, write_pruned
from crawler.page import rfc3339
from crawler.prune.choosing import Keep
from crawler.prune.cycles import is_over, renumbered, with_next
from crawler.prune.finished import OutputFile, output_files
from crawler.prune.needs import Needed, Needs
from crawler.prune.pruning import Plan, delete, make_plan
from crawler.prune.recorded import visits_since
from crawler.status import number_of, size
from crawler.write.cdxj.making import archives, serial_of
from crawler.write.warc_opening import next_serial
from frontier import CrawlUrl, VisitsSince

_log = logging.getLogger(__name__)
INTERVAL_S: Final = 60.0
"""Files are large, so a look at their names and sizes once a minute costs nothing."""


class Referring(msgspec.Struct, frozen=True, kw_only=True):
    """What an archive may refer to."""

    since: VisitsSince = VisitsSince()
    """The visits so far to which it may refer: those of the present cycle."""
    next_number: Callable[[], int] = lambda: 0
    """The record number of the next page; 0 if numbers do not rise."""
    latest_at: Callable[[], float | None] = lambda: None
    """When the latest page was fetched, or later; None if that is not known. Seconds since 1970."""
    forget_before: Callable[[int], None] = lambda _: None
    """Lets it refer no more to archives with a lower number."""


NO_CYCLE: Final = Referring()


class Keeping:
    """Deletes the output of a crawl that is too old or too much, as long as `running` lasts.

    A file goes a minute after it was chosen, since a request that is on its way may still end in a reference to it. For
    the same reason a cycle begins a minute after the one before was over; meanwhile servers are asked for whole pages.
    In a crawl in parts, each part looks at the output of all, and deletes its own.
    """

    def __init__(
        self,
        outputs: Callable[[], Sequence[CrawlDirectory]],
        owns: Callable[[CrawlDirectory], bool],
        *,
        keep: Keep,
        own: CrawlDirectory,
        referring: Referring = NO_CYCLE,
        clock: Callable[[], float] = time.time,
        interval_s: float = INTERVAL_S,
    ) -> None:
        """`outputs` are all directories with output of the crawl, the oldest first; it writes its archive to its
        `own`."""
        self._outputs = outputs
        self._owns = owns
        self._keep = keep
        self._own = own
        self._clock = clock
        self._interval_s = interval_s
        self._needs = Needs()
        self._referring = referring
        self.since = referring.since
        self._cycle: Cycle | None = None
        self._next_serial = 0
        self._archives = True
        self._is_ending_cycle = False
        self._chosen: set[Path] = set()
        self._said: str | None = None
        self._repeating = Repeating(self._repeat)

    def set_keep(self, keep: Keep) -> None:
        """This holds from the next look on, which comes at once."""
        self._keep = keep
        self._is_ending_cycle = self._is_ending_cycle and bool(keep)
        self._repeating.wake()

    def may_be_conditional(self, url: CrawlUrl, /) -> bool:
        """Whether the request for a URL may be conditional: if the page has not changed, the archive gets no body, and
        its record tells nothing of it. The first visit in each cycle brings the whole page."""
        return url.last_visit is None or (self.since.has(url.last_visit) and not self._is_ending_cycle)

    async def prepare(self, *, archives: bool = True, is_resumed: bool = False) -> None:
        """Begin a cycle if the last one is over, and let the first look delete files of its own that it chooses. Before
        the first request, nothing is on its way.

        `archives` tells whether this run writes an archive, or else records alone, `is_resumed` whether a run before
        may have fetched pages. What a cycle promises holds also while everything is kept. Raises `OSError` and
        `DirectoryRefused`."""
        self._archives = archives
        self._cycle = await asyncio.to_thread(_present_cycle, self._own)
        self._next_serial = _next_serial(self._own)
        if self._cycle is not None:
            self._referring.forget_before(self._cycle.first)
        if await asyncio.to_thread(self._lacks_copies, archives=archives, is_resumed=is_resumed):
            await self._begin_cycle()
        if self._keep:
            await self._turn_cycle()
            if self._is_ending_cycle:
                await self._turn_cycle()
            plan = await self._plan(list(self._outputs()), lambda *_: set())  # none is read for that
            if self._is_ending_cycle:
                await self._turn_cycle()
            own = [each for each in plan.files if each.directory == self._own.path] if plan else []
            self._chosen = {each.path for each in own if each.is_finished}

    def running(self) -> AbstractAsyncContextManager[None]:
        """It prunes while this context lasts. Leaving it waits for the file that is being deleted."""
        return self._repeating.running()

    async def _repeat(self) -> float:
        if self._keep:
            await self.prune_once()
        return self._interval_s

    async def prune_once(self) -> None:
        """Look once, and delete what was chosen the last time already. Problems are logged."""
        await self._turn_cycle()
        outputs = list(self._outputs())
        plan = await self._plan(outputs, self._needs.needed)
        if plan is None:
            return
        self._note(plan, self._keep)
        ripe = [
            (file, reason)
            for file, reason in plan.chosen.items()
            if file.path in self._chosen and not self._is_of_present_cycle(file)
        ]
        self._chosen = {each.path for each in plan.chosen}
        for directory in filter(self._owns, reversed(outputs)):  # the oldest last, to which others refer
            await asyncio.to_thread(self._delete, directory, ripe)

    async def _plan(self, outputs: Sequence[CrawlDirectory], find_needed: Needed) -> Plan | None:
        """None after a problem, which is logged."""
        keep, now, asked = self._keep, self._clock(), list[OutputFile]()
        try:
            return await asyncio.to_thread(
                make_plan, outputs, keep, now=now, find_needed=find_needed, before=asked.extend, refuses_damage=False
            )
        except OSError as error:
            _warn(error)
            return None
        finally:
            # What is about to go must not be referred to. It goes when the next cycle has begun.
            self._is_ending_cycle = self._is_ending_cycle or any(map(self._is_of_present_cycle, asked))

    def _is_of_present_cycle(self, file: OutputFile) -> bool:
        """Whether it is an archive to which the present cycle may refer. Without archives: a file of records that may
        have a page of which later ones only say that it has not changed."""
        if not file.is_archive:
            return not self._archives and file.written_at >= self.since.at
        if self._cycle is None:
            return True
        return file.directory == self._own.path and serial_of(file.path) >= self._cycle.first

    def _delete(self, directory: CrawlDirectory, ripe: Sequence[tuple[OutputFile, str]]) -> None:
        mine = [each for each in ripe if each[0].directory == directory.path]
        try:
            deleted = delete(directory, mine, now=self._clock(), goes_on=lambda: not self._repeating.is_ending)
        except (OSError, DirectoryRefused) as error:
            _warn(error)
            return
        for file in deleted:
            span = f", with pages from {file.first} to {file.last}" if file.first else ""
            _log.info("deleted %s (%s), because it is %s%s", file.name, size(file.bytes), file.reason, span)

    async def _turn_cycle(self) -> None:
        """Begin the next cycle if the present one ends; otherwise look whether it is over, so that it ends."""
        try:
            if self._is_ending_cycle:
                await self._begin_cycle()
            else:
                files = await asyncio.to_thread(output_files, list(self._outputs()))
                self._is_ending_cycle = is_over(
                    files, self._keep, began=self.since.at, now=self._clock(), archives=self._archives
                )
        except (OSError, DirectoryRefused) as error:
            _log.warning("the archive can't begin anew now, so more of it stays: %s", error)

    async def _begin_cycle(self) -> None:
        """Raises `OSError` and `DirectoryRefused`."""
        now = self._clock()
        # The newest archives may be gone, but who writes them goes on counting.
        present = 0 if self._cycle is None else self._cycle.first
        self._next_serial = max(self._next_serial, present, _next_serial(self._own))
        latest_at = self._referring.latest_at()
        cycle = Cycle(
            began=rfc3339(now),
            first=self._next_serial,
            number=self._referring.next_number(),
            latest_at=None if latest_at is None else max(latest_at, now),
        )
        self._cycle = cycle
        self._referring.forget_before(cycle.first)
        self.since = visits_since(cycle, at=max(self.since.at, now))
        await asyncio.to_thread(_note_cycle, self._own, cycle, is_archived=self._archives)
        self._is_ending_cycle = False
        if self._archives:
            begins = "begins anew" if cycle.first else "begins"
            _log.info("the archive %s: nothing in it will refer to what was written before", begins)
        else:
            _log.info("the next visit of each page fetches it as a whole, because old records go")

    def _lacks_copies(self, *, archives: bool, is_resumed: bool) -> bool:
        """Whether it archives, and a run before did not, so that the archive lacks pages or has old ones. Notes it if
        this run does not. Then it tells whether records of the present cycle were deleted. A part also heeds what was
        noted before the crawl was divided; what other parts archive tells nothing of its pages. Raises `OSError` and
        `DirectoryRefused`."""
        replaced = [CrawlDirectory(each) for each in replaced_directories(self._own.original)]
        pruned, before = read_pruned(self._own), [read_pruned(each) for each in replaced]
        has_archive = any(file.is_archive for file in output_files([self._own, *replaced])) or any(
            each.cycles or each.total("warc").files for each in (pruned, *before)
        )
        if archives:
            lacks_before = not pruned.cycles and lacked_before(
                self._own.original, lacks=lambda each: each.lacks_pages, began=lambda each: bool(each.cycles)
            )
            return pruned.lacks_pages or lacks_before or (is_resumed and not has_archive)
        if has_archive and not pruned.lacks_pages:
            write_pruned(self._own, msgspec.structs.replace(pruned, lacks_pages=True))
        # As after `onceover prune`: the records of the present cycle may say only that these pages have not changed.
        gone = [last for each in (pruned, *before) if (last := each.total("records").last) is not None]
        return max(gone, default="") >= rfc3339(self.since.at)

    def _note(self, plan: Plan, keep: Keep) -> None:
        left = plan.bytes_left
        problem = None
        if keep.bytes is not None and left > keep.bytes:
            problem = (
                f"more than output.keep_bytes ({size(keep.bytes)}) stays: {size(left)}. What is being written is not "
                f"deleted, nor are {number_of(len(plan.needed), 'archive')} to which later ones refer"
            )
        if problem is not None and self._said is None:
            _log.warning("%s", problem)
        self._said = problem


def _next_serial(directory: CrawlDirectory) -> int:
    return next_serial(directory.warc) if directory.warc.is_dir() else 0


def _present_cycle(directory: CrawlDirectory) -> Cycle | None:
    """The one that goes on; None if none has begun. Renumbers cycles if the newest archives are gone. Raises `OSError`
    and `DirectoryRefused`."""
    pruned = read_pruned(directory)
    if not pruned.cycles:
        return None
    found = renumbered(pruned.cycles, next_number=_next_serial(directory))
    if found != pruned.cycles:
        write_pruned(directory, msgspec.structs.replace(pruned, cycles=found))
    return found[-1]


def _note_cycle(directory: CrawlDirectory, following: Cycle, *, is_archived: bool) -> None:
    """Raises `OSError` and `DirectoryRefused`."""
    pruned, found = read_pruned(directory), archives(directory.warc)
    oldest = serial_of(found[0]) if found else following.first
    cycles = with_next(pruned.cycles, following, oldest=oldest)
    lacks_pages = pruned.lacks_pages and not is_archived
    write_pruned(directory, msgspec.structs.replace(pruned, cycles=cycles, lacks_pages=lacks_pages))


def _warn(error: OSError | DirectoryRefused) -> None:
    _log.warning("old output can't be deleted now: %s", error)

"""Prunes while a crawl runs."""

import asyncio
import logging
import math
import time
import zlib
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Final

from crawler.disk.directory import CrawlDirectory, DirectoryRefused
from crawler.disk.repeating import Repeating
from crawler.prune.choosing import Keep
from crawler.prune.finished import OutputFile
from crawler.prune.needs import Needs
from crawler.prune.pruning import Plan, delete, make_plan
from crawler.status import number_of, size
from frontier import CrawlUrl

_log = logging.getLogger(__name__)
INTERVAL_S: Final = 60.0
"""Files are large, so a look at their names and sizes once a minute costs nothing."""


class Keeping:
    """Deletes the output of a crawl that is too old or too much, as long as `running` lasts.

    A file goes a minute after it was chosen, since a request that is on its way may still end in a reference to it. Of
    a crawl in parts, each looks at the output of all, and deletes its own.
    """

    def __init__(
        self,
        outputs: Callable[[], Sequence[CrawlDirectory]],
        owns: Callable[[CrawlDirectory], bool],
        *,
        keep: Keep,
        pruned_until: float = 0.0,
        forget_before: Callable[[float], None] = lambda _: None,
        clock: Callable[[], float] = time.time,
        interval_s: float = INTERVAL_S,
    ) -> None:
        """`outputs` are all directories with output of the crawl, the oldest first. Archives up to `pruned_until` may
        be gone already. `forget_before` is told from when on a page may be referred to. Both are in seconds since
        1970."""
        self._outputs = outputs
        self._owns = owns
        self._keep = keep
        self._forget_before = forget_before
        self._clock = clock
        self._interval_s = interval_s
        self._needs = Needs()
        self._floor = pruned_until
        self._span_s: float | None = None
        self._chosen: set[OutputFile] = set()
        self._said: str | None = None
        self._repeating = Repeating(self._repeat)

    def set_keep(self, keep: Keep) -> None:
        """This holds from the next look on, which comes at once."""
        self._keep = keep
        self._repeating.wake()

    @property
    def max_reference_s(self) -> float | None:
        """How old a body may be to which a new record refers; None without a bound.

        By size alone, half of the time that the files span, once they are half as large as they may be."""
        bounds = [each for each in (self._keep.seconds, self._span_s) if each is not None]
        return min(bounds) if bounds else None

    def may_refer(self, url: CrawlUrl, /) -> bool:
        """Whether the server may answer that the page of a URL has not changed, so that the archive gets no body.

        Time is divided into pieces as long as a reference may be, which begin at another moment for each URL. The first
        visit in each piece brings the body. Thus no reference is longer, and nothing has to be stored."""
        fetched_at = None if url.earlier is None else url.earlier.fetched_at
        length_s = self.max_reference_s
        if fetched_at is None:
            return True
        if fetched_at <= self._floor:
            return False
        if length_s is None:
            return True
        phase_s = zlib.crc32(url.canonical.encode("utf-8", "replace")) / 2**32 * length_s
        return math.floor((fetched_at + phase_s) / length_s) == math.floor((self._clock() + phase_s) / length_s)

    def running(self) -> AbstractAsyncContextManager[None]:
        """It prunes while this context lasts. Leaving it waits for the file that is being deleted."""
        return self._repeating.running()

    async def _repeat(self) -> float:
        if self._keep:
            await self.prune_once()
        return self._interval_s

    async def prune_once(self) -> None:
        """Look once, and delete what was chosen the last time already. Problems are logged."""
        now, keep = self._clock(), self._keep
        self._forget(now)
        try:
            outputs = list(self._outputs())
            loop = asyncio.get_running_loop()

            def before(moment: float) -> None:
                asyncio.run_coroutine_threadsafe(self._raise_floor(moment), loop).result()

            plan = await asyncio.to_thread(
                make_plan, outputs, keep, now=now, needs=self._needs, before=before, refuses_damage=False
            )
            self._note(plan, keep, now)
            ripe = [each for each in plan.chosen.items() if each[0] in self._chosen]
            self._chosen = set(plan.chosen)
        except OSError as error:
            _warn(error)
            return
        for directory in filter(self._owns, outputs):
            await asyncio.to_thread(self._delete, directory, ripe, now)

    def _delete(self, directory: CrawlDirectory, ripe: Sequence[tuple[OutputFile, str]], now: float) -> None:
        mine = [each for each in ripe if each[0].directory == directory.path]
        try:
            deleted = delete(directory, mine, now=now, goes_on=lambda: not self._repeating.is_ending)
        except (OSError, DirectoryRefused) as error:
            _warn(error)
            return
        for file in deleted:
            span = f", with pages from {file.first} to {file.last}" if file.first else ""
            _log.info("deleted %s (%s), because it is %s%s", file.name, size(file.bytes), file.reason, span)

    async def _raise_floor(self, moment: float) -> None:
        self._floor = max(self._floor, moment)
        self._forget_before(self._floor)

    def _forget(self, now: float) -> None:
        if self.max_reference_s is not None:
            self._forget_before(max(self._floor, now - self.max_reference_s))

    def _note(self, plan: Plan, keep: Keep, now: float) -> None:
        self._span_s = None
        if keep.bytes is not None and plan.files and plan.total_bytes > keep.bytes / 2:
            self._span_s = max(1.0, (now - min(file.written_at for file in plan.files)) / 2)
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


def _warn(error: OSError | DirectoryRefused) -> None:
    _log.warning("old output can't be deleted now: %s", error)

"""Makes reports of crawls, compares and searches them. It never holds up the event loop: a process of its own reads the
records."""

import asyncio
import time
from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path
from typing import Final
from weakref import WeakValueDictionary

import msgspec

from crawler.operate.diff.forms import Diff, Field, Kind
from crawler.operate.report.forms import Report
from crawler.operate.report.lists.forms import ListName
from crawler.search.forms import Found
from crawler.serve.asking import Unanswered, check_begun
from crawler.serve.inspection import MOST_PROCESSES, run_command

WITHIN_S: Final = 600.0
SEARCH_S: Final = 8.0
"""So long a search reads records before it says what it has found in those it has read."""
KEPT_S: Final = 10.0
"""How long a report is kept: several may look at the same page."""
MAX_KEPT: Final = 8


class Reporter:
    """Makes reports, one at a time, because each keeps a processor busy. Who waits gets what was made meanwhile.

    Searches do not wait for reports, nor these for them. Several crawls are searched at once, each by one process."""

    def __init__(self) -> None:
        self._turn = asyncio.Lock()
        self._searches = asyncio.Semaphore(MOST_PROCESSES)
        self._turns: WeakValueDictionary[Path, asyncio.Lock] = WeakValueDictionary()
        self._kept: OrderedDict[tuple[str, ...], tuple[float, bytes]] = OrderedDict()
        """What commands have printed, and until when that is given again."""

    async def report(self, directory: Path, section: ListName | None, *, limit: int) -> Report:
        """The report of the crawl in a directory, with one list of URLs. Raises `Unanswered`."""
        check_begun(directory)
        sections = ["summary", "hosts"] if section is None else ["summary", "hosts", section]
        printed = await self._printed("report", str(directory), *sections, "--limit", str(limit), "--json")
        return msgspec.json.decode(printed, type=Report)

    async def page(self, directory: Path, *, limit: int) -> bytes:
        """The report as an HTML page. Raises `Unanswered`."""
        check_begun(directory)
        return await self._printed("report", str(directory), "--html", "-", "--limit", str(limit))

    async def search(self, directory: Path, words: str, *, limit: int, skip: int) -> Found:
        """The pages of a crawl that have some words, of those whose records were read so far. Raises `Unanswered`."""
        check_begun(directory)
        places = ["--limit", str(limit), "--skip", str(skip), "--within", f"{SEARCH_S:.0f}s"]
        command = ("search", *places, "--json", "--", str(directory), words)
        turn = self._turns.setdefault(directory, asyncio.Lock())
        async with turn:
            if (known := self._known(command)) is not None:
                return msgspec.json.decode(known, type=Found)
            async with self._searches:
                printed = await _run(*command)
            found = msgspec.json.decode(printed, type=Found)
            if found.read_bytes == found.records_bytes:
                self._keep(command, printed)
            return found

    async def diff(
        self,
        before: Path,
        after: Path,
        *,
        since: str | None,
        renaming: Sequence[tuple[str, str]],
        only: Kind | Field | None,
        limit: int,
    ) -> Diff:
        """What has changed from one crawl to another; in one `since` a moment, as `onceover diff` takes it, if they are
        the same. `renaming`: how URLs of the earlier crawl begin, and how those of the later one do. `limit`: URLs of
        each kind. Raises `Unanswered`."""
        for directory in (before, after):
            check_begun(directory)
        sides = [str(before), str(after)] if since is None else [str(after), "--since", since]
        maps = [text for pair in renaming for text in ("--map", *pair)]
        kinds = [] if only is None else ["--only", only]
        printed = await self._printed("diff", *sides, *maps, *kinds, "--limit", str(limit), "--json")
        return msgspec.json.decode(printed, type=Diff)

    async def _printed(self, *command: str) -> bytes:
        async with self._turn:
            if (known := self._known(command)) is not None:
                return known
            printed = await _run(*command)
            self._keep(command, printed)
            return printed

    def _known(self, command: tuple[str, ...]) -> bytes | None:
        until, kept = self._kept.get(command, (0.0, None))
        return kept if time.monotonic() < until else None

    def _keep(self, command: tuple[str, ...], printed: bytes) -> None:
        self._kept.pop(command, None)
        self._kept[command] = time.monotonic() + KEPT_S, printed
        while len(self._kept) > MAX_KEPT:
            self._kept.popitem(last=False)


async def _run(*arguments: str) -> bytes:
    code, printed, complaint = await run_command(*arguments, within_s=WITHIN_S)
    if code is None:
        command = " ".join(["onceover", *arguments])
        raise Unanswered(f"this took longer than {WITHIN_S:.0f} s; run `{command}` instead", None)
    if code != 0:
        raise Unanswered(complaint, code)
    return printed

"""Makes reports of crawls, and never holds up the event loop: a process of its own reads the records."""

import asyncio
import time
from collections import OrderedDict
from pathlib import Path
from typing import Final

import msgspec

from crawler.codes.exit_codes import REFUSED
from crawler.disk.directory import CrawlDirectory
from crawler.operate.report.forms import ListName, Report
from crawler.serve.asking import Unanswered
from crawler.serve.inspection import run_command

WITHIN_S: Final = 600.0
KEPT_S: Final = 10.0
"""How long a report is kept: several may look at the same page."""
MAX_KEPT: Final = 8


class Reporter:
    """Makes reports, one at a time, because each keeps a processor busy."""

    def __init__(self) -> None:
        self._turn = asyncio.Lock()
        self._kept: OrderedDict[_Wanted, tuple[float, Report]] = OrderedDict()

    async def report(self, directory: Path, section: ListName | None, *, limit: int) -> Report:
        """The report of the crawl in a directory, with one list of URLs. Raises `Unanswered`."""
        _check_begun(directory)
        wanted = _Wanted(directory, section, limit)
        async with self._turn:
            until, kept = self._kept.get(wanted, (0.0, None))
            if kept is None or time.monotonic() >= until:
                kept = await _make(wanted)
                self._keep(wanted, kept)
            return kept

    async def page(self, directory: Path, *, limit: int) -> bytes:
        """The report as an HTML page. Raises `Unanswered`."""
        _check_begun(directory)
        async with self._turn:
            return await _run(str(directory), "--html", "-", "--limit", str(limit))

    def _keep(self, wanted: "_Wanted", report: Report) -> None:
        self._kept.pop(wanted, None)
        self._kept[wanted] = time.monotonic() + KEPT_S, report
        while len(self._kept) > MAX_KEPT:
            self._kept.popitem(last=False)


class _Wanted(msgspec.Struct, frozen=True):
    """A report."""

    directory: Path
    section: ListName | None
    limit: int


def _check_begun(directory: Path) -> None:
    if not CrawlDirectory(directory).lock.exists():
        raise Unanswered(f"the crawl in {directory} has not begun yet", REFUSED)


async def _make(wanted: _Wanted) -> Report:
    sections = ["summary", "hosts"] if wanted.section is None else ["summary", "hosts", wanted.section]
    printed = await _run(str(wanted.directory), *sections, "--limit", str(wanted.limit), "--json")
    return msgspec.json.decode(printed, type=Report)


async def _run(*arguments: str) -> bytes:
    code, printed, complaint = await run_command("report", *arguments, within_s=WITHIN_S)
    if code is None:
        command = " ".join(["onceover report", *arguments])
        raise Unanswered(f"this took longer than {WITHIN_S:.0f} s; run `{command}` instead", None)
    if code != 0:
        raise Unanswered(complaint, code)
    return printed

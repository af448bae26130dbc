"""Makes reports of crawls, and compares crawls. It never holds up the event loop: a process of its own reads the
records."""

import asyncio
import time
from collections import OrderedDict
from pathlib import Path
from typing import Final

import msgspec

from crawler.codes.exit_codes import REFUSED
from crawler.disk.directory import CrawlDirectory
from crawler.operate.diff.forms import Diff, Field, Kind
from crawler.operate.report.forms import ListName, Report
from crawler.page import rfc3339
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
            return await _run("report", str(directory), "--html", "-", "--limit", str(limit))

    async def diff(self, before: Path, after: Path, wanted: "DiffWanted") -> Diff:
        """What has changed from one crawl to another; in one since a moment, if they are the same. Raises
        `Unanswered`."""
        for directory in (before, after):
            _check_begun(directory)
        sides = [before, after] if wanted.since is None else [after]
        since = [] if wanted.since is None else ["--since", rfc3339(wanted.since)]
        only = [] if wanted.only is None else ["--only", wanted.only]
        async with self._turn:
            printed = await _run("diff", *map(str, sides), *since, *only, "--limit", str(wanted.limit), "--json")
        return msgspec.json.decode(printed, type=Diff)

    def _keep(self, wanted: "_Wanted", report: Report) -> None:
        self._kept.pop(wanted, None)
        self._kept[wanted] = time.monotonic() + KEPT_S, report
        while len(self._kept) > MAX_KEPT:
            self._kept.popitem(last=False)


class DiffWanted(msgspec.Struct, frozen=True, kw_only=True):
    """What is wanted of a difference."""

    since: float | None
    """Seconds since 1970; for one crawl."""
    only: Kind | Field | None
    limit: int
    """URLs of each kind."""


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
    printed = await _run("report", str(wanted.directory), *sections, "--limit", str(wanted.limit), "--json")
    return msgspec.json.decode(printed, type=Report)


async def _run(*arguments: str) -> bytes:
    code, printed, complaint = await run_command(*arguments, within_s=WITHIN_S)
    if code is None:
        command = " ".join(["onceover", *arguments])
        raise Unanswered(f"this took longer than {WITHIN_S:.0f} s; run `{command}` instead", None)
    if code != 0:
        raise Unanswered(complaint, code)
    return printed

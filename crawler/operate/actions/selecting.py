"""recrawl, and forget by host or pattern: pieces of the ledger, so that a running crawl goes on meanwhile"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import suppress
from typing import Final

import msgspec

from config import Loaded
from crawler.control.requests import ForgetSelected, Recrawl
from crawler.control.selections import Selected, Selection
from crawler.discover.scope import pattern_search
from crawler.operate.actions.noting import Recrawled, has_number_since, is_since, next_number, note_recrawl
from crawler.operate.actions.slices import SLICE_S
from crawler.operate.refused import Refused
from crawler.operate.target import OperatedCrawl, ledger_reads, recrawling
from crawler.wiring.components import discovering
from crawler.wiring.revisiting import UrlsAgain
from frontier import Damaged, KnownUrl, LedgerEntry, LedgerReads, Recrawling, UrlState
from visited import CannotForget

CHANGED_TOGETHER: Final = 100
"""URLs that one batch of the store changes."""
_MAX_TAKEN: Final = 1000
"""The most URLs that a piece takes."""
_MAX_LOOKED_AT: Final = 20_000
"""The most URLs that a piece looks at."""
_LAST: Final = "\U0010ffff"

_Change = Callable[[Sequence[LedgerEntry]], Awaitable[int]]
_Piece = Callable[[LedgerReads, str], Awaitable[Selected]]


async def recrawl(crawl: OperatedCrawl, request: Recrawl) -> Selected:
    """Enqueue settled URLs again. Repeated after a crash, it leaves alone what waits already."""
    frontier = await recrawling(crawl)
    ledger = ledger_reads(crawl)
    queue = _queued_again(
        crawl.loaded, frontier, UrlsAgain(crawl.loaded, crawl.rules.discovery), Recrawled(request=request)
    )
    if not request.after:
        stats = crawl.status().frontier
        is_first = not (stats.queued or stats.retired or stats.in_process)
        note_recrawl(crawl.directory.recrawls, request, number=next_number(crawl.state), is_first=is_first)
    return await queue(ledger, request.after)


async def recrawl_noted(loaded: Loaded, ledger: LedgerReads, frontier: Recrawling, noted: Sequence[Recrawled]) -> int:
    """Enqueue again what earlier recrawls have, as far as it was not visited since. Returns how many URLs these are."""
    taken, again = 0, UrlsAgain(loaded)
    for each in sorted(noted, key=lambda each: not each.request.whole):  # the first one says how a page is asked for
        with suppress(Refused):  # somebody has changed the file: no reason to keep a crawl from being rebuilt
            queue = _queued_again(loaded, frontier, again, each)
            after: str | None = ""
            while after is not None:
                found = await queue(ledger, after)
                taken, after = taken + found.taken, found.after
    return taken


def _queued_again(loaded: Loaded, frontier: Recrawling, again: UrlsAgain, recrawled: Recrawled) -> _Piece:
    """A function that enqueues a piece of the URLs of a recrawl again, from a place of the ledger on. Raises
    `Refused`."""
    request = recrawled.request

    async def readmit(entries: Sequence[LedgerEntry]) -> int:
        urls = [url for entry in entries if (url := again.url(entry)) is not None]
        return await frontier.readmit(urls, whole=request.whole)

    def may_be_fetched(entry: LedgerEntry) -> bool:
        may_be = request.which.excluded or entry.state is not UrlState.EXCLUDED
        return may_be and not has_number_since(entry, *recrawled.numbers)

    chosen = _Chosen(loaded, request.which, is_wanted=may_be_fetched)
    return lambda ledger, after: _work_on(ledger, chosen, after, readmit)


async def forget_selected(crawl: OperatedCrawl, request: ForgetSelected) -> Selected:
    if request.which == Selection():
        raise Refused("expected a host or a pattern, found neither: nothing says which URLs to forget")
    frontier = await crawl.frontier()

    async def forget(entries: Sequence[LedgerEntry]) -> int:
        try:
            return await frontier.forget(entry.canonical for entry in entries)
        except CannotForget as error:
            raise Refused(f"not all was forgotten: {error}") from error

    chosen = _Chosen(crawl.loaded, request.which, is_wanted=lambda _: True)
    return await _work_on(ledger_reads(crawl), chosen, request.after, forget)


async def _work_on(ledger: LedgerReads, chosen: "_Chosen", after: str, change: _Change) -> Selected:
    """Change what is chosen in a piece of the ledger. No iterator stays open while others work."""
    looked_at = taken = waiting = 0
    position: str | None = after
    while position is not None and taken < _MAX_TAKEN and looked_at < _MAX_LOOKED_AT:
        found = chosen.read(ledger, position)
        if found.settled:
            taken += await change(found.settled)
        looked_at, waiting, position = looked_at + found.looked_at, waiting + found.waiting, found.after
        await asyncio.sleep(0)
    return Selected(looked_at=looked_at, taken=taken, waiting=waiting, after=position)


class _Found(msgspec.Struct):
    """What is chosen in a slice of the ledger."""

    settled: list[LedgerEntry] = []
    looked_at: int = 0
    waiting: int = 0
    after: str | None = None


class _Chosen:
    def __init__(self, loaded: Loaded, which: Selection, *, is_wanted: Callable[[LedgerEntry], bool]) -> None:
        try:
            self._search = pattern_search([which.matching] if which.matching else [], "the pattern")
        except ValueError as error:
            raise Refused(str(error)) from error
        self._which = which
        self._is_wanted = is_wanted
        self._prefixes = _prefixes_of(loaded, which.host) if which.host else [""]

    def read(self, ledger: LedgerReads, after: str) -> _Found:
        """What is chosen behind a place, as much as a slice of time has room for."""
        found, now, until = _Found(), time.time(), time.perf_counter() + SLICE_S
        for known in self._of_host(ledger, after):
            if isinstance(known, Damaged):
                continue
            entry = known.entry
            found.looked_at += 1
            if self._matches(entry, now):
                if entry.state is UrlState.PENDING:
                    found.waiting += 1
                elif self._is_wanted(entry):
                    found.settled.append(entry)
            if len(found.settled) == CHANGED_TOGETHER or time.perf_counter() >= until:
                found.after = entry.canonical
                return found
        return found

    def _of_host(self, ledger: LedgerReads, after: str) -> Iterator[KnownUrl | Damaged]:
        for prefix in self._prefixes:
            if after and after >= prefix + _LAST:
                continue
            for known in ledger.all_known(max(after, _just_before(prefix))):
                if prefix and not isinstance(known, Damaged) and not known.entry.canonical.startswith(prefix):
                    break
                yield known

    def _matches(self, entry: LedgerEntry, now: float) -> bool:
        which = self._which
        if which.failed and entry.state is not UrlState.FAILED:
            return False
        if which.excluded and entry.state is not UrlState.EXCLUDED:
            return False
        if which.before is not None and is_since(entry, which.before, now):
            return False
        return self._search is None or bool(self._search(entry.url or entry.canonical))


_NOT_OF_HOSTS: Final = frozenset("/\\?#@")


def _prefixes_of(loaded: Loaded, host: str) -> list[str]:
    """What the canonical URLs of a host begin with, in the order of the ledger."""
    if set(host) & _NOT_OF_HOSTS:
        raise Refused(f"expected a host such as example.org, found {host!r}; select a part of its URLs by a pattern")
    found = []
    for scheme in ("http", "https"):
        try:
            target = discovering.read_url(loaded.config, f"{scheme}://{host}/")
        except ValueError as error:
            raise Refused(f"expected a host such as example.org, found {host!r}: {error}") from error
        origin = "/".join(target.canonical.split("/", 3)[:3])
        has_port = ":" in origin.partition("://")[2].rpartition("]")[2]
        found += [f"{origin}/"] if has_port else [f"{origin}/", f"{origin}:"]
    return sorted(set(found))


def _just_before(prefix: str) -> str:
    """A text that sorts before all that begin with a prefix, and behind all that sort before them."""
    return prefix and prefix[:-1] + chr(ord(prefix[-1]) - 1) + _LAST

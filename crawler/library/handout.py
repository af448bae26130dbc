"""Gives pages to the program, and waits until it has finished with each.

The handout is the first sink of a crawl. `write` offers the page and returns when its *turn* is over: when the consumer
that got the page asks for the next one. Only then do the other sinks get the page, and only then is it settled. If the
turn does not end, because the consumer went away or the crawl ends, the page is given back (`GivenBack`): its URL
comes again.

Each worker of the crawl waits with its own page, so fetching goes on while the program works. When `limit` pages wait
for a consumer, the crawl leases nothing until half of them are taken.

Handing out and taking back happens in the thread of the event loop. Only `abandon` may be called from any thread,
because a consumer may be freed in any.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from contextlib import suppress
from contextvars import ContextVar
from typing import Final, Self
from weakref import WeakKeyDictionary, finalize, ref

from crawler.library.page import CrawledPage, crawled_page
from crawler.page import Extract, Fetched, Page, PageRecord, counts_as_page
from crawler.seams import GivenBack, LinkExtractor
from crawler.status import number_of

_STEPS: Final = 20
"""How often `take` lets the event loop go on, until it has closed an asynchronous generator whose loop was left. Only
then does the turn of that loop end."""
ASKER: Final[ContextVar[object]] = ContextVar("ASKER")
"""Who asks for a page, if that is not the task in which it is asked for."""


class Turn:
    """The time during which one consumer has a page."""

    def __init__(self, page: CrawledPage) -> None:
        self.page = page
        self._loop = asyncio.get_running_loop()
        self._ended: asyncio.Future[bool] = self._loop.create_future()
        self._is_abandoned = False

    @property
    def is_over(self) -> bool:
        return self._is_abandoned or self._ended.done()

    async def wait(self) -> None:
        """Wait for the end. Raises `GivenBack` if the page was given back."""
        if not await self._ended:
            raise GivenBack

    def end(self) -> None:
        """The consumer has finished with the page."""
        self._settle(True)

    def give_back(self) -> None:
        self._settle(False)

    def abandon(self) -> None:
        """The same as `give_back`, from any thread."""
        self._is_abandoned = True
        with suppress(RuntimeError):  # the loop is closed, and the crawl with it
            self._loop.call_soon_threadsafe(self.give_back)

    def _settle(self, is_over: bool) -> None:
        if not self._ended.done():
            self._ended.set_result(is_over)


class Handout:
    """A sink that gives pages to consumers, each page to one."""

    def __init__(self, *, all_urls: bool, limit: int) -> None:
        """`all_urls`: hands out each URL that ends, not only pages. `limit`: how many pages may wait."""
        self._all_urls = all_urls
        self._limit = limit
        self._waiting: deque[Turn] = deque()
        self._open: set[Turn] = set()
        self._takers: deque[asyncio.Future[Turn | None]] = deque()
        self._last: WeakKeyDictionary[object, Turn] = WeakKeyDictionary()
        """The last turn of each task or thread."""
        self._extracts: _Extracts | None = None
        self._is_full = False
        self._closed = False
        self._ended = False
        self.is_used = False
        """Whether pages are handed out. If not, every page is taken at once."""
        self.pause: Callable[[str], object] = lambda _: None
        """Called with a reason when `limit` pages wait; then the crawl must lease nothing until `resume`."""
        self.resume: Callable[[], object] = lambda: None

    # the side of the crawl

    async def write(self, page: Fetched | None, record: PageRecord, /) -> None:
        extract = self._extracts.take(page) if self._extracts is not None and isinstance(page, Page) else None
        if not self.is_used or not (self._all_urls or counts_as_page(record)):
            return
        if self._closed:
            raise GivenBack
        turn = Turn(crawled_page(record, page, extract))
        self._open.add(turn)
        self._offer(turn)
        try:
            await turn.wait()
        finally:
            self._open.discard(turn)
            if turn in self._waiting:
                self._waiting.remove(turn)
                self._check_level()

    async def aclose(self) -> None:
        self.close()

    def keep_extracts_of(self, extractor: LinkExtractor, /) -> LinkExtractor:
        """An extractor like this one. Its extracts are kept until their pages are handed out."""
        self._extracts = _Extracts(extractor)
        return self._extracts

    # the side of the program

    async def take(self) -> Turn | None:
        """The turn with the next page; None when no more pages come. Raises `RuntimeError` if the asker still has a
        page, because the crawl can't end before the turn of that page does."""
        asker = ASKER.get(asyncio.current_task())
        for _ in range(_STEPS):
            if (held := self._last.get(asker)) is None or held.is_over:
                break
            await asyncio.sleep(0)
        else:
            raise RuntimeError(
                "a loop over this crawl within another one of the same task or thread would wait for ever, because the "
                "crawl can't end before the turn of each page does. Iterate in one loop, and keep pages in a list to "
                "collect several; or give each loop a task of its own"
            )
        turn = await self._take()
        if turn is not None:
            self._last[asker] = turn
        return turn

    async def _take(self) -> Turn | None:
        if self._waiting:
            turn = self._waiting.popleft()
            self._check_level()
            return turn
        if self._ended or self._closed:
            return None
        taker: asyncio.Future[Turn | None] = asyncio.get_running_loop().create_future()
        self._takers.append(taker)
        try:
            return await taker
        except asyncio.CancelledError:
            if taker in self._takers:  # a program may look for a page again and again while none comes
                self._takers.remove(taker)
            given = None if taker.cancelled() else taker.result()
            if given is not None and given in self._open:
                self._offer(given, first=True)
            raise

    @property
    def is_closed(self) -> bool:
        return self._closed

    def end(self) -> None:
        """No more pages come, until `begin`."""
        self._ended = True
        while self._takers:
            taker = self._takers.popleft()
            if not taker.done():
                taker.set_result(None)

    def begin(self) -> None:
        """Pages come."""
        self._ended = False

    def close(self) -> None:
        """Give all pages back: those that wait, those that consumers have, and those that still come."""
        self._closed = True
        self._waiting.clear()
        for turn in self._open:
            turn.give_back()
        self.end()

    def _offer(self, turn: Turn, *, first: bool = False) -> None:
        while self._takers:
            taker = self._takers.popleft()
            if not taker.done():
                taker.set_result(turn)
                return
        if first:
            self._waiting.appendleft(turn)
        else:
            self._waiting.append(turn)
        self._check_level()

    def _check_level(self) -> None:
        if not self._is_full and len(self._waiting) >= self._limit:
            self._is_full = True
            self.pause(f"{number_of(len(self._waiting), 'page waits', 'pages wait')} for the program")
        elif self._is_full and len(self._waiting) <= self._limit // 2:
            self._is_full = False
            self.resume()


class _Extracts:
    """An extractor that keeps its extracts until their pages are handed out."""

    def __init__(self, extractor: LinkExtractor) -> None:
        self._extractor = extractor
        self._kept: dict[int, tuple[ref[Page], Extract]] = {}
        """By the id of the page, because a page can't be hashed."""

    def extract(self, page: Page, /) -> Extract:
        extract = self._extractor.extract(page)
        self._kept[id(page)] = (ref(page), extract)
        return extract

    def take(self, page: Page) -> Extract | None:
        owner, extract = self._kept.pop(id(page), (None, None))
        return extract if owner is not None and owner() is page else None


class Consumer:
    """Iterates over pages. A page's turn ends when the next page is asked for. If the consumer is freed before, as a
    loop does that is left, the page is given back."""

    def __init__(self, take_turn: Callable[[], Awaitable[Turn | None]]) -> None:
        """`take_turn` returns the next turn; None when no more pages come."""
        self._take_turn = take_turn
        self._holder = _Holder()
        self._is_asking = False
        finalize(self, self._holder.abandon).atexit = False

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> CrawledPage:
        if self._is_asking:
            raise RuntimeError("another task waits for a page of this iterator: each task needs a loop of its own")
        self._is_asking = True
        try:
            self._holder.end()
            turn = await self._take_turn()
        finally:
            self._is_asking = False
        if turn is None:
            raise StopAsyncIteration
        self._holder.turn = turn
        return turn.page


class _Holder:
    def __init__(self) -> None:
        self.turn: Turn | None = None

    def end(self) -> None:
        if self.turn is not None:
            self.turn.end()
            self.turn = None

    def abandon(self) -> None:
        """Give the page back. Any thread may free a consumer."""
        if self.turn is not None:
            self.turn.abandon()

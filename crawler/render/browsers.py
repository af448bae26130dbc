"""Browsers to lend: one for each page at once, started when it is needed, and replaced when it has had enough."""

import asyncio
import logging
import shutil
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

from crawler.render.browser import Browser, has_sandbox

_log = logging.getLogger(__name__)

PAGES_EACH: Final = 100
"""After so many a browser is replaced: what it keeps of pages that are gone only grows."""

Start = Callable[[Path], Awaitable[Browser]]
"""Starts a browser with its profile in that place."""


class Browsers:
    """At most `at_once` browsers, whose profiles lie in `directory`, which belongs to them alone."""

    def __init__(self, start: Start, directory: Path, *, at_once: int) -> None:
        self._start = start
        self._directory = directory.absolute()
        self._places = asyncio.Semaphore(at_once)
        self._idle: list[Browser] = []
        self._lent: set[Browser] = set()
        self._started = 0

    async def open(self) -> None:
        """Remove what a crawl that was killed has left, and start one browser, to see that it can be. Raises
        `BrowserRefused`."""
        if not has_sandbox():
            _log.warning("pages are rendered without Chromium's sandbox, as root; better crawl as another user")
        await asyncio.to_thread(shutil.rmtree, self._directory, ignore_errors=True)
        self._idle.append(await self._new())

    @asynccontextmanager
    async def one(self) -> AsyncIterator[Browser]:
        """A browser for one page. When the block is left by an exception, or the browser was given up, it is ended.
        Raises `BrowserRefused`."""
        async with self._places:
            browser = self._idle.pop() if self._idle else await self._new()
            browser.pages += 1
            self._lent.add(browser)
            usable = False
            try:
                yield browser
                usable = not browser.devtools.gone.done() and browser.pages < PAGES_EACH
            finally:
                self._lent.discard(browser)
                if usable:
                    self._idle.append(browser)
                else:
                    await browser.end()

    async def aclose(self) -> None:
        """End all. Twice is harmless."""
        for browser in [*self._idle, *self._lent]:
            await browser.end()
        self._idle.clear()
        await asyncio.to_thread(shutil.rmtree, self._directory, ignore_errors=True)

    async def _new(self) -> Browser:
        self._started += 1
        return await self._start(self._directory / str(self._started))

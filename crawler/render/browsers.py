"""Lends browsers, one per page: starts them on demand, and replaces them after a number of pages."""

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
"""A browser is replaced after so many pages, because its memory only grows."""

Start = Callable[[Path], Awaitable[Browser]]
"""Starts a browser. Takes the path for its profile."""


class Browsers:
    """At most `at_once` browsers. Their profiles lie in `directory`, which contains nothing else."""

    def __init__(self, start: Start, directory: Path, *, at_once: int) -> None:
        self._start = start
        self._directory = directory.absolute()
        self._slots = asyncio.Semaphore(at_once)
        self._idle: list[Browser] = []
        self._lent: set[Browser] = set()
        self._started = 0

    async def open(self) -> None:
        """Remove what a killed crawl has left, and start one browser as a test. Raises `BrowserRefused`."""
        if not has_sandbox():
            _log.warning("pages are rendered without Chromium's sandbox, as root; better crawl as another user")
        await asyncio.to_thread(shutil.rmtree, self._directory, ignore_errors=True)
        self._idle.append(await self._new())

    @asynccontextmanager
    async def lend(self) -> AsyncIterator[Browser]:
        """A browser for one page. It is ended if an exception leaves the block, or if it was given up. Raises
        `BrowserRefused`."""
        async with self._slots:
            browser = await self._idle_or_new()
            browser.pages += 1
            self._lent.add(browser)
            is_usable = False
            try:
                yield browser
                is_usable = not browser.devtools.gone.done() and browser.pages < PAGES_EACH
            finally:
                self._lent.discard(browser)
                if is_usable:
                    self._idle.append(browser)
                else:
                    await browser.end()

    async def aclose(self) -> None:
        """End all browsers. Closing twice is harmless."""
        for browser in [*self._idle, *self._lent]:
            await browser.end()
        self._idle.clear()
        await asyncio.to_thread(shutil.rmtree, self._directory, ignore_errors=True)

    async def _idle_or_new(self) -> Browser:
        while self._idle:
            browser = self._idle.pop()
            if not browser.devtools.gone.done():
                return browser
            await browser.end()  # the system has killed it, for example because memory was short
        return await self._new()

    async def _new(self) -> Browser:
        self._started += 1
        return await self._start(self._directory / str(self._started))

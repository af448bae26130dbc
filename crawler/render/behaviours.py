"""Does on a page what a visitor does to see more of it: scrolls, and clicks buttons."""

import asyncio
from collections.abc import Awaitable, Callable
from importlib.resources import files
from typing import Final

from crawler.render.devtools import Call
from crawler.render.limits import Limits

PAUSE_S: Final = 0.2
"""After each screen: many pages look only a while after a scroll at what is visible now."""
_SCROLL: Final = files("crawler.render").joinpath("scroll.js").read_text(encoding="utf-8")
_CLICK: Final = files("crawler.render").joinpath("click.js").read_text(encoding="utf-8")


class Behaviours:
    """Scrolls one page to its end, then clicks a button, and so on, until nothing is left to do or a limit is reached.

    `wait_until_idle` returns when the page has loaded nothing more for a while; `is_short` says whether it may load
    nothing more.
    """

    def __init__(
        self,
        call: Call,
        limits: Limits,
        *,
        wait_until_idle: Callable[[], Awaitable[object]],
        is_short: Callable[[], bool],
    ) -> None:
        self._call = call
        self._limits = limits
        self._wait_until_idle = wait_until_idle
        self._is_short = is_short
        self._screens = 0
        self._clicks = 0
        self._is_idle = False

    async def run(self) -> None:
        while not self._is_short() and (await self._scroll() or await self._click()):
            pass
        await self._settle()

    async def _scroll(self) -> bool:
        """Scroll by one screen. At the end of the page, wait until it has loaded more. Returns whether it scrolled."""
        if self._screens >= self._limits.scroll:
            return False
        if not await self._call(_SCROLL):
            await self._settle()
            if not await self._call(_SCROLL):
                return False
        self._screens += 1
        self._is_idle = False
        await asyncio.sleep(PAUSE_S)
        return True

    async def _click(self) -> bool:
        """Click one button. Returns whether there was one."""
        if not self._limits.click or self._clicks >= self._limits.max_clicks:
            return False
        await self._settle()
        if not await self._call(_CLICK, self._limits.click):
            return False
        self._clicks += 1
        self._is_idle = False
        await self._settle()
        return True

    async def _settle(self) -> None:
        if not self._is_idle:
            await self._wait_until_idle()
            self._is_idle = True

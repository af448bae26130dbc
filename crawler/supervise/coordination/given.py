"""The configuration that the parts of a crawl were given, and what the supervisor itself does by it."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import msgspec

from config import Config, Limits, Loaded
from crawler.engine import Ending
from crawler.parts.line.services import SupervisorServices
from crawler.parts.sharing.configuration_giver import ConfigurationGiver
from crawler.parts.sharing.page_bank import PageBank
from crawler.supervise.preparing import Plan
from crawler.wiring.components.part_limits import supervisor_services


class GivenConfiguration:
    """What a part gets that is started now."""

    def __init__(self, plan: Plan, stop: Callable[[Ending], None], on_begun: Callable[[], object]) -> None:
        """A limit that is reached calls `stop`. `on_begun` is called when `pages_before` is known, and no page was
        allowed yet."""
        self.plan = plan
        self.limits = CrawlLimits(plan.loaded.config.limits)
        self.giver = ConfigurationGiver()
        self.openings = Openings()
        services = supervisor_services(plan.loaded.config, plan.parts, stop, begun=on_begun)
        self._bank = next((each for each in services if isinstance(each, PageBank)), None)
        self.services = SupervisorServices([*services, self.giver])

    @property
    def pages_before(self) -> int | None:
        """Pages of earlier runs, if there is a limit of pages and they are known."""
        return None if self._bank is None else self._bank.pages_before

    def go_on(self, pages_before: int | None) -> None:
        """The run has begun after so many pages of earlier runs, if that is known."""
        if self._bank is not None and pages_before is not None:
            self._bank.go_on(pages_before)

    def replace(self, loaded: Loaded) -> None:
        """Let a configuration hold for parts that start from now on, and for the supervisor."""
        self.plan = msgspec.structs.replace(self.plan, loaded=loaded)
        limits = loaded.config.limits
        self.limits.replace(limits)
        if self._bank is not None and limits.pages is not None:
            self._bank.set_limit(limits.pages)


def counts_pages(config: Config) -> bool:
    """Whether the parts count pages together. They do from their start, or not at all."""
    return config.limits.pages is not None


class Openings:
    """Which parts are being opened, so that none is while the configuration of all changes. A part is being opened
    from `begin` to `end`."""

    def __init__(self) -> None:
        self._opening: set[int] = set()
        self._turn = asyncio.Lock()
        self._may_begin = asyncio.Event()
        self._may_begin.set()
        self._have_ended = asyncio.Event()
        self._have_ended.set()

    async def begin(self, part: int) -> None:
        """Wait until the part may be opened."""
        while not self._may_begin.is_set():
            await self._may_begin.wait()
        self._opening.add(part)
        self._have_ended.clear()

    def end(self, part: int) -> None:
        """The part is open, or its process has ended. Ending twice is harmless."""
        self._opening.discard(part)
        if not self._opening:
            self._have_ended.set()

    @asynccontextmanager
    async def held(self) -> AsyncIterator[None]:
        """Wait until no part is being opened. While the context lasts, none is."""
        async with self._turn:
            self._may_begin.clear()
            try:
                await self._have_ended.wait()
                yield
            finally:
                self._may_begin.set()


class CrawlLimits:
    """Tells when a limit of the whole crawl is reached, of bytes or seconds. These are not met exactly; pages, which
    are, have a service."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._began: float | None = None
        """By the clock of the loop; None before the run has begun."""
        self._have_changed = asyncio.Event()

    def replace(self, limits: Limits) -> None:
        """From now on these limits hold, counted from the beginning of the run."""
        self._limits = limits
        self._have_changed.set()

    def is_reached(self, bytes_received: int) -> bool:
        """Whether what all parts together have received reaches a limit."""
        limit = self._limits.bytes
        return limit is not None and bytes_received >= limit

    def begin(self, elapsed_s: float = 0.0) -> None:
        """The run has lasted for so long, at least."""
        began = asyncio.get_running_loop().time() - elapsed_s
        self._began = began if self._began is None else min(self._began, began)
        self._have_changed.set()

    async def wait_for_seconds(self) -> None:
        """Wait until the run has begun, and has lasted for as long as it may."""
        loop = asyncio.get_running_loop()
        while True:
            self._have_changed.clear()
            seconds = self._limits.seconds
            left_s = None if seconds is None or self._began is None else self._began + seconds - loop.time()
            try:
                async with asyncio.timeout(left_s):
                    await self._have_changed.wait()
            except TimeoutError:
                return

"""The frontier of a trial."""

from collections.abc import Iterable
from typing import Any, Final

from crawler.page import LinkKind
from crawler.politeness.hours import CLOSED
from frontier import CrawlUrl, ForwardingFrontier, Frontier, Lease, Outcome, UrlState

_WAITS: Final = Outcome(state=UrlState.EXCLUDED, reason=CLOSED, asked=False)


class TrialFrontier(ForwardingFrontier):
    """Hands out the URLs that are tried, and where they redirect to. It only notes what else would be enqueued."""

    def __init__(self, frontier: Frontier) -> None:
        super().__init__(frontier)
        self.leased: dict[int, CrawlUrl] = {}
        """By number."""
        self.found: dict[str, list[CrawlUrl]] = {}
        """What would be enqueued, by the URL where it was found."""
        self.waits_s: dict[str, float] = {}
        """How long hosts may not be asked, by canonical URL."""
        self._closed: set[int] = set()

    async def begin(self, url: CrawlUrl, /) -> None:
        await super().add([url])

    async def add(self, urls: Iterable[CrawlUrl], /, *, force: bool = False) -> int:
        urls = list(urls)
        for url in urls:
            if url.via is not None:
                self.found.setdefault(url.via, []).append(url)
        return await super().add([url for url in urls if url.kind == LinkKind.REDIRECT], force=force)

    async def __anext__(self) -> Lease:
        while True:
            lease = await super().__anext__()
            self.leased[lease.number] = lease.url
            if lease.number not in self._closed:
                return lease
            await self.done(lease, cooldown_s=0.0, outcome=_WAITS)

    def release(self, lease: Lease, /, *, cooldown_s: float = 0.0, reason: str | None = None, **how: Any) -> None:
        if reason == CLOSED:
            # A trial does not wait until tonight.
            self._closed.add(lease.number)
            self.waits_s[lease.url.canonical] = cooldown_s
            cooldown_s = 0.0
        super().release(lease, cooldown_s=cooldown_s, reason=reason, **how)

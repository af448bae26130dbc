"""Sends requests, and notes when the next ones may begin for the Crawl-delay and the Retry-After of their hosts."""

from collections.abc import Callable
from contextlib import nullcontext
from typing import Final

from crawler.page import Fetched, Request, Verdict
from crawler.politeness.response_policy import ResponsePolicy, retry_after_of
from crawler.politeness.spacing import Spacing, is_parallel
from crawler.seams import Fetches, Robots
from frontier import CrawlUrl

_UNSPACED: Final = nullcontext()


class SpacedRequests:
    """The requests for URLs and for robots.txt. Whoever sends one has to ask first how long to wait."""

    def __init__(
        self,
        fetcher: Fetches,
        robots: Robots,
        *,
        policy_for: Callable[[str], ResponsePolicy],
        queue_key: Callable[[str], str],
        monotonic: Callable[[], float],
    ) -> None:
        self._fetcher = fetcher
        self._robots = robots
        self._policy_for = policy_for
        self._queue_key = queue_key
        self._monotonic = monotonic
        self.spacing: Final = Spacing(began_at=monotonic())

    def wait_s(self, queue_key: str, prerequisite: str | None = None, /) -> float:
        """How long the next request of the queue has to wait, or that for its prerequisite; 0 if it may begin now."""
        return self.spacing.wait_s(self._key(queue_key, prerequisite), now=self._monotonic())

    def host_rest_s(self, queue_key: str, /) -> float:
        """How long the host of a queue rests for all its queues, for its Crawl-delay or Retry-After."""
        return self.spacing.rest_s(queue_key, now=self._monotonic()) if self.spacing.has_hosts else 0.0

    def rest_alone_s(self, url: str, /) -> float | None:
        """If the host of a URL gets one request at a time, whatever its queues are allowed, how long it rests at least
        after the next one: for its Crawl-delay, or 0 for a robots.txt that is not known. Else None."""
        if delay_s := self._limited_s(url, self._robots.crawl_delay(url)):
            return delay_s
        return None if self._robots.is_known(url) else 0.0

    def crawl_delay_s(self, url: CrawlUrl, /) -> float | None:
        """The Crawl-delay that the host of a URL states, which may now be fetched but for that."""
        asked_s = self._robots.crawl_delay(url.url)
        if asked_s and is_parallel(url.queue_key):
            self.spacing.rest_since_start(url.queue_key, self._limited_s(url.url, asked_s))
        return asked_s

    async def fetch(self, request: Request, queue_key: str, crawl_delay_s: float | None, /) -> Fetched:
        """Fetch a URL of the queue, whose host states this Crawl-delay, if any. Retry-After holds for all queues of the
        host; each of several keeps any other rest by itself."""
        delay_s = rest_s = self._limited_s(request.url, crawl_delay_s)
        try:
            with self.spacing.in_flight(queue_key, delay_s, now=self._monotonic()) if delay_s else _UNSPACED:
                fetched = await self._fetcher.fetch(request)
            if asked_s := retry_after_of(fetched):
                rest_s = max(rest_s, min(asked_s, self._policy_for(request.url).pace.max_retry_after_s))
            return fetched
        finally:
            if rest_s:
                self.spacing.rest(queue_key, rest_s, now=self._monotonic())

    async def ask_robots(self, url: str, queue_key: str, prerequisite: str | None, /) -> tuple[Verdict, float]:
        """What robots.txt says of a URL of the queue, and for how many seconds the host rests that had to be asked for
        it: that of the URL, or of the prerequisite. Its Crawl-delay may only be known afterwards."""
        robots, asked_url, asked_key = self._robots, prerequisite or url, self._key(queue_key, prerequisite)
        delay_s = self._limited_s(asked_url, robots.crawl_delay(asked_url)) if self.spacing.has_hosts else 0.0
        with self.spacing.in_flight(asked_key, delay_s, now=self._monotonic()) if delay_s else _UNSPACED:
            verdict = await robots.allows(url, prerequisite=prerequisite)
        if not verdict.asked:
            return verdict, 0.0
        crawl_delay_s = robots.crawl_delay(asked_url)
        asked_s = min(verdict.pause_s or 0.0, self._policy_for(asked_url).pace.max_retry_after_s)
        if rest_s := max(self._limited_s(asked_url, crawl_delay_s), asked_s):
            self.spacing.rest(asked_key, rest_s, now=self._monotonic())
        return verdict, self._policy_for(asked_url).after_robots_s(verdict, crawl_delay_s=crawl_delay_s)

    def _key(self, queue_key: str, prerequisite: str | None) -> str:
        return queue_key if prerequisite is None else self._queue_key(prerequisite)

    def _limited_s(self, url: str, crawl_delay_s: float | None) -> float:
        return self._policy_for(url).pace.crawl_delay_s(crawl_delay_s) if crawl_delay_s else 0.0

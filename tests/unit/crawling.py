"""A crawl of nothing but memory, for tests of the engine: a web that is a dictionary, timed by the event loop."""

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from typing import Any

from crawler.components import Components, PipelineOptions
from crawler.discover.discovery import ScopedDiscovery
from crawler.discover.scope import Scope
from crawler.engine import Ending, Engine, Limits
from crawler.page import (
    Extract,
    Failure,
    FailureKind,
    Fetched,
    Link,
    LinkKind,
    Page,
    PageRecord,
    Redirect,
    Request,
    Verdict,
)
from crawler.politeness.hours import Hours
from crawler.politeness.pace import Pace
from crawler.politeness.response_policy import ResponsePolicy
from crawler.preferences.judging import NO_PURPOSE
from crawler.protocols import Quota, Repeats
from crawler.seams import LinkExtractor
from crawler.url.urls import UrlReader, site_of
from frontier import CrawlUrl, ForwardingFrontier, Lease
from frontier.memory.store import MemoryStore
from frontier.queues.settings import QueueSettings
from frontier.shell import QueueFrontier
from visited.digests.exact import ExactSet

START = 1_700_000_000.0
SEED = "http://a.test/"
QUICK = Pace(min_delay_s=0.0, max_delay_s=0.0, delay_factor=0.0, retry_delay_s=10.0, retry_max_delay_s=100.0)
ALLOWED = Verdict(allowed=True, reason="robots")
NO_LIMITS = Limits()

Event = tuple[str, str]
Site = dict[str, Fetched | list[Fetched]]
"""Answers by URL; a list is used up from the front, and its last answer stays."""


def now() -> float:
    return START + asyncio.get_running_loop().time()


def page(
    url: str, links: Sequence[str] = (), *, status: int = 200, headers: Sequence[tuple[bytes, bytes]] = ()
) -> Page:
    """A page whose body is its links, one on each line."""
    body = "\n".join(links).encode()
    return Page(
        url=url, status=status, headers=list(headers), fetched_at=START, duration_s=0.0, body=body, raw_body=body
    )


def redirect(url: str, location: str) -> Redirect:
    return Redirect(url=url, status=301, headers=[], fetched_at=START, duration_s=0.0, location=location)


def failure(url: str, kind: FailureKind = FailureKind.CONNECT) -> Failure:
    return Failure(url=url, kind=kind, message="Connection refused", fetched_at=START, duration_s=0.0)


def star(pages: int, *, host: str = "a.test") -> Site:
    """A site whose front page links to all others."""
    urls = [f"http://{host}/{number}" for number in range(1, pages)]
    site: Site = {f"http://{host}/": page(f"http://{host}/", urls)}
    site |= {url: page(url) for url in urls}
    return site


class Web:
    """A fetcher of a site; what is not there is 404."""

    def __init__(self, site: Site, events: list[Event]) -> None:
        self._site = site
        self._events = events
        self.asked: defaultdict[str, int] = defaultdict(int)
        self.requests: list[Request] = []
        self.busy = 0
        self.most_busy = 0
        self.duration_s = 0.0
        """What an answer takes."""
        self.durations_s: dict[str, float] = {}
        """The same for some URLs."""

    async def fetch(self, request: Request, /) -> Fetched:
        self._events.append(("fetch", request.url))
        self.asked[request.url] += 1
        self.requests.append(request)
        self.busy += 1
        self.most_busy = max(self.most_busy, self.busy)
        try:
            await asyncio.sleep(self.durations_s.get(request.url, self.duration_s))
        finally:
            self.busy -= 1
        answers = self._site.get(request.url, page(request.url, status=404))
        if not isinstance(answers, list):
            return answers
        return answers[min(self.asked[request.url], len(answers)) - 1]

    async def aclose(self) -> None: ...


class Reader:
    """Reads the pages of `page`; what is called .xml is a sitemap."""

    def __init__(self, events: list[Event]) -> None:
        self._events = events

    def extract(self, page: Page, /) -> Extract:
        self._events.append(("extract", page.url))
        links = [
            Link(href=href, kind=LinkKind.SITEMAP if href.endswith(".xml") else LinkKind.LINK)
            for href in page.body.decode().split()
        ]
        return Extract(content_type="text/html", base_url=page.url, links=links)


class Rules:
    """Robots that say what they are told to, by URL; a list is used up from the front, and its last verdict stays."""

    def __init__(self, verdicts: dict[str, list[Verdict]], events: list[Event]) -> None:
        self._verdicts = verdicts
        self.sitemaps: dict[str, Sequence[Link]] = {}
        self.prerequisites: dict[str, str] = {}
        self._events = events

    def prerequisite(self, url: str, /) -> str | None:
        return self.prerequisites.get(url)

    def is_known(self, url: str, /) -> bool:
        return True

    async def allows(self, url: str, /, *, prerequisite: str | None = None) -> Verdict:
        self._events.append(("robots", url))
        await asyncio.sleep(0)
        verdicts = self._verdicts.get(url, [ALLOWED])
        return verdicts.pop(0) if len(verdicts) > 1 else verdicts[0]

    def crawl_delay(self, url: str, /) -> float | None:
        return None

    def new_sitemaps(self, url: str, /) -> Sequence[Link]:
        self._events.append(("sitemaps", url))
        return self.sitemaps.pop(url, ())


class Records:
    """A sink in memory, whose disk is full after `room` records."""

    def __init__(self, events: list[Event]) -> None:
        self.records: list[PageRecord] = []
        self.pages: list[Fetched | None] = []
        """What came with each."""
        self.written_at: dict[str, float] = {}
        """By URL, when it was written first."""
        self._events = events
        self.room = float("inf")
        self.duration_s = 0.0
        """What a write takes."""

    async def write(self, page: Fetched | None, record: PageRecord, /) -> None:
        self._events.append(("sink", record.url))
        await asyncio.sleep(self.duration_s)
        if len(self.records) >= self.room:
            raise OSError(28, "No space left on device")
        self.records.append(record)
        self.pages.append(page)
        self.written_at.setdefault(record.url, now())

    async def aclose(self) -> None: ...


class Traced(ForwardingFrontier):
    """A frontier that notes what is asked of it."""

    def __init__(self, frontier: QueueFrontier, events: list[Event]) -> None:
        super().__init__(frontier)
        self._events = events

    async def add(self, urls: Iterable[CrawlUrl], /, *, force: bool = False) -> int:
        batch = list(urls)
        self._events += [("add", url.url) for url in batch]
        await asyncio.sleep(0)
        return await super().add(batch, force=force)

    async def __anext__(self) -> Lease:
        lease = await super().__anext__()
        self._events.append(("lease", lease.url.url))
        return lease

    async def done(self, lease: Lease, /, **how: Any) -> None:
        self._events.append(("done", lease.url.url))
        await asyncio.sleep(0)
        await super().done(lease, **how)

    async def retry(self, lease: Lease, /, **how: Any) -> None:
        self._events.append(("retry", lease.url.url))
        await asyncio.sleep(0)
        await super().retry(lease, **how)

    def release(self, lease: Lease, /, **how: Any) -> None:
        self._events.append(("release", lease.url.url))
        super().release(lease, **how)


class Rig:
    """One crawl of a site, and its state: one engine may follow another."""

    def __init__(
        self, site: Site, *, verdicts: dict[str, list[Verdict]] | None = None, pace: Pace = QUICK, per_host: int = 100
    ) -> None:
        self.events: list[Event] = []
        self.store = MemoryStore()
        self.web = Web(site, self.events)
        self.sink = Records(self.events)
        self.rules = Rules(verdicts or {}, self.events)
        self.refusal_while_waiting: Callable[[CrawlUrl], str | None] = lambda _: None
        self.quota: Quota | None = None
        self.sitemap_quota: Quota | None = None
        self.hours: Hours | None = None
        self.repeats: Repeats | None = None
        self.preferences = NO_PURPOSE
        self.extractor: LinkExtractor | None = None
        self._pace = pace
        self._per_host = per_host

    @asynccontextmanager
    async def engine(
        self,
        *,
        concurrency: int = 4,
        spare: int = 0,
        limits: Limits = NO_LIMITS,
        references: bool = False,
        link_details: bool = False,
        sitemaps: bool = False,
        refusals: bool = False,
        seeds: Sequence[str] = (),
    ) -> AsyncIterator[Engine]:
        """An engine over the state that the last one left."""
        reader = UrlReader()
        discovery = ScopedDiscovery(urls=reader, scope=Scope(within="any", seeds=[reader.seed(SEED)]))
        frontier = await QueueFrontier.open(
            self.store, ExactSet(), settings=QueueSettings(per_queue=self._per_host), now=now
        )
        await frontier.add(discovery.seeds(seeds or [SEED]))
        components = Components(
            frontier=Traced(frontier, self.events),
            fetcher=self.web,
            extractor=self.extractor or Reader(self.events),
            robots=self.rules,
            discovery=discovery,
            sink=self.sink,
            queue_key=site_of,
            policy_for=lambda _: ResponsePolicy(pace=self._pace, max_attempts=3, hours=self.hours),
            clock=now,
            monotonic=asyncio.get_running_loop().time,
            refusal_while_waiting=self.refusal_while_waiting,
            quota=self.quota,
            sitemap_quota=self.sitemap_quota,
            repeats=self.repeats,
            preferences=self.preferences,
        )
        try:
            yield Engine(
                components,
                concurrency=concurrency,
                spare=spare,
                limits=limits,
                options=PipelineOptions(
                    references=references, link_details=link_details, sitemaps=sitemaps, refusals=refusals
                ),
            )
        finally:
            await frontier.aclose()

    async def run(self, ending: Ending = Ending.COMPLETE, **options: Any) -> Engine:
        """An engine that has run, to this end."""
        async with self.engine(**options) as engine:
            assert await engine.run() is ending
        return engine

    @property
    def urls(self) -> list[str]:
        """Of the records, in order of writing."""
        return [record.url for record in self.sink.records]

    def of(self, url: str) -> list[str]:
        """What happened to a URL, in order."""
        return [name for name, about in self.events if about == url]

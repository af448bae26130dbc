"""Opens a crawl for the URLs that are tried, runs it, and sums up."""

import asyncio
from collections.abc import Callable, Coroutine, Iterator, Sequence
from http import HTTPStatus
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import msgspec

from config import Config, Loaded, Site
from crawler.disk.directory import CrawlDirectory
from crawler.library.trial.findings import Finding, Findings
from crawler.library.trial.forms import Hop, Tried, TriedLink
from crawler.library.trial.frontier import TrialFrontier
from crawler.operate.refused import Refused
from crawler.page import REFUSALS, ROBOTS_FAILURES, LinkKind, PageRecord
from crawler.progress import ReadStatus
from crawler.url.urls import origin_of
from crawler.wiring.additions import Additions
from crawler.wiring.components.discovering import refusal_of_links
from crawler.wiring.crawl import OpenedCrawl, check_configuration, open_crawl
from frontier import CrawlUrl

_NOT_OF_SITES: Final = frozenset({"frontier.max_attempts", "frontier.total_budget"})
_NEVER_WAITED_FOR: Final = "-"
"""No URL: `Robots.allows` sends no request for a caller who has waited for this host."""


async def try_urls(
    loaded: Loaded, texts: Sequence[str], *, show: Callable[[ReadStatus], Coroutine[None, None, None]]
) -> list[Tried]:
    """Fetch URLs, with their redirects, as a crawl of this configuration would. `show` runs meanwhile.

    Raises `ConfigError`, `BrowserRefused`, and `Refused` with all URLs that can't be crawled.
    """
    check_configuration(loaded)
    findings = Findings()
    additions = Additions(sinks=[findings], extractor=findings.extractor, frontier=TrialFrontier)
    with TemporaryDirectory(prefix="onceover-") as folder, CrawlDirectory(Path(folder)) as directory:
        async with open_crawl(_alone(loaded), directory, additions=additions) as crawl:
            frontier = crawl.frontier
            assert isinstance(frontier, TrialFrontier)
            urls = _read(crawl, texts)
            for url in urls:
                await frontier.begin(url)
            async with asyncio.TaskGroup() as group:
                showing = group.create_task(show(crawl.gauge.status))
                await crawl.engine.run()
                showing.cancel()
            summing = _Summing(loaded.config, crawl, frontier, findings)
            return [await summing.tried(*each) for each in zip(texts, urls, strict=True)]


def _read(crawl: OpenedCrawl, texts: Sequence[str]) -> list[CrawlUrl]:
    try:
        crawl.read_seeds(texts)  # tells of all that are wrong
        return [url for text in texts for url in crawl.read_seeds([text])]
    except ValueError as error:
        raise Refused(str(error)) from error


def _alone(loaded: Loaded) -> Loaded:
    """The configuration without what outlives a run, what crawls share, and what ends one early. A URL is asked once,
    and its record has all that is known of its links."""
    config, usual = loaded.config, Config()
    replace = msgspec.structs.replace
    alone = replace(
        config,
        crawl=replace(config.crawl, parts=1),
        frontier=replace(
            config.frontier, backend="memory", options={}, max_attempts=1, total_budget=None, precedence_floor=None
        ),
        visited=usual.visited,
        output=replace(
            config.output,
            records=False,
            warc=False,
            sinks=(),
            sink=(),
            refusals=True,
            link_details=True,
            min_free_bytes=0,
            max_disk_bytes=None,
        ),
        recrawl=usual.recrawl,
        limits=usual.limits,
        site=tuple(_of_site(each) for each in config.site),
    )
    return replace(loaded, config=alone, lasting_limits=None)


def _of_site(site: Site) -> Site:
    overrides = {key: value for key, value in site.overrides.items() if key not in _NOT_OF_SITES}
    return msgspec.structs.replace(site, overrides=overrides)


class _Summing:
    """Sums up what was found."""

    def __init__(self, config: Config, crawl: OpenedCrawl, frontier: TrialFrontier, findings: Findings) -> None:
        self._config = config
        self._crawl = crawl
        self._frontier = frontier
        self._nofollow = findings.nofollow
        self._by_canonical = {
            url.canonical: findings.by_number[number]
            for number, url in frontier.leased.items()
            if number in findings.by_number
        }
        self._seeds = {seed.canonical for seed in crawl.live.values.seeds()}

    async def tried(self, text: str, url: CrawlUrl) -> Tried:
        chain = self._chain(url)
        last = chain[-1]
        found = self._by_canonical.get(last.canonical)
        return Tried(
            url=text,
            fetched=found is not None and _is_page(found.record),
            refused=self._refusal(url),
            waits_s=self._frontier.waits_s.get(last.canonical),
            hops=[await self._hop(each) for each in chain],
            noindex=found is not None and found.record.noindex,
            nofollow=last.url in self._nofollow,
            links=[] if found is None else [await self._judge(each) for each in self._links(last.url, found.record)],
            sitemaps=self._sitemaps(chain),
        )

    def _chain(self, url: CrawlUrl) -> list[CrawlUrl]:
        """The URL and where it redirects to. A circle ends where it closes."""
        chain = {url.canonical: url}
        next_url: CrawlUrl | None = url
        while next_url is not None:
            targets = self._frontier.found.get(next_url.url, ())
            next_url = next(
                (each for each in targets if each.kind == LinkKind.REDIRECT and each.canonical not in chain), None
            )
            if next_url is not None:
                chain[next_url.canonical] = next_url
        return list(chain.values())

    def _refusal(self, url: CrawlUrl) -> str | None:
        if url.canonical in self._seeds:
            return None
        discovery = self._crawl.live.values.discovery
        return refusal_of_links(discovery, url.url, queue_key=url.queue_key, is_near=False)

    async def _hop(self, url: CrawlUrl) -> Hop:
        found = self._by_canonical.get(url.canonical)
        robots = self._crawl.live.robots
        return Hop(
            url=url.url,
            robots=await self._robots(url.url) or _failure_of_robots(found),
            crawl_delay_s=robots.crawl_delay(url.url),
            protocol=None if found is None else found.protocol,
            request_headers=[] if found is None else list(found.request_headers),
            headers=[] if found is None else list(found.headers),
            record=None if found is None else self._as_configured(found.record),
        )

    async def _robots(self, url: str) -> str | None:
        if not self._crawl.live.values.by_site.of(url).obeys_robots:
            return "ignored"
        verdict = await self._crawl.live.robots.allows(url, prerequisite=_NEVER_WAITED_FOR)
        if not verdict.known:
            return None
        if verdict.reason == "robots":
            return "allowed" if verdict.allowed else "disallowed"
        return verdict.reason

    def _as_configured(self, record: PageRecord) -> PageRecord:
        """The record without what only a trial needs."""
        output = self._config.output
        if not output.refusals:
            record = msgspec.structs.replace(record, refusals=None)
        if not (output.link_details or output.check_fragments):
            record = msgspec.structs.replace(record, link_details=None)
        return record

    def _links(self, url: str, record: PageRecord) -> Iterator[TriedLink]:
        enqueued = [each for each in self._frontier.found.get(url, ()) if each.kind != LinkKind.REDIRECT]
        for each in enqueued:
            yield TriedLink(url=each.url, kind=each.kind, text=each.anchor)
        checked = {each.url for each in enqueued if each.kind == LinkKind.EXTERNAL}
        details = {each.url: each for each in reversed(record.link_details or ())}
        for refused, reason in record.refusals or ():
            if refused not in checked:
                detail = details.get(refused)
                kind, text = (None, None) if detail is None else (detail.kind, detail.text)
                yield TriedLink(url=refused, kind=kind, text=text, refused=reason)

    async def _judge(self, link: TriedLink) -> TriedLink:
        """The link as robots.txt judges it, too, if that is known."""
        if link.refused is not None or await self._robots(link.url) != "disallowed":
            return link
        return msgspec.structs.replace(link, refused="robots")

    def _sitemaps(self, chain: Sequence[CrawlUrl]) -> list[str]:
        places = dict.fromkeys(f"{origin_of(each.url)}/robots.txt" for each in chain)
        return [each.url for place in places for each in self._frontier.found.get(place, ())]


def _failure_of_robots(found: Finding | None) -> str | None:
    """Why robots.txt could not be fetched, by what became of the URL: after a failure it soon counts as unknown again,
    and else only after a day."""
    reason = None if found is None else found.record.reason
    return reason if reason == "unreachable" or reason in ROBOTS_FAILURES or reason in REFUSALS else None


def _is_page(record: PageRecord) -> bool:
    return record.state == "done" and record.status is not None and record.status < HTTPStatus.MULTIPLE_CHOICES

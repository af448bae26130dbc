"""What becomes of one URL between its lease and its end.

    lease -> robots -> fetch -> extract -> sinks -> add the links -> done

The order is the crash argument. A lease is not durable, adding is idempotent, the sinks are written before `done`, and
`done` comes last: a crash anywhere repeats at most what was in flight.
"""

import time
from collections.abc import Callable, Sequence
from typing import Final

import msgspec

from crawler.counters import Counters, InFlight
from crawler.duplicates import Duplicates
from crawler.page import (
    HOST_FAILURES,
    Failure,
    Fetched,
    LinkKind,
    NotModified,
    Page,
    PageRecord,
    Redirect,
    Request,
    Verdict,
)
from crawler.politeness.response_policy import Decision, ResponsePolicy
from crawler.protocols import Addresses, Discovered, Discovery, Fetcher, LinkExtractor, Quota, Robots, Sink
from crawler.reading import Reading, in_turn
from crawler.record import fetched_record, unfetched_record
from crawler.steps import LINKS_AT_ONCE
from frontier import CrawlUrl, Frontier, Lease, Outcome, UrlState


class Components(msgspec.Struct, frozen=True, kw_only=True):
    """What the loop works with."""

    frontier: Frontier
    fetcher: Fetcher
    extractor: LinkExtractor
    robots: Robots
    discovery: Discovery
    sink: Sink
    manners: Callable[[str], ResponsePolicy]
    """By URL."""
    queue_key: Callable[[str], str]
    """Names the queue to which a URL would belong."""
    addresses: Addresses | None = None
    """Asked first where hosts of one address share a pace."""
    quota: Quota | None = None
    """Of pages."""
    sitemap_quota: Quota | None = None
    clock: Callable[[], float] = time.time
    """Seconds since 1970."""
    monotonic: Callable[[], float] = time.monotonic
    """Seconds since some moment, of the clock that progress is shown by."""


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """What is done and recorded beside what always is."""

    references: bool = False
    """The links of each page in its record, with their repeats."""
    refusals: bool = False
    """Those that were not admitted."""
    sitemaps: bool = False
    """Sitemaps that robots.txt names are read."""


NOTHING_MORE: Final = Wanted()


class Pipeline:
    """Takes URLs from their leases to their ends, any number of them at once, and counts what came of them."""

    def __init__(self, parts: Components, *, wanted: Wanted, answered: Callable[[float], None]) -> None:
        """`answered` is told how long each response took to come, in seconds."""
        self._parts = parts
        self._wanted = wanted
        self._answered = answered
        self._reading = Reading(parts.extractor, parts.discovery, references=wanted.references)
        self._bodies = Duplicates()
        self.tally = Counters()

    async def take(self, lease: Lease, /) -> bool:
        """Take a URL from its lease to its end; whether that made a page."""
        work = self.tally.in_flight[lease.number] = InFlight(lease.url.url, "robots.txt", self._parts.monotonic())
        try:
            return await self._take(lease, work)
        finally:
            del self.tally.in_flight[lease.number]

    async def _take(self, lease: Lease, work: InFlight) -> bool:
        parts, url = self._parts, lease.url
        manners = parts.manners(url.url)
        if lease.dead is not None:
            await self._unasked(lease, manners.dead(lease))
            return False
        errand = parts.robots.errand(url.url)
        closed_s = (manners if errand is None else parts.manners(errand)).closed_for_s(parts.clock())
        if closed_s > 0:
            parts.frontier.release(lease, cooldown_s=closed_s, why="its hours")
            return False
        quota = self._quota(lease)
        if quota is not None and (reason := quota.refusal(url.url)):
            await self._unasked(lease, Decision(cooldown_s=0.0, reason=reason))
            return False
        if not await self._may_begin(lease, errand):
            return False
        verdict = await parts.robots.allows(url.url, errand=errand)
        if verdict.asked:
            self.tally.robots_asked += 1
            await self._relocate(lease, errand)
        crawl_delay_s = parts.robots.crawl_delay(url.url)
        if self._wanted.sitemaps and (named := parts.robots.new_sitemaps(url.url)):
            discovered = await in_turn(parts.discovery.sitemaps(named, parent=url))
            self._count_links(discovered)
            await self._admit(discovered.urls)
        asked_url = errand or url.url
        rest_s = parts.manners(asked_url).after_robots_s(verdict, crawl_delay_s=parts.robots.crawl_delay(asked_url))
        if not verdict.known or (verdict.allowed and (verdict.asked or errand is not None)):
            # A host has just had a request, or another's turn was waited for than is needed now.
            own_rest_s = rest_s if errand is None else 0.0
            parts.frontier.release(lease, cooldown_s=own_rest_s, group_cooldown_s=rest_s, asked=verdict.asked)
            return False
        if not verdict.allowed:
            await self._forbidden(lease, verdict, own=errand is None, rest_s=rest_s)
            return False
        work.stage, work.since = "the server", parts.monotonic()
        fetched = await parts.fetcher.fetch(
            Request(
                url=url.url,
                referer=url.via,
                # What failed once is asked for whole: the server may be wrong about the copy that we have.
                etag=None if url.attempt else url.had_etag,
                last_modified=None if url.attempt else url.had_last_modified,
                is_sitemap=url.kind == LinkKind.SITEMAP,
            )
        )
        work.stage, work.since = "the disk", parts.monotonic()
        self._count(fetched)
        decision = manners.after(fetched, lease=lease, crawl_delay_s=crawl_delay_s)
        if decision.asked:
            await self._relocate(lease, None, address=fetched.ip)
        if decision.reason is not None:
            self.tally.failures[decision.reason] += 1
        if decision.retry_after_s is not None:
            self.tally.retries += 1
            await self._again(lease, decision, since=work.since)
            return False
        match fetched:
            case Page():
                await self._page(lease, fetched, decision)
            case Redirect():
                await self._redirect(lease, fetched, decision)
            case NotModified() | Failure():
                await self._settle(lease, fetched, fetched_record(lease, fetched), decision)
        return _is_page(lease, fetched, decision)

    async def _may_begin(self, lease: Lease, errand: str | None) -> bool:
        parts = self._parts
        address = None if parts.addresses is None else await parts.addresses.address(errand or lease.url.url)
        return parts.frontier.begins(lease, address=address, errand=None if errand is None else parts.queue_key(errand))

    async def _relocate(self, lease: Lease, errand: str | None, *, address: str | None = None) -> None:
        """Let the address rest that was asked. Of a host with several it need not be the one that was expected."""
        parts = self._parts
        if parts.addresses is None:
            return
        address = address or await parts.addresses.address(errand or lease.url.url)
        if address is not None:
            key = None if errand is None else parts.queue_key(errand)
            parts.frontier.relocate(lease, address=address, errand=key)

    async def _admit(self, urls: Sequence[CrawlUrl]) -> None:
        """A crash on the way leaves some of them admitted. The URL they come from is not done then: it is fetched
        again, and to add them again changes nothing."""
        for at in range(0, len(urls), LINKS_AT_ONCE):
            admitted = await self._parts.frontier.add(urls[at : at + LINKS_AT_ONCE])
            self.tally.admitted += admitted  # in one statement with the await, others' counts would be overwritten

    async def _forbidden(self, lease: Lease, verdict: Verdict, *, own: bool, rest_s: float) -> None:
        """robots.txt forbids the URL, or could not be had. The host that was asked for it, which is the URL's `own` or
        another, rests for `rest_s`."""
        parts = self._parts
        decision = parts.manners(lease.url.url).forbidden(verdict, lease=lease, own=own, rest_s=rest_s)
        if verdict.reason in HOST_FAILURES:
            self.tally.failures[verdict.reason] += 1
        elif decision.retry_after_s is not None:
            self.tally.failures[f"robots-{verdict.reason}"] += 1
        if decision.retry_after_s is not None:
            self.tally.retries += 1
            await self._again(lease, decision)
            return
        await self._unasked(lease, decision, message=verdict.message, asked=verdict.asked or not decision.server_ok)

    async def _again(self, lease: Lease, decision: Decision, *, since: float | None = None) -> None:
        """Try the URL again. The rests began at the moment `since`, or begin now."""
        await self._parts.frontier.retry(
            lease,
            after_s=None if decision.stays else decision.retry_after_s,
            cooldown_s=self._left_s(decision.cooldown_s, since),
            group_cooldown_s=self._host_left_s(decision, since),
            reason=decision.reason,
            pressure=decision.pressure,
            answered=decision.answered,
        )

    async def _unasked(
        self, lease: Lease, decision: Decision, *, message: str | None = None, asked: bool = False
    ) -> None:
        """Settle a URL that no server is asked for: by rule, or because its host is dead. Whether the host was `asked`
        for anything else."""
        reason = decision.reason or ""
        state = UrlState.FAILED if decision.failed else UrlState.EXCLUDED
        if lease.dead is not None:
            message = f"not asked for: its host failed {lease.error_streak} times in a row"
        await self._parts.sink.write(None, unfetched_record(lease, reason=reason, state=state, message=message))
        outcome = Outcome(
            state=state,
            reason=reason,
            server_ok=decision.server_ok,
            answered=decision.answered,
            asked=asked,
            pressure=decision.pressure,
            dead_for_s=decision.dead_for_s,
        )
        await self._parts.frontier.done(
            lease,
            cooldown_s=decision.cooldown_s,
            group_cooldown_s=self._host_left_s(decision),
            outcome=outcome,
        )
        if decision.failed:
            self.tally.failed += 1
        else:
            self.tally.excluded[reason] += 1

    async def _page(self, lease: Lease, page: Page, decision: Decision) -> None:
        read = await self._reading.read(page, parent=lease.url)
        sha1, discovered = read.sha1, read.discovered
        if discovered is not None:
            self._count_links(discovered)
        record = fetched_record(
            lease,
            page,
            extract=read.extract,
            sha1=sha1,
            duplicate_of=self._bodies.met(sha1, lease.url.url) if page.body and page.status < 300 else None,
            references=read.references,
            refused=discovered.refused if discovered else None,
            refusals=discovered.refusals if discovered and self._wanted.refusals else None,
        )
        links, to_itself = (discovered.urls, discovered.to_itself) if discovered else ([], 0)
        await self._settle(lease, page, record, decision, sha1=sha1, links=links, to_itself=to_itself)

    async def _redirect(self, lease: Lease, redirect: Redirect, decision: Decision) -> None:
        target = self._parts.discovery.redirect(redirect, parent=lease.url)
        sha1 = await self._reading.sha1(redirect.body)
        if isinstance(target, str):
            self.tally.refused[target] += 1
            refusals = [(redirect.location, str(target))] if self._wanted.refusals else None
            record = fetched_record(lease, redirect, sha1=sha1, refused={target: 1}, refusals=refusals)
            await self._settle(lease, redirect, record, decision, sha1=sha1)
        else:
            self.tally.links += 1
            record = fetched_record(lease, redirect, sha1=sha1, redirect=target.url)
            await self._settle(lease, redirect, record, decision, sha1=sha1, links=[target])

    async def _settle(
        self,
        lease: Lease,
        fetched: Fetched,
        record: PageRecord,
        decision: Decision,
        *,
        sha1: bytes | None = None,
        links: Sequence[CrawlUrl] = (),
        to_itself: int = 0,
    ) -> None:
        parts = self._parts
        if decision.failed:
            record = msgspec.structs.replace(record, state="failed", reason=decision.reason)
        await parts.sink.write(fetched, record)
        await self._admit(links)
        outcome = Outcome(
            state=UrlState.FAILED if decision.failed else UrlState.DONE,
            status=record.status,
            reason=decision.reason if decision.failed else None,
            fetched_at=fetched.fetched_at,
            digest=sha1,
            etag=record.etag or (lease.url.had_etag if isinstance(fetched, NotModified) else None),
            last_modified=_last_modified(lease, fetched),
            server_ok=decision.server_ok,
            answered=decision.answered,
            asked=decision.asked,
            pressure=decision.pressure,
            dead_for_s=decision.dead_for_s,
            hits=to_itself,
        )
        since = self.tally.in_flight[lease.number].since
        await parts.frontier.done(
            lease,
            cooldown_s=self._left_s(decision.cooldown_s, since),
            group_cooldown_s=self._host_left_s(decision, since),
            outcome=outcome,
        )
        if decision.failed:
            self.tally.failed += 1
        elif _is_page(lease, fetched, decision):
            self.tally.pages += 1
        elif isinstance(fetched, Redirect):
            self.tally.redirects += 1
        quota = self._quota(lease)
        if quota is not None and (lease.url.kind == LinkKind.SITEMAP or _is_page(lease, fetched, decision)):
            quota.spend(lease.url.url, len(fetched.raw_body) if isinstance(fetched, Page | Redirect) else 0)

    def _quota(self, lease: Lease) -> Quota | None:
        return self._parts.sitemap_quota if lease.url.kind == LinkKind.SITEMAP else self._parts.quota

    def _left_s(self, cooldown_s: float, since: float | None) -> float:
        """What is left of a cooldown. It began with the answer: our own work on it is no load for the server, and
        hosts whose pages come together would stay in step, each waiting for the work on all."""
        return cooldown_s if since is None else max(0.0, cooldown_s - (self._parts.monotonic() - since))

    def _host_left_s(self, decision: Decision, since: float | None = None) -> float | None:
        return None if decision.host_cooldown_s is None else self._left_s(decision.host_cooldown_s, since)

    def _count(self, fetched: Fetched) -> None:
        tally = self.tally
        if not isinstance(fetched, Failure):
            self._answered(fetched.duration_s)
            tally.responses[fetched.status] += 1
        if isinstance(fetched, Page | Redirect):
            tally.bytes_received += len(fetched.raw_body)

    def _count_links(self, discovered: Discovered) -> None:
        self.tally.links += len(discovered.urls)
        self.tally.refused.update(discovered.refused)


def _is_page(lease: Lease, fetched: Fetched, decision: Decision) -> bool:
    """Whether a settled URL counts as a page: 2xx or 304, and no sitemap."""
    return (
        not decision.failed
        and lease.url.kind != LinkKind.SITEMAP
        and (isinstance(fetched, NotModified) or (isinstance(fetched, Page) and fetched.status < 300))
    )


def _last_modified(lease: Lease, fetched: Fetched) -> str | None:
    """What to tell the server when its URL is fetched once more. A 304 need not say it again."""
    if isinstance(fetched, Failure):
        return None
    told = fetched.header("last-modified")
    return lease.url.had_last_modified if told is None and isinstance(fetched, NotModified) else told

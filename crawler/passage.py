"""What becomes of one URL between its lease and its end.

    lease -> robots -> fetch -> extract -> sinks -> add the links -> done

The order is the crash argument. A lease is not durable, adding is idempotent, the sinks are written before `done`, and
`done` comes last: a crash anywhere repeats at most what was in flight.
"""

import time
from collections.abc import Callable, Sequence
from typing import Final

import msgspec

from crawler.bodies import Bodies
from crawler.manners import Decision, Manners
from crawler.page import (
    Failure,
    Fetched,
    LinkKind,
    NotModified,
    Page,
    PageRecord,
    Redirect,
    Request,
    Verdict,
    body_sha1,
)
from crawler.protocols import Addresses, Discovered, Discovery, Fetcher, LinkExtractor, Quota, Robots, Sink
from crawler.record import fetched_record, unfetched_record
from crawler.tally import InFlight, Tally
from frontier import CrawlUrl, Frontier, Lease, Outcome, UrlState


class Parts(msgspec.Struct, frozen=True, kw_only=True):
    """What the loop works with."""

    frontier: Frontier
    fetcher: Fetcher
    extractor: LinkExtractor
    robots: Robots
    discovery: Discovery
    sink: Sink
    manners: Callable[[str], Manners]
    """By URL."""
    addresses: Addresses | None = None
    """Asked first where hosts of one address share a pace."""
    quota: Quota | None = None
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


class Passage:
    """Takes URLs from their leases to their ends, any number of them at once, and counts what came of them."""

    def __init__(self, parts: Parts, *, wanted: Wanted, answered: Callable[[float], None]) -> None:
        """`answered` is told how long each response took to come, in seconds."""
        self._parts = parts
        self._wanted = wanted
        self._answered = answered
        self._bodies = Bodies()
        self.tally = Tally()

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
        closed_s = manners.closed_for_s(parts.clock())
        if closed_s > 0:
            parts.frontier.release(lease, cooldown_s=closed_s, why="its hours")
            return False
        if parts.quota is not None and url.kind != LinkKind.SITEMAP and (reason := parts.quota.refusal(url.url)):
            await self._unasked(lease, Decision(cooldown_s=0.0, reason=reason))
            return False
        if parts.addresses is not None and not await self._may_begin(lease, parts.addresses):
            return False
        verdict = await parts.robots.allows(url.url)
        if verdict.asked:
            self.tally.robots_asked += 1
        crawl_delay_s = parts.robots.crawl_delay(url.url)
        if self._wanted.sitemaps and (named := parts.robots.new_sitemaps(url.url)):
            await self._admit(parts.discovery.sitemaps(named, parent=url))
        if not verdict.allowed:
            await self._forbidden(lease, verdict, crawl_delay_s)
            return False
        if verdict.asked:
            rest_s = manners.pace.cooldown_s(verdict.duration_s, crawl_delay_s=crawl_delay_s)
            parts.frontier.release(lease, cooldown_s=rest_s, asked=True)  # the host has just had a request
            return False
        work.stage, work.since = "the server", parts.monotonic()
        fetched = await parts.fetcher.fetch(
            Request(
                url=url.url,
                referer=url.via,
                etag=url.had_etag,
                last_modified=url.had_last_modified,
                is_sitemap=url.kind == LinkKind.SITEMAP,
            )
        )
        work.stage, work.since = "the disk", parts.monotonic()
        self._count(fetched)
        decision = manners.after(fetched, lease=lease, crawl_delay_s=crawl_delay_s)
        if decision.reason is not None:
            self.tally.failures[decision.reason] += 1
        if decision.retry_after_s is not None:
            self.tally.retries += 1
            await self._again(lease, decision, cooldown_s=self._rest_s(lease, decision))
            return False
        match fetched:
            case Page():
                await self._page(lease, fetched, decision)
            case Redirect():
                await self._redirect(lease, fetched, decision)
            case NotModified() | Failure():
                await self._settle(lease, fetched, fetched_record(lease, fetched), decision)
        return _is_page(lease, fetched, decision)

    async def _may_begin(self, lease: Lease, addresses: Addresses) -> bool:
        address = await addresses.address(lease.url.url)
        return self._parts.frontier.begins(lease, address=address)

    async def _admit(self, discovered: Discovered) -> None:
        self._count_links(discovered)
        admitted = await self._parts.frontier.add(discovered.urls)
        self.tally.admitted += admitted

    async def _forbidden(self, lease: Lease, verdict: Verdict, crawl_delay_s: float | None) -> None:
        """robots.txt forbids the URL, or could not be had."""
        parts = self._parts
        decision = parts.manners(lease.url.url).forbidden(verdict, lease=lease, crawl_delay_s=crawl_delay_s)
        if decision.retry_after_s is not None:
            self.tally.retries += 1
            self.tally.failures[f"robots-{verdict.reason}"] += 1
            await self._again(lease, decision, cooldown_s=decision.cooldown_s)
            return
        await self._unasked(lease, decision, message=verdict.message, asked=verdict.asked or not decision.server_ok)

    async def _again(self, lease: Lease, decision: Decision, *, cooldown_s: float) -> None:
        await self._parts.frontier.retry(
            lease,
            after_s=None if decision.stays else decision.retry_after_s,
            cooldown_s=cooldown_s,
            reason=decision.reason,
            pressure=decision.pressure,
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
            asked=asked,
            pressure=decision.pressure,
            dead_for_s=decision.dead_for_s,
        )
        await self._parts.frontier.done(lease, cooldown_s=decision.cooldown_s, outcome=outcome)
        if decision.failed:
            self.tally.failed += 1
        else:
            self.tally.excluded[reason] += 1

    async def _page(self, lease: Lease, page: Page, decision: Decision) -> None:
        extract = discovered = references = None
        if page.status < 300:
            extract = self._parts.extractor.extract(page)
            discovered = self._parts.discovery.links(
                extract.base_url,
                extract.links,
                parent=lease.url,
                about=f"{extract.title or ''}\n{extract.description or ''}\n{extract.abstract or ''}",
            )
            self._count_links(discovered)
            if self._wanted.references:
                references = self._parts.discovery.references(
                    extract.base_url, extract.links, discovered, parent=lease.url
                )
        sha1 = body_sha1(page.body)
        record = fetched_record(
            lease,
            page,
            extract=extract,
            sha1=sha1,
            duplicate_of=self._bodies.met(sha1, lease.url.url) if page.body and page.status < 300 else None,
            references=references,
            refused=discovered.refused if discovered else None,
            refusals=discovered.refusals if discovered and self._wanted.refusals else None,
        )
        await self._settle(lease, page, record, decision, sha1=sha1, links=discovered.urls if discovered else ())

    async def _redirect(self, lease: Lease, redirect: Redirect, decision: Decision) -> None:
        target = self._parts.discovery.redirect(redirect, parent=lease.url)
        sha1 = body_sha1(redirect.body)
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
    ) -> None:
        parts = self._parts
        if decision.failed:
            record = msgspec.structs.replace(record, state="failed", reason=decision.reason)
        await parts.sink.write(fetched, record)
        admitted = await parts.frontier.add(links)
        self.tally.admitted += admitted  # in one statement with the await, others' counts would be overwritten
        outcome = Outcome(
            state=UrlState.FAILED if decision.failed else UrlState.DONE,
            status=record.status,
            reason=decision.reason if decision.failed else None,
            fetched_at=fetched.fetched_at,
            digest=sha1,
            etag=record.etag or (lease.url.had_etag if isinstance(fetched, NotModified) else None),
            last_modified=_last_modified(lease, fetched),
            server_ok=decision.server_ok,
            asked=decision.asked,
            pressure=decision.pressure,
            dead_for_s=decision.dead_for_s,
        )
        await parts.frontier.done(lease, cooldown_s=self._rest_s(lease, decision), outcome=outcome)
        if decision.failed:
            self.tally.failed += 1
        elif _is_page(lease, fetched, decision):
            self.tally.pages += 1
            if parts.quota is not None:
                parts.quota.spend(lease.url.url)
        elif isinstance(fetched, Redirect):
            self.tally.redirects += 1

    def _rest_s(self, lease: Lease, decision: Decision) -> float:
        """What is left of the cooldown. It began with the answer: our own work on it is no load for the server, and
        hosts whose pages come together would stay in step, each waiting for the work on all."""
        return max(0.0, decision.cooldown_s - (self._parts.monotonic() - self.tally.in_flight[lease.number].since))

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

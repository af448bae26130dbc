"""What happens to one URL between its lease and its end.

    lease -> robots -> fetch -> extract -> sinks -> add the links -> done

The crawl survives a crash because of this order. A lease is not durable, adding a link twice changes nothing, the sinks
are written before `done`, and `done` comes last. So a crash at any point repeats at most the URLs in flight.
"""

from collections.abc import Callable, Sequence
from typing import Final

from crawler.components import Components, PipelineOptions
from crawler.counters import Counters, InFlight
from crawler.page import (
    EXTERNAL,
    ROBOTS_FAILURES,
    SITEMAP,
    Answer,
    Failure,
    Fetched,
    Link,
    NotModified,
    Page,
    Preference,
    Redirect,
    Verdict,
)
from crawler.page.duplicates import Duplicates
from crawler.politeness.hours import CLOSED
from crawler.politeness.lease_requests import reject_lost_copy, request_for
from crawler.politeness.plain_http import redirect_to_http
from crawler.politeness.response_policy import Decision, ResponsePolicy, after_head
from crawler.politeness.spaced_requests import SpacedRequests
from crawler.preferences.judging import REFUSED
from crawler.reading import ContentReader, mark_unkept, run_steps
from crawler.record import FoundLinks, fetched_record, with_usage
from crawler.settlement import Settlement
from crawler.slots import keep_in_step
from frontier import Lease

_WITHOUT_USE: Final = frozenset({SITEMAP, EXTERNAL})
"""Kinds of URLs of which the crawl keeps no content, so that it does not matter which use their site refuses."""


class Pipeline:
    """Takes URLs from their leases to their ends, any number at once, and counts what happens."""

    def __init__(
        self, components: Components, *, options: PipelineOptions, on_response: Callable[[float], None]
    ) -> None:
        """Calls `on_response` with the duration of each response in seconds."""
        self._components = components
        self._on_response = on_response
        self._reader = ContentReader(
            components.extractor,
            components.discovery,
            components.read_content,
            components.repeats,
            preferences=components.preferences,
        )
        self.set_options(options)
        self._duplicates = Duplicates()
        self.counters = Counters()
        self._settlement = Settlement(components, self.counters)
        self.requests = SpacedRequests(
            components.fetcher,
            components.robots,
            policy_for=components.policy_for,
            queue_key=components.queue_key,
            monotonic=components.monotonic,
        )

    def set_options(self, options: PipelineOptions) -> None:
        """They hold for what is read and recorded from now on."""
        self._options = options
        self._reader.set_options(options)

    async def process(self, lease: Lease, /) -> bool:
        """Take a URL from its lease to its end. Returns whether it was settled and counts as a page."""
        components, url = self._components, lease.url.url
        work = InFlight(url, "robots.txt", components.monotonic())
        self.counters.in_flight[lease.number] = work
        try:
            policy = components.policy_for(url)
            if lease.dead is not None:
                await self._settlement.settle_unfetched(lease, policy.for_dead_host(lease))
                return False
            prerequisite = components.robots.prerequisite(url)
            if not await self._may_begin(lease, policy, prerequisite):
                return False
            verdict = await self._robots_allow(lease, policy, prerequisite)
            if verdict is None:
                return False
            crawl_delay_s = self.requests.crawl_delay_s(lease.url)
            await keep_in_step()
            if self.requests.spacing.has_hosts and self._must_wait(lease):
                return False
            work.stage, work.since = "the server", components.monotonic()
            request = request_for(lease, components.may_be_conditional)
            fetched = await self.requests.fetch(request, lease.url.queue_key, crawl_delay_s)
            fetched = reject_lost_copy(fetched, lease, components.archive_began())
            if not isinstance(fetched, Answer):
                fetched = self._http_instead(lease, fetched) or fetched
            self.counters.begin_storing(lease.number, components.monotonic())
            await keep_in_step()
            self._count(fetched)
            decision = policy.after(fetched, lease=lease, crawl_delay_s=crawl_delay_s)
            if request.method == "HEAD":
                decision = after_head(fetched, decision)
            if decision.asked and components.addresses is not None:
                await self._report_address(lease, None, address=fetched.ip)
            if decision.reason is not None:
                self.counters.failures[decision.reason] += 1
            if decision.retry_after_s is not None:
                await self._settlement.retry(lease, decision, answered_at=work.since)
                return False
            since, preferences = work.since, verdict.preferences
            if isinstance(fetched, Page) and lease.url.kind != EXTERNAL:
                return await self._settle_page(lease, fetched, decision, answered_at=since, of_origin=preferences)
            return await self._settle_unread(lease, fetched, decision, answered_at=since, of_origin=preferences)
        finally:
            del self.counters.in_flight[lease.number]

    async def _may_begin(self, lease: Lease, policy: ResponsePolicy, prerequisite: str | None) -> bool:
        """Whether hours, scope, quota and the groups of its host let the URL begin. If not, the lease is handled."""
        components, url = self._components, lease.url.url
        asked_policy = policy if prerequisite is None else components.policy_for(prerequisite)
        closed_s = asked_policy.closed_for_s(components.clock())
        if closed_s > 0:
            components.frontier.release(lease, cooldown_s=closed_s, reason=CLOSED)
            return False
        if await self._settlement.settle_refused(lease):
            return False
        address = None if components.addresses is None else await components.addresses.address(prerequisite or url)
        if self.requests.spacing.has_hosts and self._must_wait(lease, prerequisite):
            return False
        prerequisite_key = None if prerequisite is None else components.queue_key(prerequisite)
        return components.frontier.begin_fetch(lease, address=address, prerequisite=prerequisite_key)

    def _must_wait(self, lease: Lease, prerequisite: str | None = None) -> bool:
        """Whether the next request for the URL must wait for Crawl-delay or Retry-After. The lease is then handled."""
        if wait_s := self.requests.wait_s(lease.url.queue_key, prerequisite):
            self._components.frontier.release(lease, cooldown_s=wait_s)
        return wait_s > 0

    async def _robots_allow(self, lease: Lease, policy: ResponsePolicy, prerequisite: str | None) -> Verdict | None:
        """What robots.txt says if it allows the URL now. Otherwise the lease is handled."""
        components, url = self._components, lease.url.url
        verdict, rest_s = await self.requests.ask_robots(url, lease.url.queue_key, prerequisite)
        if verdict.asked:
            self.counters.robots_asked += 1
            await self._report_address(lease, prerequisite)
        wants_sitemaps = self._options.sitemaps and lease.url.kind != EXTERNAL
        if wants_sitemaps and (sitemaps := components.robots.new_sitemaps(url)):
            await self._admit_sitemaps(sitemaps, lease)
        if not verdict.known or (verdict.allowed and (verdict.asked or prerequisite is not None)):
            # A host has just had a request, or this lease holds the turn of another host than it now needs.
            own_rest_s = rest_s if prerequisite is None else 0.0
            components.frontier.release(lease, cooldown_s=own_rest_s, group_cooldown_s=rest_s, asked=verdict.asked)
            return None
        if not verdict.allowed:
            if (redirect := self._http_instead(lease, verdict)) is not None:
                self._count(redirect)
                decision, now = policy.after(redirect, lease=lease, crawl_delay_s=None), components.monotonic()
                self.counters.begin_storing(lease.number, now)
                await self._settle_redirect(lease, redirect, decision, answered_at=now)
            else:
                await self._settle_disallowed(lease, policy, verdict, own=prerequisite is None, rest_s=rest_s)
            return None
        if verdict.preferences and lease.url.kind not in _WITHOUT_USE:
            usage = components.preferences.usage(verdict.preferences)
            if usage.is_refused:
                decision = Decision(cooldown_s=0.0, reason=REFUSED)
                await self._settlement.settle_unfetched(lease, decision, message=usage.message, usage=usage)
                return None
        return verdict

    async def _settle_disallowed(
        self, lease: Lease, policy: ResponsePolicy, verdict: Verdict, *, own: bool, rest_s: float
    ) -> None:
        """Settle or retry a URL that robots.txt disallows, or whose robots.txt could not be fetched.

        The host that was asked for robots.txt rests for `rest_s`; `own` says whether it is the host of the URL.
        """
        decision = policy.after_disallow(verdict, lease=lease, own=own, rest_s=rest_s)
        if verdict.reason in ROBOTS_FAILURES:
            self.counters.failures[verdict.reason] += 1
        elif decision.retry_after_s is not None:
            self.counters.failures[f"robots-{verdict.reason}"] += 1
        if decision.retry_after_s is not None:
            await self._settlement.retry(lease, decision)
            return
        asked = verdict.asked or not decision.server_ok
        await self._settlement.settle_unfetched(lease, decision, message=verdict.message, asked=asked)

    async def _admit_sitemaps(self, sitemaps: Sequence[Link], lease: Lease) -> None:
        """Admit the sitemaps that the robots.txt of the URL's host names, or those that may be there."""
        discovered = await run_steps(self._components.discovery.sitemaps(sitemaps, parent=lease.url))
        self.counters.count_links(len(discovered.urls), discovered.refused)
        await self._settlement.admit(discovered.urls)

    def _http_instead(self, lease: Lease, failed: Failure | Verdict) -> Redirect | None:
        """The redirect to http, if http may be tried and the scope allows it."""
        redirect = redirect_to_http(lease.url, failed, now=self._components.clock())
        if redirect is None or isinstance(self._components.discovery.redirect(redirect, parent=lease.url), str):
            return None
        return redirect

    async def _report_address(self, lease: Lease, prerequisite: str | None, *, address: str | None = None) -> None:
        """Tell the frontier which address was asked, so that it rests. A host may have several, so it need not be the
        expected one."""
        components = self._components
        if components.addresses is None:
            return
        address = address or await components.addresses.address(prerequisite or lease.url.url)
        if address is not None:
            prerequisite_key = None if prerequisite is None else components.queue_key(prerequisite)
            components.frontier.relocate(lease, address=address, prerequisite=prerequisite_key)

    def _count(self, fetched: Fetched) -> None:
        if isinstance(fetched, Answer):
            self._on_response(fetched.duration_s)
        self.counters.count_response(fetched)

    async def _settle_page(
        self, lease: Lease, page: Page, decision: Decision, *, answered_at: float, of_origin: Sequence[Preference]
    ) -> bool:
        content = await self._reader.read(page, parent=lease.url, of_origin=of_origin)
        await keep_in_step()
        sha1, discovered = content.sha1, content.discovered
        self.counters.count_read(content.extract)
        if discovered is not None:
            self.counters.count_links(len(discovered.urls), discovered.refused)
        before, is_refused = _last_digest(lease), content.usage.is_refused
        marked = self._duplicates.mark(content.repeat, page, sha1, lease.url.url, before=before, is_refused=is_refused)
        record = fetched_record(
            lease,
            page,
            extract=content.extract,
            content=content.content,
            sha1=sha1,
            repeat=marked,
            links=FoundLinks(
                references=content.references,
                details=content.link_details,
                refused=discovered.refused if discovered else None,
                refusals=discovered.refusals if discovered and self._options.refusals else None,
            ),
        )
        record = mark_unkept(record, page, content, self._options.archive_filter, failed=decision.failed)
        return await self._settlement.settle(
            lease,
            page,
            record,
            decision,
            answered_at=answered_at,
            sha1=sha1,
            links=discovered.to_add if discovered else (),
            self_links=discovered.self_links if discovered else 0,
        )

    async def _settle_unread(
        self, lease: Lease, fetched: Fetched, decision: Decision, *, answered_at: float, of_origin: Sequence[Preference]
    ) -> bool:
        match fetched:
            case Redirect():
                return await self._settle_redirect(lease, fetched, decision, answered_at=answered_at)
            case NotModified():
                self._duplicates.confirm(_last_digest(lease), lease.url.url)
                usage = self._components.preferences.judge(fetched, of_origin=of_origin)
                record = with_usage(fetched_record(lease, fetched), usage)
                return await self._settlement.settle(lease, fetched, record, decision, answered_at=answered_at)
            case Page() | Failure():
                record = fetched_record(lease, fetched)
                return await self._settlement.settle(lease, fetched, record, decision, answered_at=answered_at)

    async def _settle_redirect(
        self, lease: Lease, redirect: Redirect, decision: Decision, *, answered_at: float
    ) -> bool:
        self._duplicates.forget(_last_digest(lease), lease.url.url)
        target = self._components.discovery.redirect(redirect, parent=lease.url)
        sha1 = await self._reader.sha1(redirect.body)
        if isinstance(target, str):
            self.counters.refused[target] += 1
            refusals = [(redirect.location, str(target))] if self._options.refusals else None
            found = FoundLinks(refused={target: 1}, refusals=refusals)
            record = fetched_record(lease, redirect, sha1=sha1, links=found)
            links = []
        else:
            self.counters.links += 1
            record = fetched_record(lease, redirect, sha1=sha1, redirect=target.url)
            links = [target]
        return await self._settlement.settle(
            lease, redirect, record, decision, answered_at=answered_at, sha1=sha1, links=links
        )


def _last_digest(lease: Lease) -> bytes | None:
    return None if lease.url.last_visit is None else lease.url.last_visit.digest

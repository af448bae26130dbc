"""Settles leases: writes the page and its record, admits its links, and tells the frontier how the lease ended."""

import asyncio
from collections.abc import Sequence
from http import HTTPStatus
from typing import Final

import msgspec

from crawler.components import Components
from crawler.counters import Counters
from crawler.page import (
    EXTERNAL,
    MULTIPLE_CHOICES,
    NO_USAGE,
    SITEMAP,
    Fetched,
    NotModified,
    Page,
    PageRecord,
    Redirect,
    Usage,
    WithBody,
)
from crawler.politeness.response_policy import Decision
from crawler.protocols import Quota
from crawler.record import outcome_of, unfetched_record, w3c_time, with_usage
from crawler.seams import NotTaken
from crawler.slots import keep_in_step
from crawler.steps import LINKS_AT_ONCE
from frontier import CrawlUrl, LastVisit, Lease, Outcome, UrlState

_EXCLUDED: Final = UrlState.EXCLUDED.name.lower()


class Settlement:
    """Ends each lease: the URL is done, excluded, failed, or will be tried again."""

    def __init__(self, components: Components, counters: Counters) -> None:
        self._components = components
        self._counters = counters

    async def settle(
        self,
        lease: Lease,
        fetched: Fetched,
        record: PageRecord,
        decision: Decision,
        *,
        answered_at: float,
        sha1: bytes | None = None,
        links: Sequence[CrawlUrl] = (),
        self_links: int = 0,
    ) -> bool:
        """Settle a URL that was fetched. The rests of its server began at `answered_at` (monotonic). Returns whether it
        counts as a page; if a sink did not take it, the URL is handed back instead. Of a URL that the record excludes,
        the sinks get the record alone."""
        is_excluded = record.state == _EXCLUDED
        # A page that is excluded by what it says was fetched as any other.
        was_fetched = is_page(lease, fetched, decision)
        counts = was_fetched and not is_excluded
        if decision.failed:
            record = msgspec.structs.replace(record, state="failed", reason=decision.reason, change=None)
        is_left_out = is_excluded or lease.url.kind == EXTERNAL
        try:
            await self._components.sink.write(None if is_left_out else fetched, record)
        except NotTaken:
            self._hand_back(lease, decision, asked=decision.asked, answered_at=answered_at)
            return False
        await keep_in_step()
        await self.admit(links)
        if lease.url.kind == SITEMAP:
            await self._readmit_due(links, read_at=fetched.fetched_at)
        outcome = outcome_of(
            lease,
            fetched,
            record,
            decision,
            sha1=sha1,
            self_links=self_links,
            is_page=counts,
            revisit_after_s=self._revisit_after_s(lease, record),
        )
        await self._components.frontier.done(
            lease,
            cooldown_s=self._remaining_s(decision.cooldown_s, answered_at),
            group_cooldown_s=self._remaining_host_s(decision, answered_at),
            outcome=outcome,
        )
        self._counters.settled += 1
        if is_excluded:
            self._counters.excluded[record.reason or ""] += 1
        self._count_settled(lease, fetched, decision, counts=counts, was_fetched=was_fetched)
        return counts

    async def settle_unfetched(
        self,
        lease: Lease,
        decision: Decision,
        *,
        message: str | None = None,
        asked: bool = False,
        usage: Usage = NO_USAGE,
    ) -> None:
        """Settle a URL that is not fetched, because a rule excludes it or its host is dead. `asked` says whether its
        host had another request for it, as for robots.txt; `usage` what its origin says about its use."""
        self._counters.begin_storing(lease.number, self._components.monotonic())
        reason = decision.reason or ""
        state = UrlState.FAILED if decision.failed else UrlState.EXCLUDED
        if lease.dead is not None:
            failed = "once" if lease.error_streak == 1 else f"{lease.error_streak} times in a row"
            message = f"not asked for: its host failed {failed}"
        try:
            record = with_usage(unfetched_record(lease, reason=reason, state=state, message=message), usage)
            await self._components.sink.write(None, record)
        except NotTaken:
            self._hand_back(lease, decision, asked=asked)
            return
        await self._components.frontier.done(
            lease,
            cooldown_s=decision.cooldown_s,
            group_cooldown_s=decision.host_cooldown_s,
            outcome=Outcome(
                state=state,
                reason=reason,
                server_ok=decision.server_ok,
                answered=decision.answered,
                asked=asked,
                pressure=decision.pressure,
                dead_for_s=decision.dead_for_s,
                revisit_after_s=self._revisit_after_s(lease, record),
            ),
        )
        self._counters.settled += 1
        if decision.failed:
            self._counters.failed += 1
        else:
            self._counters.excluded[reason] += 1

    async def settle_refused(self, lease: Lease) -> bool:
        """Settle a URL that the scope refuses by now, or whose quota is used up. Returns whether it is one."""
        reason, message = self._components.refusal_while_waiting(lease.url), None
        if reason is not None:
            message = "the scope was changed while it waited"
        elif (quota := self._quota_for(lease)) is not None:
            reason = quota.refusal(lease.url.url)
        if reason is not None:
            await self.settle_unfetched(lease, Decision(cooldown_s=0.0, reason=reason), message=message)
        return reason is not None

    async def retry(self, lease: Lease, decision: Decision, *, answered_at: float | None = None) -> None:
        """Put the URL back for another attempt. The rests of its server began at `answered_at`, or begin now."""
        self._counters.retries += 1
        await self._components.frontier.retry(
            lease,
            after_s=None if decision.stays else decision.retry_after_s,
            cooldown_s=self._remaining_s(decision.cooldown_s, answered_at),
            group_cooldown_s=self._remaining_host_s(decision, answered_at),
            reason=decision.reason,
            pressure=decision.pressure,
            answered=decision.answered,
            server_ok=decision.server_ok and decision.answered,
        )

    def _hand_back(self, lease: Lease, decision: Decision, *, asked: bool, answered_at: float | None = None) -> None:
        self._components.frontier.release(
            lease,
            cooldown_s=self._remaining_s(decision.cooldown_s, answered_at),
            group_cooldown_s=self._remaining_host_s(decision, answered_at),
            asked=asked,
        )

    async def admit(self, urls: Sequence[CrawlUrl]) -> None:
        """Add the links of a page to the frontier.

        After a crash only some of them may be admitted. Then their page is not done: it is fetched again, and its links
        are added again, which changes nothing for those that are known.
        """
        count = len(urls)
        if 0 < count <= LINKS_AT_ONCE:
            admitted = await self._components.frontier.add(urls)
            self._counters.admitted += admitted  # an await in this statement would overwrite the counts of others
            return
        for start in range(0, count, LINKS_AT_ONCE):
            admitted = await self._components.frontier.add(urls[start : start + LINKS_AT_ONCE])
            self._counters.admitted += admitted
            await asyncio.sleep(0)  # `add` need not wait for anything

    async def _readmit_due(self, urls: Sequence[CrawlUrl], *, read_at: float) -> None:
        """Visit pages again because of what a sitemap says of them."""
        planning, recrawling = self._components.planning, self._components.recrawling
        if planning is None or recrawling is None or not planning.follows_sitemaps:
            return
        for start in range(0, len(urls), LINKS_AT_ONCE):
            due = []
            for url in urls[start : start + LINKS_AT_ONCE]:
                entry = await self._components.frontier.status_of(url.canonical)
                if planning.is_due(url, entry, last_modified=w3c_time(url.last_modified), read_at=read_at):
                    due.append(url)
            await recrawling.readmit(due)

    def _revisit_after_s(self, lease: Lease, record: PageRecord) -> float | None:
        planning = self._components.planning
        if planning is None:
            return None
        if lease.url.kind == EXTERNAL:
            planning.leave_out(lease.url)
            return None
        return planning.after_visit_s(lease.url, record)

    def _quota_for(self, lease: Lease) -> Quota | None:
        """The quota that the URL counts for. One that has counted does not count again: otherwise a crawl that comes
        back would use up any quota in time."""
        is_sitemap, last_visit = lease.url.kind == SITEMAP, lease.url.last_visit
        if last_visit is not None and _has_counted(last_visit, is_sitemap=is_sitemap):
            return None
        return self._components.sitemap_quota if is_sitemap else self._components.quota

    def _count_settled(
        self, lease: Lease, fetched: Fetched, decision: Decision, *, counts: bool, was_fetched: bool
    ) -> None:
        if decision.failed:
            self._counters.failed += 1
        elif counts:
            self._counters.count_page(fetched)
        elif isinstance(fetched, Redirect):
            self._counters.redirects += 1
        # A 300 has links, and could be a trap.
        has_choices = isinstance(fetched, Page) and fetched.status == MULTIPLE_CHOICES
        takes_quota = was_fetched or has_choices or lease.url.kind == SITEMAP
        if takes_quota and (quota := self._quota_for(lease)) is not None:
            quota.spend(lease.url.url, len(fetched.raw_body) if isinstance(fetched, WithBody) else 0)

    def _remaining_s(self, cooldown_s: float, answered_at: float | None) -> float:
        """The rest of a cooldown that began with the answer.

        Our own work on the page is no load for the server. If cooldowns began after it, hosts whose pages arrive
        together would stay in step, and each would wait for the work on all of them.
        """
        if answered_at is None:
            return cooldown_s
        return max(0.0, cooldown_s - (self._components.monotonic() - answered_at))

    def _remaining_host_s(self, decision: Decision, answered_at: float | None) -> float | None:
        return None if decision.host_cooldown_s is None else self._remaining_s(decision.host_cooldown_s, answered_at)


def is_page(lease: Lease, fetched: Fetched, decision: Decision) -> bool:
    """Whether a settled URL counts as a page: its status is 2xx or 304, and it is not a sitemap."""
    return (
        not decision.failed
        and lease.url.kind not in (SITEMAP, EXTERNAL)
        and (fetched.status < 300 if isinstance(fetched, Page) else isinstance(fetched, NotModified))
    )


def _has_counted(last_visit: LastVisit, *, is_sitemap: bool) -> bool:
    """Whether a URL counted for a quota when it was visited before. One that the quota refused, or that failed, did
    not."""
    is_page = last_visit.status is not None and (
        last_visit.status <= MULTIPLE_CHOICES or last_visit.status == HTTPStatus.NOT_MODIFIED
    )
    return is_page or bool(last_visit.history) or (is_sitemap and last_visit.fetched_at is not None)

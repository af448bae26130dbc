"""Which hosts a crawl serves, and why each waits."""

import time
from collections import defaultdict
from collections.abc import AsyncIterator
from typing import Final

from crawler.control.replies import HostForm, HostList
from crawler.control.requests import Top
from crawler.counters import InFlight
from crawler.operate.actions.forms import moment
from crawler.operate.actions.slices import First, in_slices
from crawler.operate.target import OperatedCrawl, queue_reads, serving
from crawler.record import rfc3339
from crawler.status import duration, host_of, number_of
from crawler.wiring.components import discovering
from crawler.wiring.storage import rules_version
from frontier import ActiveQueue, Health, QueueStatus

_RANKS: Final = {"in-process": 0, "ready": 1, "held-back": 2, "snoozed": 3}


def host_order(host: HostForm) -> tuple[int, str, str]:
    """The place of a host among others."""
    rank = _RANKS.get(host.state)
    return (len(_RANKS), "", host.key) if rank is None else (rank, host.wake_at or "", host.key)


async def list_hosts(crawl: OperatedCrawl, request: Top) -> HostList:
    """The hosts that are being served, those in process first; then others that have URLs, as far as the limit goes."""
    first = First[HostForm](request.limit, host_order)
    known: set[str] = set()
    async for host in _active_hosts(crawl, request.match):
        first.add(host)
        known.add(host.key)
    hosts = first.items()
    left = first.count - len(hosts)
    async for queue in in_slices(queue_reads(crawl).queues()):
        if not queue.size or queue.key in known or request.match not in host_of(queue.key):
            continue
        if len(hosts) < request.limit:
            hosts.append(_stored_host(queue, is_running=crawl.status().running))
        else:
            left += 1
    return HostList(hosts=hosts, left=left)


async def _active_hosts(crawl: OperatedCrawl, match: str) -> AsyncIterator[HostForm]:
    if not crawl.status().running:
        return
    paused = crawl.status().frontier.paused
    work = _work_by_queue(crawl)
    async for queue in in_slices(serving(crawl).active_queues()):
        if match in host_of(queue.key):
            yield HostForm(
                host=host_of(queue.key),
                key=queue.key,
                state=queue.state,
                size=queue.size,
                spent=queue.spent,
                leased=queue.leased,
                wake_at=moment(queue.wake_at) if queue.wake_at > time.time() else None,
                waits=_why(queue, work[queue.key], paused),
            )


def _work_by_queue(crawl: OperatedCrawl) -> defaultdict[str, list[InFlight]]:
    urls = discovering.url_reader(crawl.loaded, version=rules_version(crawl.state))
    work: defaultdict[str, list[InFlight]] = defaultdict(list)
    for each in crawl.in_flight:
        work[discovering.queue_key(urls, each.url)].append(each)
    return work


def _why(queue: ActiveQueue, work: list[InFlight], paused: str | None) -> str:
    """What a host does, or why it waits, in words."""
    if work:
        oldest = min(work, key=lambda each: each.since)
        others = "" if len(work) == 1 else f", and {len(work) - 1} more"
        since = duration(max(0.0, time.monotonic() - oldest.since))
        return f"waits for {oldest.stage}: {oldest.url}, for {since}{others}"
    if queue.state == "in-process":
        return "a worker has just taken a URL"
    if queue.state == "held-back":
        return f"waits for others at the same server: {_group(queue)}"
    if queue.wake_at > time.time():
        return _why_resting(queue)
    return "may be asked now" if paused is None else f"may be asked, but the crawl is paused: {paused}"


def _group(queue: ActiveQueue) -> str:
    kind, _, name = (queue.group or "").partition(" ")
    named = f"the address {name}" if kind == "ip" else f"{kind} {host_of(name)}"
    if queue.group_is_elsewhere:
        return f"{named} is shared with other parts of the crawl"
    if queue.group_wake_at is None:
        return f"{named} is being asked"
    return f"{named} may be asked at {rfc3339(queue.group_wake_at)}"


def _why_resting(queue: ActiveQueue) -> str:
    if queue.rest_reason is not None:
        return f"waits for {queue.rest_reason}"
    if queue.health.trouble is not None:
        return _trouble(queue.health)
    if queue.health.pressure:
        return "rests longer, because its server asked us to slow down"
    return "rests between requests"


def _trouble(health: Health) -> str:
    failed = "once" if health.error_streak == 1 else f"{number_of(health.error_streak, 'time')} in a row"
    given_up = f"; given up until {rfc3339(health.probe_at)}" if health.probe_at > time.time() else ""
    return f"failed {failed}, the last time with {health.trouble}{given_up}"


def _stored_host(queue: QueueStatus, *, is_running: bool) -> HostForm:
    return HostForm(
        host=host_of(queue.key),
        key=queue.key,
        state="inactive" if queue.served else "retired",
        size=queue.size,
        spent=queue.spent,
        leased=0,
        wake_at=moment(queue.wake_at) if queue.wake_at > time.time() else None,
        waits=_why_inactive(queue, is_running=is_running),
    )


def _why_inactive(queue: QueueStatus, *, is_running: bool) -> str:
    if queue.retired:
        return "is retired by the operator"
    if not queue.served:
        budget = "" if queue.budget is None else f" of {queue.budget:,}"
        return f"is retired, because its budget is spent: {queue.spent:,}{budget}"
    if queue.health.trouble is not None:
        return _trouble(queue.health)
    if not is_running:
        return "the crawl does not run"
    return "waits for its turn behind other hosts"

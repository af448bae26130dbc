"""Which hosts a crawl serves, and why each waits; what traps and quotas have refused, by host; what the robots.txt of
hosts said when they were asked last."""

import asyncio
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Container, Sequence
from contextlib import aclosing, suppress
from itertools import chain
from typing import Final

import msgspec

from crawler.control.replies import HostForm, HostList, RefusedForm, RefusedList, RobotsForm, RobotsList
from crawler.control.requests import HostPlace, InspectRefused, InspectRobots, Top
from crawler.counters import InFlight
from crawler.discover.refusal_counts import PREFIX, decode_refusal_count
from crawler.fetch.robots.cache import noted_statuses
from crawler.fetch.robots.robots_txt import LONG_CHARACTERS
from crawler.fetch.robots.rules import RobotsRules, product_token
from crawler.fetch.robots.status import RobotsStatus, judge_host
from crawler.operate.actions.forms import moment
from crawler.operate.actions.slices import First, in_slices
from crawler.operate.target import OperatedCrawl, queue_reads, serving
from crawler.page import rfc3339
from crawler.politeness.response_policy import UNREACHABLE
from crawler.status import duration, failures_text, host_of
from crawler.wiring.components import discovering
from frontier import ActiveQueue, FrontierStats, Health, QueueStatus

_RANKS: Final[dict[str, int]] = {"in-process": 0, "ready": 1, "held-back": 2, "snoozed": 3}


def host_order(host: HostForm) -> HostPlace:
    rank = _RANKS.get(host.state)
    return (len(_RANKS), "", host.key) if rank is None else (rank, host.wake_at or "", host.key)


def place_behind(hosts: Sequence[HostForm], *, are_all: bool) -> HostPlace | None:
    """Where the next hosts begin."""
    return host_order(hosts[-1]) if hosts and not are_all else None


async def list_hosts(crawl: OperatedCrawl, request: Top) -> HostList:
    """The hosts that are being served, those in process first; then others that have URLs, as far as the limit goes.

    To count the hosts that are left takes a look at each one. Without a filter, the frontier knows their number. Behind
    a place, they are not counted.
    """
    after = request.after or (-1, "", "")
    first = First[HostForm](request.limit, host_order)
    served: set[str] = set()
    async for host in _active_hosts(crawl, request.match):
        served.add(host.key)
        if request.state in (None, host.state) and host_order(host) > after:
            first.add(host)
    hosts = first.items()
    left = first.count - len(hosts)
    if request.state not in _RANKS:
        is_counted = request.after is None and (request.state is not None or bool(request.match))
        left += await _list_stored(crawl, request, served, hosts, is_counted=is_counted)
    behind = place_behind(hosts, are_all=not left)
    if request.after is not None:
        return HostList(hosts=hosts, left=None, after=behind)
    if request.state is None and not request.match and left:
        left = max(left, _number_of_hosts(crawl.status().frontier) - len(hosts))
    return HostList(hosts=hosts, left=left, after=behind)


async def _list_stored(
    crawl: OperatedCrawl, request: Top, served: Container[str], hosts: list[HostForm], *, is_counted: bool
) -> int:
    """Add hosts that are not served. Returns how many are left; if they are not counted, 1 if there are any."""
    after = request.after[2] if request.after is not None and request.after[0] == len(_RANKS) else ""
    is_running, left = crawl.status().running, 0
    # Closed at once when enough are found: the store is read until then.
    async with aclosing(in_slices(queue_reads(crawl).queues(after))) as queues:
        async for queue in queues:
            if not queue.size or queue.key in served or request.match not in host_of(queue.key):
                continue
            if request.state not in (None, _stored_state(queue)):
                continue
            if len(hosts) < request.limit:
                hosts.append(_stored_host(queue, is_running=is_running))
                continue
            left += 1
            if not is_counted:
                break
    return left


def _number_of_hosts(stats: FrontierStats) -> int:
    return (
        stats.in_process_queues
        + stats.ready_queues
        + stats.held_back_queues
        + stats.snoozed_queues
        + stats.inactive_queues
        + stats.retired_queues
    )


def _stored_state(queue: QueueStatus) -> str:
    return "inactive" if queue.served else "retired"


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
                error_streak=queue.health.error_streak,
                wake_at=moment(queue.wake_at) if queue.wake_at > time.time() else None,
                waits=_why(queue, work[queue.key], paused),
            )


def _work_by_queue(crawl: OperatedCrawl) -> defaultdict[str, list[InFlight]]:
    urls = discovering.url_reader(crawl.loaded)
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
    if (trouble := queue.health.trouble) is not None:
        return _trouble(queue.health, trouble)
    if queue.health.pressure:
        return "rests longer, because its server asked us to slow down"
    return "rests between requests"


def _trouble(health: Health, trouble: str) -> str:
    given_up = f"; given up until {rfc3339(health.probe_at)}" if health.probe_at > time.time() else ""
    return f"{failures_text(health.error_streak, trouble)}{given_up}"


def _stored_host(queue: QueueStatus, *, is_running: bool) -> HostForm:
    return HostForm(
        host=host_of(queue.key),
        key=queue.key,
        state=_stored_state(queue),
        size=queue.size,
        spent=queue.spent,
        leased=0,
        error_streak=queue.health.error_streak,
        wake_at=moment(queue.wake_at) if queue.wake_at > time.time() else None,
        waits=_why_inactive(queue, is_running=is_running),
    )


def _why_inactive(queue: QueueStatus, *, is_running: bool) -> str:
    if queue.retired:
        return "is retired by the operator"
    if not queue.served:
        budget = "" if queue.budget is None else f" of {queue.budget:,}"
        return f"is retired, because its budget is spent: {queue.spent:,}{budget}"
    if (trouble := queue.health.trouble) is not None:
        return _trouble(queue.health, trouble)
    if not is_running:
        return "the crawl does not run"
    return "waits for its turn behind other hosts"


def refusal_order(refused: RefusedForm) -> tuple[int, str, str]:
    return -refused.count, refused.rule, refused.host or ""


async def list_refused(crawl: OperatedCrawl, request: InspectRefused) -> RefusedList:
    found: list[RefusedForm] = []
    async for key, note in in_slices(crawl.state.notes.items(PREFIX)):
        rule, _, host = key.removeprefix(PREFIX).partition(" ")
        if request.match in host:
            with suppress(msgspec.DecodeError):
                counted = decode_refusal_count(note)
                found.append(RefusedForm(rule=rule, host=host or None, count=counted.count, examples=counted.examples))
    found.sort(key=refusal_order)
    return RefusedList(refused=found[: request.limit], left=max(0, len(found) - request.limit))


async def list_robots(crawl: OperatedCrawl, request: InspectRobots) -> RobotsList:
    """Hosts whose robots.txt is not known are left out."""
    agent = product_token(crawl.loaded.config.fetch.user_agent)
    found = [
        newest_robots(host, [await _read(status, agent, with_sitemaps=request.sitemaps) for status in statuses])
        async for host in in_slices(request.hosts)
        if (statuses := noted_statuses(crawl.state.notes, host))
    ]
    return RobotsList(hosts=found)


async def _read(status: RobotsStatus, agent: str, *, with_sitemaps: bool) -> RobotsForm:
    rules: RobotsRules | None = None
    if status.text is not None and len(status.text) > LONG_CHARACTERS:
        rules = await asyncio.to_thread(RobotsRules, status.text, agent=agent)
    elif status.text is not None:
        rules = RobotsRules(status.text, agent=agent)
    return RobotsForm(
        host="",
        robots=judge_host(status, rules, time.time()),
        asked_at=moment(status.asked_at),
        crawl_delay_s=None if rules is None else rules.crawl_delay_s,
        message=status.message,
        sitemaps=_sitemaps(status, rules) if with_sitemaps else None,
    )


def _sitemaps(status: RobotsStatus, rules: RobotsRules | None) -> list[str] | None:
    if status.failures or status.refused is not None:
        return None
    return [] if rules is None else [*rules.sitemaps]


def newest_robots(host: str, found: list[RobotsForm]) -> RobotsForm:
    """The robots.txt that was asked last, of several of one host, with the longest delay and the sitemaps of all. One
    that could not be had, such as that of https on a host that speaks http alone, says nothing of the others."""
    last = max(found, key=lambda each: (each.robots != UNREACHABLE, each.asked_at or ""))  # moments sort as text
    delay_s = max((each.crawl_delay_s for each in found if each.crawl_delay_s is not None), default=None)
    known = [each.sitemaps for each in found if each.sitemaps is not None]
    sitemaps = [*dict.fromkeys(chain.from_iterable(known))] if len(known) == len(found) else None
    return msgspec.structs.replace(last, host=host, crawl_delay_s=delay_s, sitemaps=sitemaps)

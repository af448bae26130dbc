"""Requests that change nothing, to a crawl in parts. Lists are merged in the order that each part has."""

from collections.abc import Mapping
from functools import partial

import msgspec

from crawler.control.known_urls import UrlFound
from crawler.control.replies import (
    CrawlStatus,
    ExportPiece,
    HostList,
    NextList,
    PartStatus,
    QueueForm,
    QueueList,
    Refusal,
    RefusedForm,
    RefusedList,
    RobotsForm,
    RobotsList,
)
from crawler.control.requests import (
    MAX_ITEMS,
    MAX_REFUSALS,
    Export,
    GetStatus,
    InspectNext,
    InspectQueues,
    InspectRefused,
    InspectRobots,
    InspectUrl,
    InspectVisited,
    Top,
)
from crawler.course.remaining import of_parts, share_done
from crawler.discover.refusal_counts import EXAMPLES
from crawler.operate.actions.hosts import host_order, newest_robots, place_behind, refusal_order
from crawler.operate.parts.crawl import CrawlInParts, ask_of_host, divide_replies
from crawler.operate.parts.exporting import merge_exports
from crawler.operate.parts.sums import same_of_all, sum_frontiers, sum_statuses, sum_visited
from crawler.operate.refused import Refused
from visited import VisitedStats


async def sum_up(crawl: CrawlInParts) -> CrawlStatus:
    """The status of all parts that can tell. Raises `Refused` if none can."""
    replies = await crawl.parts.any(GetStatus())
    statuses, refusals = divide_replies(replies)
    runs = {number: each.run for number, each in statuses.items() if each.run is not None}
    frontier = sum_frontiers({number: each.frontier for number, each in statuses.items()})
    told = [each.remaining for each in statuses.values() if each.remaining is not None]
    return CrawlStatus(
        directory=str(crawl.directory),
        running=crawl.pid is not None or any(each.running for each in statuses.values()),
        pid=crawl.pid,
        paused=same_of_all({number: each.paused for number, each in statuses.items()}),
        stopping=any(each.stopping for each in statuses.values()),
        frontier=frontier,
        run=sum_statuses(runs) if runs else None,
        share_done=None if refusals else share_done(frontier),
        remaining=of_parts(told, silent=len(replies) - len(told)) if told else None,
        parts=[_part_status(crawl, number, reply) for number, reply in replies.items()],
    )


def _part_status(crawl: CrawlInParts, number: int, reply: CrawlStatus | Refusal) -> PartStatus:
    directory = str(crawl.parts.directory(number))
    if not isinstance(reply, Refusal):
        return PartStatus(part=number, directory=directory, status=reply)
    why = reply.message.removeprefix(f"part {number}: ").removeprefix(f"part {number} ({directory}): ")
    return PartStatus(part=number, directory=directory, status=None, error=why)


async def look_up(crawl: CrawlInParts, request: InspectUrl) -> UrlFound:
    try:
        owner = crawl.part_of(request.url)
    except ValueError as error:
        raise Refused(str(error)) from error
    reply = await crawl.parts.one(owner, request)
    if reply.found is None:
        return reply
    return msgspec.structs.replace(reply, found=msgspec.structs.replace(reply.found, part=owner))


async def list_queues(crawl: CrawlInParts, request: InspectQueues) -> QueueList:
    """Offsets are counted here: the parts begin behind a queue, because only that is the same place in all of them."""
    offset, after = request.offset, request.after
    while True:
        limit = min(MAX_ITEMS, offset or request.limit)
        asked = msgspec.structs.replace(request, offset=0, after=after, limit=limit)
        found = merge_queues(await crawl.parts.all(asked), limit)
        if not offset or not found.queues:
            return found
        offset -= len(found.queues)
        after = (found.ranks[-1], found.queues[-1].key)


async def list_next(crawl: CrawlInParts, request: InspectNext) -> NextList:
    found = list((await ask_of_host(crawl, request.host, request)).values())
    urls = [url for each in found for url in each.urls]
    left = max(0, len(urls) - request.limit) + sum(each.left for each in found)
    return NextList(urls=urls[: request.limit], left=left)


async def sum_visited_sets(crawl: CrawlInParts) -> VisitedStats:
    return sum_visited(list((await crawl.parts.all(InspectVisited())).values()))


async def list_refused(crawl: CrawlInParts, request: InspectRefused) -> RefusedList:
    all_of_a_part = msgspec.structs.replace(request, limit=MAX_REFUSALS)
    return merge_refused(await crawl.parts.all(all_of_a_part), request.limit)


async def list_robots(crawl: CrawlInParts, request: InspectRobots) -> RobotsList:
    """Ask all parts, because another part than the owner of a host may have asked for its robots.txt."""
    found, _ = divide_replies(await crawl.parts.each(request, wait_s=0.0))
    of_hosts: dict[str, list[RobotsForm]] = {}
    for each in (form for reply in found.values() for form in reply.hosts):
        of_hosts.setdefault(each.host, []).append(each)
    return RobotsList(hosts=[newest_robots(host, forms) for host, forms in of_hosts.items()])


async def list_hosts(crawl: CrawlInParts, request: Top) -> HostList:
    """The hosts of all parts that can tell. Raises `Refused` if none can."""
    found, refusals = divide_replies(await crawl.parts.any(request))
    broken = [_part_status(crawl, number, refusal) for number, refusal in refusals.items()]
    return msgspec.structs.replace(merge_hosts(found, request.limit), broken=broken)


async def export_piece(crawl: CrawlInParts, request: Export) -> ExportPiece:
    return await merge_exports([partial(crawl.parts.one, number) for number in crawl.parts.numbers], request)


def merge_queues(parts: Mapping[int, QueueList], limit: int) -> QueueList:
    """The first queues of all parts. Each part has given its first ones, as many as the limit if it has them."""
    ranked: list[tuple[float, str, QueueForm]] = []
    for number, found in parts.items():
        for rank, queue in zip(found.ranks, found.queues, strict=True):
            ranked.append((rank, queue.key, msgspec.structs.replace(queue, part=number)))
    ranked.sort(key=lambda each: each[:2])
    shown = ranked[:limit]
    return QueueList(
        queues=[queue for _, _, queue in shown],
        ranks=[rank for rank, _, _ in shown],
        left=len(ranked) - len(shown) + sum(each.left for each in parts.values()),
    )


def merge_hosts(parts: Mapping[int, HostList], limit: int) -> HostList:
    """The first hosts of all parts. Each part has given its first ones, as many as the limit if it has them."""
    hosts = [msgspec.structs.replace(host, part=number) for number, found in parts.items() for host in found.hosts]
    hosts.sort(key=host_order)
    shown, kept = hosts[:limit], max(0, len(hosts) - limit)
    are_all = not kept and all(each.after is None for each in parts.values())
    counts = [each.left for each in parts.values() if each.left is not None]
    left = kept + sum(counts) if len(counts) == len(parts) else None
    return HostList(hosts=shown, left=left, after=place_behind(shown, are_all=are_all))


def merge_refused(parts: Mapping[int, RefusedList], limit: int) -> RefusedList:
    """The refusals of all parts, which count them where the links are found: those of one host are added up. Each part
    has given all that it has."""
    merged: dict[tuple[str, str | None], RefusedForm] = {}
    for found in parts.values():
        for each in found.refused:
            known = merged.get((each.rule, each.host))
            merged[each.rule, each.host] = each if known is None else _add(known, each)
    ordered = sorted(merged.values(), key=refusal_order)
    left = max(0, len(ordered) - limit) + sum(each.left for each in parts.values())
    return RefusedList(refused=ordered[:limit], left=left)


def _add(known: RefusedForm, more: RefusedForm) -> RefusedForm:
    examples = list(dict.fromkeys((*known.examples, *more.examples)))[:EXAMPLES]
    return msgspec.structs.replace(known, count=known.count + more.count, examples=examples)

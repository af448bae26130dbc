"""Merges lists of the parts of a crawl, in the order that each of them has. Pure."""

from collections.abc import Mapping

import msgspec

from crawler.control.replies import HostList, QueueForm, QueueList, RefusedForm, RefusedList
from crawler.discover.refusal_counts import EXAMPLES
from crawler.operate.actions.hosts import host_order, place_behind
from crawler.operate.actions.refusals import refusal_order


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

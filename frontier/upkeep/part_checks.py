"""Checks the links on their way between the parts of a crawl, in one store and across all of them, and mends what a
rebuilt part has received of them."""

from collections.abc import Callable, Iterator, Mapping, Sequence

import msgspec

from frontier.descriptor import Problem
from frontier.leveldb.store import LevelDBStore
from frontier.parts.parcels import decode_parcel
from frontier.parts.protocol import Part, Place, lineage_of
from frontier.records import InboxPosition, Transit
from frontier.values import number_of

Owner = Callable[[str], int]
"""The part that a queue belongs to, by its key."""

OUTBOX, INBOX, PART = "outbox", "inbox", "part"


def check_links(store: LevelDBStore, owner: Owner | None) -> Iterator[Problem]:
    """The problems of one store that nobody writes to. Without `owner`, it is not checked whether queues and links
    belong where they are."""
    part = store.part
    if part is None:
        return
    damaged = store.outbox.damaged()
    yield from (Problem("damaged", repr(found.key), found.message) for found in damaged)
    if not damaged:
        yield from _check_outbox(store, part, owner)
    for sender, incarnation in store.positions():
        if sender == part.number or sender >= part.parts:
            yield Problem(INBOX, f"{incarnation:x}", f"it has a position of part {sender}, which is none of the others")
    if lineage_of(store.counters.next_number) != part.lineage:
        found = lineage_of(store.counters.next_number)
        yield Problem(PART, "number", f"its numbers are of lineage {found}, but it is {part}")
    allowed = store.counters.allowance.allowed
    if allowed is not None and store.counters.pages > allowed:
        settled = number_of(store.counters.pages, "page")
        yield Problem(PART, "pages", f"it has settled {settled}, but was allowed {allowed}")
    if store.counters.gaps:
        yield Problem("gap", str(store.counters.gaps), "this often links from other parts were lost on their way")
    if owner is None:
        return
    for record in store.reads.queues():
        if record.size and owner(record.key) != part.number:
            yield Problem(PART, record.key, f"the queue has URLs, but belongs to part {owner(record.key)}")


def _check_outbox(store: LevelDBStore, part: Part, owner: Owner | None) -> Iterator[Problem]:
    expected: dict[int, int] = {}
    for receiver, index, content in store.outbox.all_parcels():
        where = f"part {receiver}, parcel {index}"
        if receiver == part.number or receiver >= part.parts:
            yield Problem(OUTBOX, where, f"it is in the outbox of {part}")
            continue
        following = expected.get(receiver, store.outbox.trimmed(receiver).index + 1)
        if index != following:
            yield Problem(OUTBOX, where, f"expected parcel {following} before it")
        expected[receiver] = index + 1
        try:
            urls = decode_parcel(content)
        except ValueError as error:
            yield Problem("damaged", where, str(error))
            continue
        for url in urls:
            if owner is not None and owner(url.queue_key) != receiver:
                yield Problem(OUTBOX, where, f"{url.url} belongs to part {owner(url.queue_key)}")


def check_parts(stores: Sequence[LevelDBStore]) -> Iterator[Problem]:
    """Where the stores of all parts of a crawl do not agree. Nobody writes to any of them."""
    parts = [store.part for store in stores if store.part is not None]
    if sorted(part.number for part in parts) != list(range(len(stores))) or {part.parts for part in parts} != {
        len(stores)
    }:
        told = ", ".join(str(part) for part in parts) or "none"
        yield Problem(PART, "crawl", f"expected all {len(stores)} parts of a crawl of {len(stores)}, found {told}")
        return
    if len({part.lineage for part in parts}) < len(parts):
        yield Problem(PART, "crawl", f"two parts have the same lineage: {', '.join(str(part) for part in parts)}")
    by_number = _by_number(stores)
    for sender, sending in by_number.items():
        for receiver, receiving in by_number.items():
            if sender != receiver and not sending.outbox.damaged():
                yield from _check_pair(sender, sending, receiver, receiving)
    yield from _check_allowances(stores)


def _check_allowances(stores: Sequence[LevelDBStore]) -> Iterator[Problem]:
    """The pages that all parts may have together, if all of them are allowed some by the same supervisor."""
    allowances = [store.counters.allowance for store in stores]
    allowed = [each.allowed for each in allowances if each.allowed is not None]
    total = max(each.total for each in allowances)
    if len(allowed) == len(stores) and len({each.epoch for each in allowances}) == 1 and 0 < total < sum(allowed):
        pages = number_of(sum(allowed), "page")
        yield Problem(PART, "pages", f"all parts together were allowed {pages}, but the limit is {total}")


def _check_pair(sender: int, sending: LevelDBStore, receiver: int, receiving: LevelDBStore) -> Iterator[Problem]:
    where = f"part {sender} to part {receiver}"
    positions, incarnation = receiving.positions(), sending.outbox.incarnation
    # After a power failure a sender may have lost what it has sent. It draws a new incarnation when it is opened.
    if incarnation is not None and not sending.marks.in_use:
        end = sending.outbox.end(receiver) - incarnation.bases.get(receiver, 0)
        position = positions.get((sender, incarnation.number), 0)
        if position > end:
            yield Problem(INBOX, where, f"{number_of(position, 'parcel')} admitted, but only {end} sent")
    if (place := _place_not_received(sender, sending, receiver, positions)) is not None:
        yield Problem("gap", where, f"parcels up to {place.sequence} were deleted, but not all of them were admitted")


def take_positions(stores: Sequence[LevelDBStore], rebuilt: int) -> None:
    """Let a part count as having received all that the others have deleted from their outboxes, and no link of it as
    lost on its way.

    It was rebuilt from the output of all parts, which has these links too. Otherwise each sender would find a gap, and
    the crawl would never be complete. `stores` are those of all parts; nobody else writes to them."""
    receiving = _by_number(stores)[rebuilt]
    for sender, place in list(_not_received(stores, rebuilt)):
        transit = Transit(position=InboxPosition(sender=sender, place=place))
        receiving.admit([], [], [], msgspec.structs.replace(receiving.counters), transit=transit)
    if receiving.counters.gaps:
        receiving.update_queues([], msgspec.structs.replace(receiving.counters, gaps=0))


def parts_that_lack_links(stores: Sequence[LevelDBStore]) -> list[int]:
    """The parts that have not received all that others have deleted from their outboxes."""
    return [number for number in _by_number(stores) if any(_not_received(stores, number))]


def _not_received(stores: Sequence[LevelDBStore], receiver: int) -> Iterator[tuple[int, Place]]:
    """The senders that have deleted more than was received, and the last parcel that each has deleted."""
    by_number = _by_number(stores)
    positions = by_number[receiver].positions()
    for sender, sending in by_number.items():
        place = None if sender == receiver else _place_not_received(sender, sending, receiver, positions)
        if place is not None:
            yield sender, place


def _place_not_received(
    sender: int, sending: LevelDBStore, receiver: int, positions: Mapping[tuple[int, int], int]
) -> Place | None:
    """The last parcel that a sender has deleted, if it was not received by the `positions` of the receiver."""
    place = sending.outbox.trimmed(receiver).place
    return place if place is not None and positions.get((sender, place.incarnation), 0) < place.sequence else None


def _by_number(stores: Sequence[LevelDBStore]) -> dict[int, LevelDBStore]:
    """The stores of parts, by the numbers of these."""
    return {store.part.number: store for store in stores if store.part is not None}

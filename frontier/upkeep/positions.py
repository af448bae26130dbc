"""What a part of a crawl has received of the others, after it was rebuilt."""

from collections.abc import Iterator, Mapping, Sequence

import msgspec

from frontier.leveldb.store import LevelDBStore
from frontier.parts.protocol import Place
from frontier.records import InboxPosition, Transit


def take_positions(stores: Sequence[LevelDBStore], rebuilt: int) -> None:
    """Let a part count as having received all that the others have deleted from their outboxes, and no link of it as
    lost on its way.

    It was rebuilt from the output of all parts, which has these links too. Otherwise each sender would find a gap, and
    the crawl would never be complete. `stores` are those of all parts; nobody else writes to them."""
    receiving = stores_by_number(stores)[rebuilt]
    for sender, place in list(_not_received(stores, rebuilt)):
        transit = Transit(position=InboxPosition(sender=sender, place=place))
        receiving.admit([], [], [], msgspec.structs.replace(receiving.counters), transit=transit)
    if receiving.counters.gaps:
        receiving.update_queues([], msgspec.structs.replace(receiving.counters, gaps=0))


def parts_that_lack_links(stores: Sequence[LevelDBStore]) -> list[int]:
    """The parts that have not received all that others have deleted from their outboxes."""
    return [number for number in stores_by_number(stores) if any(True for _ in _not_received(stores, number))]


def _not_received(stores: Sequence[LevelDBStore], receiver: int) -> Iterator[tuple[int, Place]]:
    """The senders that have deleted more than was received, and the last parcel that each has deleted."""
    by_number = stores_by_number(stores)
    positions = by_number[receiver].positions()
    for sender, sending in by_number.items():
        place = None if sender == receiver else place_not_received(sender, sending, receiver, positions)
        if place is not None:
            yield sender, place


def place_not_received(
    sender: int, sending: LevelDBStore, receiver: int, positions: Mapping[tuple[int, int], int]
) -> Place | None:
    """The last parcel that a sender has deleted, if it was not received by the `positions` of the receiver."""
    place = sending.outbox.trimmed(receiver).place
    return place if place is not None and positions.get((sender, place.incarnation), 0) < place.sequence else None


def stores_by_number(stores: Sequence[LevelDBStore]) -> dict[int, LevelDBStore]:
    """The stores of parts, by the numbers of these."""
    return {store.part.number: store for store in stores if store.part is not None}

"""What a part of a crawl has received of the others, after it was rebuilt."""

from collections.abc import Sequence

import msgspec

from frontier.leveldb.store import LevelDBStore
from frontier.records import InboxPosition, Transit


def take_positions(stores: Sequence[LevelDBStore], rebuilt: int) -> None:
    """Let a part count as having received all that the others have deleted from their outboxes.

    It was rebuilt from the output of all parts, which has these links too. Otherwise each sender would find a gap, and
    the crawl would never be complete. `stores` are those of all parts; nobody else writes to them."""
    by_number = {store.part.number: store for store in stores if store.part is not None}
    receiving = by_number[rebuilt]
    positions = receiving.positions()
    for sender, sending in by_number.items():
        place = None if sender == rebuilt else sending.outbox.trimmed(rebuilt).place
        if place is not None and positions.get((sender, place.incarnation), 0) < place.sequence:
            transit = Transit(position=InboxPosition(sender=sender, place=place))
            receiving.admit([], [], [], msgspec.structs.replace(receiving.counters), transit=transit)

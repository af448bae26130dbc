"""Links on their way to and from other parts of the crawl.

The outbox of a receiver is read from behind the last parcel that was deleted, so no read passes deleted keys. Deleted
ranges are compacted now and then, as those of queues are.
"""

from collections.abc import Callable, Iterator, Mapping

import msgspec

from frontier.leveldb.database import Batch, Database
from frontier.leveldb.format import encoding
from frontier.leveldb.format.keys import (
    INBOX_SPACE,
    OUTBOX_SPACE,
    TRIMMED_SPACE,
    U64,
    end_of,
    inbox_key,
    parcel_key,
    parcel_of,
    trimmed_key,
)
from frontier.leveldb.opening import damage_error
from frontier.records import Incarnation, Transit, Trimmed
from frontier.values import Damaged

_INCARNATION = b"Mincarnation"

_encode = msgspec.msgpack.Encoder().encode
_decode_trimmed = encoding.decoder(msgspec.msgpack.Decoder(Trimmed).decode)
_decode_incarnation = encoding.decoder(msgspec.msgpack.Decoder(Incarnation).decode)


def write_transit(batch: Batch, transit: Transit) -> None:
    """Write a transition's parcels and position with a batch."""
    for parcel in transit.parcels:
        batch.put(parcel_key(parcel.receiver, parcel.index), parcel.content)
    if (position := transit.position) is not None:
        place = position.place
        batch.put(inbox_key(position.sender, place.incarnation), U64.pack(place.sequence))


def read_positions(database: Database) -> Mapping[tuple[int, int], int]:
    """How many parcels were admitted, by sender and its incarnation."""
    admitted = database.items(INBOX_SPACE, end_of(INBOX_SPACE))
    return {parcel_of(key): int.from_bytes(value, "big") for key, value in admitted}


def read_incarnation(database: Database) -> Incarnation | None:
    """The last opening; None if there was none."""
    value = database.get(_INCARNATION)
    return None if value is None else database.decode(_decode_incarnation, value, "its last incarnation")


def encode_trimmed(trimmed: Trimmed) -> bytes:
    return _encode(trimmed)


class LevelDBOutbox:
    """The `Outbox` of a database. It calls `count_deleted` after it has deleted parcels, with the receiver, the last
    index and their number."""

    def __init__(self, database: Database, *, count_deleted: Callable[[int, int, int], None]) -> None:
        self._database = database
        self._count_deleted = count_deleted

    @property
    def incarnation(self) -> Incarnation | None:
        """The last opening; None if there was none."""
        return read_incarnation(self._database)

    def trimmed(self, receiver: int, /) -> Trimmed:
        value = self._database.get(trimmed_key(receiver))
        if value is None:
            return Trimmed()
        return self._database.decode(_decode_trimmed, value, f"its outbox for part {receiver}")

    def damaged(self) -> list[Damaged]:
        """What is known about the outbox and can't be decoded. The parcels are not looked at."""
        marks: list[tuple[bytes, Callable[[bytes], object]]] = [(_INCARNATION, _decode_incarnation)]
        marks += [(key, _decode_trimmed) for key in self._database.keys(TRIMMED_SPACE, end_of(TRIMMED_SPACE))]
        found = []
        for key, decode in marks:
            try:
                if (value := self._database.get(key)) is not None:
                    decode(value)
            except encoding.DecodeError as error:
                found.append(Damaged(key, str(error)))
        return found

    def begins_before(self, receiver: int, /) -> int | None:
        """The index before the first parcel for a receiver; None if there is no parcel."""
        key = next(self._database.keys(parcel_key(receiver, 0), parcel_key(receiver + 1, 0)), None)
        return None if key is None else parcel_of(key)[1] - 1

    def end(self, receiver: int, /) -> int:
        key = self._database.last_key(parcel_key(receiver, self.trimmed(receiver).index), parcel_key(receiver + 1, 0))
        return self.trimmed(receiver).index if key is None else parcel_of(key)[1]

    def parcels(self, receiver: int, first: int, last: int, /, *, max_bytes: int | None = None) -> list[bytes]:
        found: list[bytes] = []
        found_bytes = 0
        for key, value in self._database.items(parcel_key(receiver, first), parcel_key(receiver, last + 1)):
            if parcel_of(key)[1] != first + len(found):
                break
            found.append(value)
            found_bytes += len(value)
            if max_bytes is not None and found_bytes >= max_bytes:
                return found
        if len(found) <= last - first:
            missing = first + len(found)
            raise damage_error(self._database.directory, f"parcel {missing} for part {receiver} is missing")
        return found

    def trim(self, receiver: int, trimmed: Trimmed, /) -> None:
        before = self.trimmed(receiver).index
        batch = self._database.batch()
        for index in range(before + 1, trimmed.index + 1):
            batch.delete(parcel_key(receiver, index))
        batch.put(trimmed_key(receiver), encode_trimmed(trimmed))
        self._database.write(batch)
        self._count_deleted(receiver, trimmed.index, trimmed.index - before)

    def begin(self, incarnation: Incarnation, /) -> None:
        self._database.write_one(_INCARNATION, _encode(incarnation))

    def all_parcels(self) -> Iterator[tuple[int, int, bytes]]:
        """Every parcel: its receiver, its index and its content."""
        for key, value in self._database.items(OUTBOX_SPACE, end_of(OUTBOX_SPACE)):
            yield *parcel_of(key), value

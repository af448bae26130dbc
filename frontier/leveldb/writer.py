"""Commits write batches, each with its number, its queue updates and the counters.

LevelDB drops damaged blocks of its log and goes on with what follows. To notice this, each batch writes its number. The
last `NUMBERS_KEPT` numbers are kept, in slots that are used again: about as many batches as LevelDB has in its logs. If
damage destroys a batch and spares a later one, there is a gap. If only the newest batches are lost, as after a power
cut, there is no gap: the store is as it was a while ago.
"""

import logging
from collections.abc import Collection, Mapping, Sequence
from copy import copy

import msgspec

from frontier.leveldb.database import Batch, Database
from frontier.leveldb.format.keys import (
    BATCHES_SPACE,
    COUNTERS_KEY,
    QUARANTINE_SPACE,
    QUEUES_SPACE,
    SECONDS,
    U16,
    U64,
    end_of,
    group_key,
    position_key,
    queue_key,
    text,
)
from frontier.leveldb.format.queue_records import encode_new_queue, encode_queue
from frontier.records import Counters, QueueUpdate

log = logging.getLogger(__name__)

NUMBERS_KEPT = 1 << 16

_encode = msgspec.msgpack.Encoder().encode


class Writer:
    """Writes to the database of a store, and has its counters as last written."""

    def __init__(self, database: Database, counters: Counters) -> None:
        self.counters = counters
        self._database = database

    def commit(self, batch: Batch, queues: Sequence[QueueUpdate], counters: Counters) -> None:
        """Write a batch together with queue updates and counters."""
        put = batch.put
        for queue in queues:
            record, old, new = queue.record, queue.old_position, queue.record.position
            if queue.is_new and new is not None:
                name = text(record.key)
                put(QUEUES_SPACE + name, encode_new_queue(record, new))
                put(position_key(new), name)
                continue
            put(queue_key(record.key), encode_queue(record))
            if new != old:
                if old is not None:
                    batch.delete(position_key(old))
                if new is not None:
                    put(position_key(new), text(record.key))
            for group, until in queue.group_rests:
                put(group_key(group), SECONDS.pack(until))
        counters.batches += 1
        batch.put(BATCHES_SPACE + U16.pack(counters.batches % NUMBERS_KEPT), U64.pack(counters.batches))
        batch.put(COUNTERS_KEY, _encode(counters))
        self._database.write(batch)
        self.counters = counters

    def quarantine(
        self,
        key: bytes,
        value: bytes,
        error: Exception,
        *,
        counters: Counters | None = None,
        replacement: bytes | None = None,
    ) -> None:
        """Move a record that can't be decoded to a key of its own, where it is kept. It is counted and logged, and
        never a reason to stop. `replacement` takes its place, if given."""
        log.error("a record of %s can't be decoded and is set aside: key %r: %s", self._database.directory, key, error)
        counters = copy(self.counters) if counters is None else counters
        counters.quarantined += 1
        batch = self._database.batch()
        if replacement is None:
            batch.delete(key)
        else:
            batch.put(key, replacement)
        batch.put(QUARANTINE_SPACE + key, value)
        self.commit(batch, [], counters)

    def write_records(
        self,
        puts: Mapping[bytes, bytes],
        deletes: Collection[bytes],
        counters: Counters,
        /,
        *,
        queues: Sequence[QueueUpdate] = (),
    ) -> None:
        """Write and delete encoded records, for repair and rebuild. A key in both is written."""
        batch = self._database.batch()
        for key in deletes:
            if key not in puts:
                batch.delete(key)
        for key, value in puts.items():
            batch.put(key, value)
        self.commit(batch, queues, counters)

    def missing_batches(self) -> int:
        """How many of the last batches are missing."""
        newest = self.counters.batches
        missing = min(newest, NUMBERS_KEPT)
        for _, value in self._database.items(BATCHES_SPACE, end_of(BATCHES_SPACE)):
            number = int.from_bytes(value, "big")
            if number > newest:
                missing += 1  # its counters were newer than the ones that are left
            elif number > newest - NUMBERS_KEPT:
                missing -= 1
        return missing

    def restart_numbers(self) -> None:
        """Number batches from 1 again, after the missing ones have been dealt with."""
        counters, batch = copy(self.counters), self._database.batch()
        for key in self._database.keys(BATCHES_SPACE, end_of(BATCHES_SPACE)):
            batch.delete(key)
        counters.batches = 0
        self.commit(batch, [], counters)

"""Writes records to the targets in batches. Each batch says up to where the sources have been read."""

from collections.abc import Callable, Sequence
from copy import copy
from typing import Final

import msgspec

from frontier.leveldb.format import encoding
from frontier.leveldb.store import LevelDBStore
from frontier.records import Counters

PROGRESS: Final = b"Mregrouped"
_RECORDS_TOGETHER: Final = 2000

_encode = msgspec.msgpack.Encoder().encode


class Progress(msgspec.Struct, frozen=True, array_like=True, order=True, gc=False):
    """Up to where the sources have been read: the number of a step, and the last key that it has read."""

    step: int = 0
    key: bytes = b""


_decode = encoding.decoder(msgspec.msgpack.Decoder(Progress).decode)


class Placed(msgspec.Struct, frozen=True, gc=False):
    """Records that belong to one target."""

    target: int
    records: Sequence[tuple[bytes, bytes]]
    count: Callable[[Counters], Sequence[tuple[bytes, bytes]] | None] | None = None
    """Counts them, and returns further records that depend on the counters."""


class Filling:
    """Fills the targets. All of them have begun with their counters."""

    def __init__(self, stores: Sequence[LevelDBStore]) -> None:
        self._stores = stores
        self._done = [progress_of(store) or Progress() for store in stores]
        self._puts: list[dict[bytes, bytes]] = [{} for _ in stores]
        self._counters = [copy(store.counters) for store in stores]
        self._collected = 0

    @property
    def begin(self) -> Progress:
        """Where reading has to go on. Some of the targets may have more."""
        return min(self._done)

    def put(self, placed: Placed, at: Progress) -> None:
        """Write records that were read there, if their target does not have them."""
        target = placed.target
        if at <= self._done[target]:
            return
        puts = self._puts[target]
        before = len(puts)
        puts.update(placed.records)
        if placed.count is not None:
            puts.update(placed.count(self._counters[target]) or ())
        self._collected += len(puts) - before

    def is_full(self) -> bool:
        return self._collected >= _RECORDS_TOGETHER

    def flush(self, at: Progress) -> None:
        """Write what was collected. Everything up to there has been read."""
        for target, store in enumerate(self._stores):
            if at <= self._done[target]:
                continue
            puts = {**self._puts[target], PROGRESS: _encode(at)}
            store.writer.write_records(puts, (), self._counters[target])
            self._done[target] = at
            self._puts[target] = {}
            self._counters[target] = copy(store.counters)
        self._collected = 0


def progress_of(store: LevelDBStore) -> Progress | None:
    """How much a target has; None if it has nothing yet."""
    value = store.database.get(PROGRESS)
    return None if value is None else _decode(value)


def begin_filling(store: LevelDBStore, counters: Counters) -> None:
    """Let an empty target begin with these counters."""
    store.writer.write_records({PROGRESS: _encode(Progress())}, (), counters)

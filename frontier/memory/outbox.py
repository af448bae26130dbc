"""Parcels for other parts of the crawl, in memory."""

from itertools import accumulate

from frontier.records import Incarnation, Parcel, Trimmed
from frontier.values import StoreFailed


class MemoryOutbox:
    """The `Outbox` of a `MemoryStore`."""

    def __init__(self) -> None:
        self.incarnation: Incarnation | None = None
        self._trimmed: dict[int, Trimmed] = {}
        self._parcels: dict[int, list[bytes]] = {}
        """By receiver; the first one follows the last one that was deleted."""

    def trimmed(self, receiver: int, /) -> Trimmed:
        return self._trimmed.get(receiver, Trimmed())

    def end(self, receiver: int, /) -> int:
        return self.trimmed(receiver).index + len(self._parcels.get(receiver, []))

    def parcels(self, receiver: int, first: int, last: int, /, *, max_bytes: int | None = None) -> list[bytes]:
        base = self.trimmed(receiver).index
        found = self._parcels.get(receiver, [])[first - base - 1 : last - base] if first > base else []
        if len(found) <= last - first:
            raise StoreFailed(f"of the parcels {first} to {last} for part {receiver}, only {len(found)} are there")
        if max_bytes is not None:
            sizes = accumulate(map(len, found))
            return found[: 1 + sum(size < max_bytes for size in sizes)]
        return found

    def trim(self, receiver: int, trimmed: Trimmed, /) -> None:
        del self._parcels.get(receiver, [])[: trimmed.index - self.trimmed(receiver).index]
        self._trimmed[receiver] = trimmed

    def begin(self, incarnation: Incarnation, /) -> None:
        self.incarnation = incarnation

    def append(self, parcel: Parcel) -> None:
        self._parcels.setdefault(parcel.receiver, []).append(parcel.content)

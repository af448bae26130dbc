"""The tables of the reference store, and how they are read."""

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from operator import attrgetter

from frontier.link_table.table import url_digest
from frontier.queues.lifecycle import QueueState
from frontier.queues.queue import Position, QueueRecord
from frontier.records import PendingUrl, PostponedUrl
from frontier.values import Damaged, KnownUrl, LedgerEntry, UrlState

by_order = attrgetter("order")


class MemoryReads:
    """The tables of a `MemoryStore`, and how they are read."""

    def __init__(self) -> None:
        self.pending_by_queue: dict[str, list[PendingUrl]] = {}
        self.postponed: list[PostponedUrl] = []
        self.revisits: list[tuple[int, str]] = []
        """When each visit is due, and the URL, in this order."""
        self.entries: dict[str, LedgerEntry] = {}
        self.links: Counter[bytes] = Counter()
        """The counts of links, by the digests of canonical URLs."""
        self.records: dict[str, QueueRecord] = {}
        self.group_wakes: dict[str, float] = {}
        self.positions: dict[QueueState, list[tuple[int, int, str]]] = {
            QueueState.INACTIVE: [],
            QueueState.SNOOZED: [],
        }

    def pending_urls(self, key: str, /, *, after: int, limit: int) -> list[PendingUrl]:
        found = self.pending_by_queue.get(key, [])
        start = bisect_right(found, after, key=by_order)
        return found[start : start + limit]

    def pending_urls_of_each(self, ranges: Sequence[tuple[str, int]], /, *, limit: int) -> list[list[PendingUrl]]:
        return [self.pending_urls(key, after=after, limit=limit) for key, after in ranges]

    def pending_at(self, places: Sequence[tuple[str, int]], /) -> list[PendingUrl | None]:
        found = [self.pending_urls(key, after=order - 1, limit=1) for key, order in places]
        return [
            urls[0] if urls and urls[0].order == order else None for urls, (_, order) in zip(found, places, strict=True)
        ]

    def due(self, now_ms: int, /, *, limit: int) -> list[PostponedUrl]:
        return [item for item in self.postponed[:limit] if item.due_ms <= now_ms]

    def next_due_ms(self) -> int | None:
        return self.postponed[0].due_ms if self.postponed else None

    def revisits_due(self, now_ms: int, /, *, limit: int) -> list[tuple[int, str]]:
        return [revisit for revisit in self.revisits[:limit] if revisit[0] <= now_ms]

    def next_revisit_ms(self) -> int | None:
        return self.revisits[0][0] if self.revisits else None

    def entry(self, canonical: str, /) -> LedgerEntry | None:
        return self.entries.get(canonical)

    def waiting(self, canonicals: Iterable[str], /) -> list[PendingUrl | PostponedUrl]:
        wanted = set(canonicals)
        pending = (each for urls in self.pending_by_queue.values() for each in urls if each.url.canonical in wanted)
        return [*pending, *(each for each in self.postponed if each.pending.url.canonical in wanted)]

    def link_count(self, canonical: str, /) -> int:
        return self.links[url_digest(canonical)]

    def knows_many(self, canonicals: Sequence[str], /) -> list[bool]:
        return [canonical in self.entries for canonical in canonicals]

    def queue(self, key: str, /) -> QueueRecord | None:
        return self.records.get(key)

    def queues_of(self, keys: Iterable[str], /) -> dict[str, QueueRecord]:
        return {key: self.records[key] for key in keys if key in self.records}

    def queues(self, after: str = "", /) -> Iterator[QueueRecord]:
        yield from sorted((each for each in self.records.values() if each.key > after), key=attrgetter("key"))

    def group_wake_at(self, group: str, /) -> float:
        return self.group_wakes.get(group, 0.0)

    def queues_after(self, position: Position, /, *, limit: int) -> list[tuple[Position, str]]:
        positions = self.positions[position.state]
        start = bisect_left(positions, (position.rank, position.turn + 1, ""))
        found = positions[start : start + limit]
        return [(Position(position.state, rank, turn), key) for rank, turn, key in found]

    def ledger(self) -> Iterator[str]:
        yield from self.entries

    # the ledger

    def known(self, canonical: str, /) -> KnownUrl | None:
        return next(self._known([canonical]), None)

    def all_known(self, after: str = "", /) -> Iterator[KnownUrl | Damaged]:
        return self._known(sorted(canonical for canonical in self.entries if canonical > after))

    def _known(self, canonicals: Sequence[str]) -> Iterator[KnownUrl]:
        waiting = {each.url.canonical: each.url for urls in self.pending_by_queue.values() for each in urls}
        due_at = {each.pending.url.canonical: each.due_ms / 1000 for each in self.postponed}
        waiting |= {each.pending.url.canonical: each.pending.url for each in self.postponed}
        for canonical in canonicals:
            entry = self.entries.get(canonical)
            if entry is not None:
                is_pending = entry.state is UrlState.PENDING
                yield KnownUrl(
                    entry=entry,
                    waiting=waiting.get(canonical) if is_pending else None,
                    due_at=due_at.get(canonical) if is_pending else None,
                )

"""Checks that the parts of a store agree: reads everything and verifies every invariant that the transitions keep."""

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TypeVar

from frontier.descriptor import Problem, Report
from frontier.leveldb.format.encoding import DecodeError, Location
from frontier.leveldb.format.keys import LEDGER_SPACE, PENDING_SPACE, revisit_key, untext
from frontier.leveldb.store import LevelDBStore
from frontier.parts.protocol import lineage_of
from frontier.queues.lifecycle import QueueState
from frontier.queues.queue import Position, QueueRecord
from frontier.records import ORDINAL_MASK, Counters, PendingUrl
from frontier.transitions.accounting import count_queue
from frontier.upkeep.part_checks import Owner, check_links
from frontier.values import Damaged, UrlState, number_of

_Record = TypeVar("_Record")


def fsck(store: LevelDBStore, *, owner: Owner | None = None) -> Report:
    """Check a store that nobody writes to. Reads all of it; memory grows with the queues, not with the URLs. `owner`
    gives the part of the crawl that a queue belongs to, by its key.

    Quarantined records are not problems, and neither is what is missing because of them.
    """
    check = _Check(store)
    check.pending_urls()
    check.postponed_urls()
    check.entries()
    check.queues()
    check.counters()
    check.numbers()
    check.journal()
    check.losses()
    check.problems.extend(check_links(store, owner))
    return Report(
        urls=sum(check.states.values()),
        pending=check.pending_count,
        retrying=check.retrying_count,
        queues=check.queue_count,
        quarantined=store.counters.quarantined,
        problems=check.problems,
    )


class QueuedUrls:
    """The URLs that wait in the queues, by queue key."""

    def __init__(self) -> None:
        self.sizes: Counter[str] = Counter()
        self.first_orders: dict[str, int] = {}
        """The lowest order of each queue's URLs."""

    def add(self, pending: PendingUrl) -> None:
        key = pending.url.queue_key
        self.sizes[key] += 1
        self.first_orders[key] = min(pending.order, self.first_orders.get(key, pending.order))


class _Quarantine:
    """The quarantined records, and what is missing because of them."""

    def __init__(self, keys: Iterable[bytes]) -> None:
        self.pending: Counter[str] = Counter()
        """The number of quarantined pending URLs, by queue key."""
        self.ledger: set[str] = set()
        """Canonical URLs."""
        self.count = 0
        for key in keys:
            self.count += 1
            if key.startswith(PENDING_SPACE):
                self.pending[untext(key[1:-9])] += 1
            elif key.startswith(LEDGER_SPACE):
                self.ledger.add(untext(key[1:]))


class _Check:
    """Collects the problems of one store. Later checks use what earlier ones have counted."""

    def __init__(self, store: LevelDBStore) -> None:
        self._store = store
        self._scan = store.full_scan
        self._quarantine = _Quarantine(self._scan.quarantined_keys())
        self._highest = Counters(next_number=0, next_ordinal=0, next_turn=0)
        """The highest numbers that were found in use."""
        self._counted = Counters()
        """The counts of queues, as found."""
        self._queued = QueuedUrls()
        self.problems: list[Problem] = []
        self.states: Counter[UrlState] = Counter()
        self.pending_count = self.retrying_count = self.queue_count = 0

    def pending_urls(self) -> None:
        for pending in self._decode(self._scan.pending_urls()):
            self.pending_count += 1
            self._queued.add(pending)
            self._check_location(pending, None)

    def postponed_urls(self) -> None:
        for postponed in self._decode(self._scan.postponed_urls()):
            self.retrying_count += 1
            self._check_location(postponed.pending, postponed.due_ms)

    def _check_location(self, pending: PendingUrl, due_ms: int | None) -> None:
        """Check that the ledger knows where a URL waits."""
        highest, url = self._highest, pending.url
        self._note_number(pending.number)
        highest.next_ordinal = max(highest.next_ordinal, pending.order & ORDINAL_MASK)
        expected = Location(pending.number, url.queue_key, pending.order, due_ms)
        try:
            location = self._scan.location(url.canonical)
        except DecodeError:
            return  # `entries` reports it
        if location != expected and url.canonical not in self._quarantine.ledger:
            self._report("ledger", url.canonical, f"waits as {expected}, but the ledger says {location}")

    def entries(self) -> None:
        for entry, location in self._decode(self._scan.entries()):
            self.states[entry.state] += 1
            self._note_number(entry.number)
            if location is not None and not self._scan.has(location):
                self._report(
                    "lost", entry.canonical, f"the ledger has it in queue {location.queue_key}, but it is not there"
                )
            if entry.due_ms is None or not self._store.marks.revisits_planned:
                continue
            if self._store.database.get(revisit_key(entry.due_ms, entry.canonical)) is None:
                message = "the ledger says when its next visit is due, but that is not planned"
                self._report("visit", entry.canonical, message)

    def _note_number(self, number: int) -> None:
        # Numbers of other lineages are of no interest: they will not be given again here.
        if lineage_of(number) == lineage_of(self._store.counters.next_number):
            self._highest.next_number = max(self._highest.next_number, number)

    def queues(self) -> None:
        positions = self._positions()
        sizes = self._queued.sizes.copy()
        for record in self._store.reads.queues():
            self.queue_count += 1
            count_queue(self._counted, record)
            self._check_queue(record, sizes.pop(record.key, 0), positions.pop(record.key, None))
        for key, found in sizes.items():
            self._report("queue", key, f"it has {number_of(found, 'URL')} and no record")
        for key in positions:
            self._report("queue", key, "it has a position and no record")

    def _positions(self) -> dict[str, Position]:
        """The position of each queue."""
        positions: dict[str, Position] = {}
        for position, key in self._scan.positions():
            self._highest.next_turn = max(self._highest.next_turn, position.turn)
            if key in positions:
                self._report("queue", key, "it has two positions")
            positions[key] = position
        return positions

    def _check_queue(self, record: QueueRecord, found: int, position: Position | None) -> None:
        key = record.key
        # The size counts a quarantined URL until the queue is drained.
        if not found <= record.size <= found + self._quarantine.pending[key]:
            self._report("queue", key, f"its record counts {number_of(record.size, 'URL')}, but it has {found}")
        if record.position != position:
            self._report("queue", key, f"its record says position {record.position}, but it is at {position}")
        first = self._queued.first_orders.get(key)
        if first is not None and first <= record.drained_to:
            self._report("queue", key, f"its record says it is drained to {record.drained_to}, but it has {first}")
        if position is not None and position.state is QueueState.INACTIVE and position.rank != record.precedence:
            self._report("queue", key, f"its precedence is {record.precedence}, but its position is at {position.rank}")
        if record.size == 0 and record.position is not None:
            self._report("queue", key, "it has no URL, but it has a position")

    def counters(self) -> None:
        counters, counted, states = self._store.counters, self._counted, self.states
        # We cannot know what had become of a URL whose ledger entry was quarantined.
        unknown = len(self._quarantine.ledger)
        for name, count, found, surplus in (
            ("admitted", counters.admitted, sum(states.values()), 0),
            ("done", counters.done, states[UrlState.DONE], unknown),
            ("failed", counters.failed, states[UrlState.FAILED], unknown),
            ("excluded", counters.excluded, states[UrlState.EXCLUDED], unknown),
            ("retrying", counters.retrying, self.retrying_count, 0),
            ("pending", counters.pending, counted.pending, 0),
            ("queues", counters.queues, counted.queues, 0),
            ("retired URLs", counters.retired_urls, counted.retired_urls, 0),
            ("retired queues", counters.retired_queues, counted.retired_queues, 0),
            ("troubled queues", counters.troubled_queues, counted.troubled_queues, 0),
        ):
            if not found <= count <= found + surplus:
                self._report("counter", name, f"the counter says {count}, but there are {found}")

    def numbers(self) -> None:
        counters, highest = self._store.counters, self._highest
        for name, following, found in (
            ("number", counters.next_number, highest.next_number),
            ("ordinal", counters.next_ordinal, highest.next_ordinal),
            ("turn", counters.next_turn, highest.next_turn),
        ):
            if following <= found:
                self._report("counter", name, f"the next {name} is {following}, but {found} is in use")
        if counters.quarantined < self._quarantine.count:
            message = f"the counter says {counters.quarantined}, but there are {self._quarantine.count}"
            self._report("counter", "set aside", message)

    def journal(self) -> None:
        snapshot_at, end = self._store.journal.snapshot_at, self._store.counters.journal_end
        expected = (snapshot_at or 0) + 1
        forgotten: set[str] = set()
        unknown: list[str] = []
        problems_before = len(self.problems)
        for number, entry in self._decode(self._scan.journal()):
            if number < expected:
                continue  # the snapshot includes it; a crash kept it from being deleted
            if number != expected:
                self._report("journal", str(expected), f"entry {expected} is missing, {number} follows")
            expected = number + 1
            forgotten.update(entry.forgotten)
            known = self._store.reads.knows_many(entry.admitted)
            unknown += [url for url, is_known in zip(entry.admitted, known, strict=True) if not is_known]
        if snapshot_at is None and expected == 1 and len(self.problems) == problems_before:
            return  # the visited set will be rebuilt from the ledger
        if expected != end + 1:
            self._report("journal", str(expected), f"it ends before {end}")
        for url in unknown:
            if url not in forgotten:
                self._report("journal", url, "it was admitted, but the ledger does not have it")

    def losses(self) -> None:
        if missing := self._store.writer.missing_batches():
            self._report("batches", str(missing), "this many of the last changes are missing, but later ones are there")
        if lost := self._store.counters.lost:
            self._report("missing", str(lost), "this many admitted URLs were destroyed by damage without a trace")

    def _report(self, kind: str, where: str, message: str) -> None:
        self.problems.append(Problem(kind, where, message))

    def _decode(self, records: Iterable[_Record | Damaged]) -> Iterator[_Record]:
        """The records that can be decoded. Reports the others."""
        for record in records:
            if isinstance(record, Damaged):
                self._report("damaged", repr(record.key), f"it can't be decoded: {record.message}")
            else:
                yield record

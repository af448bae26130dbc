"""Checks that the parts of a store agree: every invariant that a transition keeps, verified by reading everything."""

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Protocol, TypeVar

import msgspec

from frontier.leveldb.encoding import DecodeError, Place
from frontier.leveldb.full_scan import FullScan
from frontier.queues.lifecycle import QueueState, Standing
from frontier.snapshots import Snapshots, replay
from frontier.store import (
    ORDINAL_BITS,
    Counters,
    Damaged,
    JournalDamaged,
    JournalEntry,
    QueueRecord,
    Waiting,
)
from frontier.transitions.accounting import count
from frontier.values import UrlState
from visited import CannotForget, SnapshotRefused, VisitedSet

_Record = TypeVar("_Record")

BATCH = 4096


class Problem(msgspec.Struct, frozen=True):
    """One thing that does not agree with another."""

    kind: str
    where: str
    message: str


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """What was read, and what is wrong."""

    urls: int
    pending: int
    retrying: int
    queues: int
    quarantined: int
    problems: list[Problem]


class Checkable(Protocol):
    """What a store offers to be checked."""

    @property
    def counters(self) -> Counters: ...

    @property
    def contents(self) -> FullScan: ...

    def queues(self) -> Iterator[QueueRecord]: ...

    def standing(self, state: QueueState, /, *, after: Standing, limit: int) -> list[tuple[Standing, str]]: ...

    def knows_many(self, canonicals: list[str], /) -> list[bool]: ...

    def missing_batches(self) -> int: ...

    @property
    def snapshot_at(self) -> int | None: ...


class _SetAside:
    """The records set aside, by what their lack explains."""

    def __init__(self, keys: Iterable[bytes]) -> None:
        self.waiting: Counter[str] = Counter()
        self.ledger: set[str] = set()
        self.count = 0
        for key in keys:
            self.count += 1
            if key.startswith(b"P"):
                self.waiting[key[1:-9].decode("utf-8", "surrogatepass")] += 1
            elif key.startswith(b"L"):
                self.ledger.add(key[1:].decode("utf-8", "surrogatepass"))


def fsck(store: Checkable) -> Report:
    """Check a store that nobody writes to. Reads all of it; memory grows with the queues, not with the URLs.

    Records set aside are not problems, and what is lacking because of them is none either.
    """
    problems: list[Problem] = []
    aside = _SetAside(store.contents.set_aside())
    highest = Counters(next_number=0, next_ordinal=0, next_turn=0, quarantined=aside.count)
    sizes: Counter[str] = Counter()
    first: dict[str, int] = {}
    for waiting in _decoded(store.contents.all_waiting(), problems):
        key = waiting.url.queue_key
        sizes[key] += 1
        first[key] = min(waiting.order, first.get(key, waiting.order))
        _note_numbers(highest, waiting)
        problems += _check_place(store, waiting, None, aside)
    retrying = 0
    for postponed in _decoded(store.contents.all_postponed(), problems):
        retrying += 1
        _note_numbers(highest, postponed.waiting)
        problems += _check_place(store, postponed.waiting, postponed.due_ms, aside)
    states: Counter[UrlState] = Counter()
    for entry, place in _decoded(store.contents.all_entries(), problems):
        states[entry.state] += 1
        highest.next_number = max(highest.next_number, entry.number)
        if place is not None and not store.contents.has(place):
            problems.append(
                Problem("lost", entry.canonical, f"the ledger has it in queue {place.queue_key}, where it is not")
            )
    pending = sum(sizes.values())
    stand = dict(_standing(store, problems))
    counted = Counters()
    queues = 0
    for record in store.queues():
        queues += 1
        count(counted, record.size, record.health, served=record.stands is not None)
        stands = stand.pop(record.key, None)
        if stands is not None:
            highest.next_turn = max(highest.next_turn, stands.turn)
        problems += _check_queue(record, sizes.pop(record.key, 0), first.get(record.key), aside, stands)
    for key, found in sizes.items():
        problems.append(Problem("queue", key, f"it holds {found} URLs and has no record"))
    for key in stand:
        problems.append(Problem("queue", key, "it stands in a line and has no record"))
    problems += _check_counters(store.counters, counted, states, retrying, aside)
    problems += _check_numbers(store.counters, highest)
    problems += _check_journal(store)
    if missing := store.missing_batches():
        problems.append(
            Problem("batches", str(missing), "so many of the last changes are missing, and later ones are not")
        )
    if lost := store.counters.lost:
        problems.append(
            Problem("missing", str(lost), "so many URLs were admitted, and damage has left nothing of them")
        )
    return Report(
        urls=sum(states.values()),
        pending=pending,
        retrying=retrying,
        queues=queues,
        quarantined=store.counters.quarantined,
        problems=problems,
    )


def _decoded(records: Iterable[_Record | Damaged], problems: list[Problem]) -> Iterator[_Record]:
    for record in records:
        if isinstance(record, Damaged):
            problems.append(Problem("damaged", repr(record.key), f"it can't be decoded: {record.message}"))
        else:
            yield record


def _check_place(store: Checkable, waiting: Waiting, due_ms: int | None, aside: _SetAside) -> Iterator[Problem]:
    url = waiting.url
    expected = Place(waiting.number, url.queue_key, waiting.order, due_ms)
    try:
        place = store.contents.place(url.canonical)
    except DecodeError:
        return  # told when the ledger is read
    if place != expected and url.canonical not in aside.ledger:
        yield Problem("ledger", url.canonical, f"waits as {expected}, but the ledger says {place}")


def _standing(store: Checkable, problems: list[Problem]) -> Iterator[tuple[str, Standing]]:
    """Each queue that stands in a line, with its place; told where it stands in two."""
    met: set[str] = set()
    for state in (QueueState.INACTIVE, QueueState.SNOOZED):
        after = Standing(state, 0, 0)
        while found := store.standing(state, after=after, limit=BATCH):
            after = found[-1][0]
            for stands, key in found:
                if key in met:
                    problems.append(Problem("queue", key, "it stands in a line twice"))
                met.add(key)
                yield key, stands


def _note_numbers(highest: Counters, waiting: Waiting) -> None:
    highest.next_number = max(highest.next_number, waiting.number)
    highest.next_ordinal = max(highest.next_ordinal, waiting.order & ((1 << ORDINAL_BITS) - 1))


def _check_queue(
    record: QueueRecord, found: int, first: int | None, aside: _SetAside, stands: Standing | None
) -> Iterator[Problem]:
    # A URL that was set aside is counted until its queue comes to its end.
    if not found <= record.size <= found + aside.waiting[record.key]:
        yield Problem("queue", record.key, f"its record counts {record.size} URLs, it holds {found}")
    if record.stands != stands:
        yield Problem("queue", record.key, f"by its record it stands at {record.stands}, in the lines at {stands}")
    if first is not None and first <= record.head:
        yield Problem("queue", record.key, f"it is served from behind {record.head}, and a URL stands at {first}")
    if stands is not None and stands.state is QueueState.INACTIVE and stands.at != record.precedence:
        yield Problem(
            "queue", record.key, f"its precedence is {record.precedence}, it stands among those of {stands.at}"
        )
    if record.size == 0 and record.stands is not None:
        yield Problem("queue", record.key, "it has no URL and stands in a line")


def _check_counters(
    counters: Counters, queues: Counters, states: Counter[UrlState], retrying: int, aside: _SetAside
) -> Iterator[Problem]:
    for name, counted, found, surplus in (
        ("admitted", counters.admitted, sum(states.values()), 0),
        # Nobody knows what had become of a URL whose entry was set aside.
        ("done", counters.done, states[UrlState.DONE], len(aside.ledger)),
        ("failed", counters.failed, states[UrlState.FAILED], len(aside.ledger)),
        ("excluded", counters.excluded, states[UrlState.EXCLUDED], len(aside.ledger)),
        ("retrying", counters.retrying, retrying, 0),
        ("pending", counters.pending, queues.pending, 0),
        ("queues", counters.queues, queues.queues, 0),
        ("retired URLs", counters.retired_urls, queues.retired_urls, 0),
        ("retired queues", counters.retired_queues, queues.retired_queues, 0),
        ("troubled queues", counters.troubled_queues, queues.troubled_queues, 0),
    ):
        if not found <= counted <= found + surplus:
            yield Problem("counter", name, f"the counter says {counted}, there are {found}")


def _check_numbers(counters: Counters, highest: Counters) -> Iterator[Problem]:
    for name, following, found in (
        ("number", counters.next_number, highest.next_number),
        ("ordinal", counters.next_ordinal, highest.next_ordinal),
        ("turn", counters.next_turn, highest.next_turn),
    ):
        if following <= found:
            yield Problem("counter", name, f"the next {name} to be given is {following}, and {found} has been given")
    if counters.quarantined < highest.quarantined:
        yield Problem(
            "counter", "set aside", f"the counter says {counters.quarantined}, there are {highest.quarantined}"
        )


def _check_journal(store: Checkable) -> Iterator[Problem]:
    expected = (store.snapshot_at or 0) + 1
    forgotten: set[str] = set()
    unknown: list[str] = []
    problems: list[Problem] = []
    for number, entry in _decoded(store.contents.journal_numbers(), problems):
        if number < expected:
            continue  # the snapshot includes it, and a crash kept it from being dropped
        if number != expected:
            yield Problem("journal", str(expected), f"entry {expected} is missing, {number} follows")
        expected = number + 1
        forgotten.update(entry.forgotten)
        known = store.knows_many(entry.admitted)
        unknown += [url for url, is_known in zip(entry.admitted, known, strict=True) if not is_known]
    yield from problems
    if store.snapshot_at is None and expected == 1 and not problems:
        return  # the visited set is to be rebuilt from the ledger
    if expected != store.counters.journal_end + 1:
        yield Problem("journal", str(expected), f"it ends before {store.counters.journal_end}")
    for url in unknown:
        if url not in forgotten:
            yield Problem("journal", url, "it was admitted, but the ledger does not have it")


async def fsck_visited(
    store: Checkable,
    visited: VisitedSet,
    snapshots: Snapshots,
    *,
    ledger: Iterable[str],
    journal: Iterable[JournalEntry],
) -> list[Problem]:
    """Check that an empty visited set, filled from snapshot and journal as an opening would, knows the whole ledger."""
    try:
        await replay(store.snapshot_at, journal, visited, snapshots)
    except (SnapshotRefused, OSError, JournalDamaged, CannotForget) as error:
        return [Problem("snapshot", str(store.snapshot_at), f"it will be rebuilt from the ledger: {error}")]
    problems: list[Problem] = []
    batch: list[str] = []
    for canonical in ledger:
        batch.append(canonical)
        if len(batch) == BATCH:
            problems += await _unknown(visited, batch)
            batch = []
    return problems + await _unknown(visited, batch)


async def _unknown(visited: VisitedSet, batch: list[str]) -> list[Problem]:
    verdicts = await visited.add_many(batch)
    return [
        Problem("visited", canonical, "the ledger has it, the visited set does not")
        for canonical, new in zip(batch, verdicts, strict=True)
        if new
    ]

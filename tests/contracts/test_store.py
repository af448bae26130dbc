"""What every store of the frontier promises; that it is atomic is shown where it can be torn."""

from collections.abc import Iterator
from copy import copy
from pathlib import Path

import msgspec
import pytest

from crawler.testing.frontier.crawls import page
from frontier import LedgerEntry, Place, StoreFailed, UrlState
from frontier.memory.store import MemoryStore
from frontier.queues.queue import QueueRecord
from frontier.records import InboxPosition, Parcel, PendingUrl, PostponedUrl, QueueUpdate, Transit, Trimmed, order_of
from frontier.store import Store
from frontier.values import Health
from tests.unit.frontier.crawls import leveldb


@pytest.fixture(params=["memory", "leveldb"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    made: Store = MemoryStore() if request.param == "memory" else leveldb(tmp_path)
    yield made
    made.close()


def waiting(host: str, number: int, *, precedence: int = 128) -> PendingUrl:
    url = page(host, f"{number}", precedence=precedence, via="http://seed.test/")
    return PendingUrl(url=url, number=number, order=order_of(precedence, number), found_at=1000 + number)


def record(host: str, size: int, *, wake_at: float = 0.0, error_streak: int = 0) -> QueueRecord:
    return QueueRecord(key=f"test,{host}", size=size, wake_at=wake_at, health=Health(error_streak=error_streak))


def update(host: str, size: int, *, wake_at: float = 0.0, error_streak: int = 0) -> QueueUpdate:
    return QueueUpdate(record(host, size, wake_at=wake_at, error_streak=error_streak), None)


def admit(store: Store, *admitted: PendingUrl, superseded: tuple[PendingUrl, ...] = ()) -> None:
    counters = copy(store.counters)
    counters.admitted += len(admitted)
    store.admit(admitted, superseded, [], counters)


def numbers(store: Store, host: str, *, after: int = -1, limit: int = 100) -> list[int]:
    return [found.number for found in store.reads.pending_urls(f"test,{host}", after=after, limit=limit)]


def test_a_queue_is_read_in_order_from_any_place_and_holds_no_url_of_another(store: Store) -> None:
    admit(store, waiting("a", 3), waiting("a", 1), waiting("a", 2, precedence=0), waiting("a", 4, precedence=255))
    admit(store, waiting("a.b", 5), waiting("a,b", 6), waiting("", 7), waiting("a\x01", 8), waiting("ä", 9))
    assert numbers(store, "a") == [2, 1, 3, 4]
    assert numbers(store, "a", limit=2) == [2, 1]
    assert numbers(store, "a", after=order_of(128, 1)) == [3, 4]
    assert numbers(store, "a", after=order_of(255, 4)) == []
    for host, number in (("a.b", 5), ("a,b", 6), ("", 7), ("a\x01", 8), ("ä", 9)):
        assert numbers(store, host) == [number]
    assert store.reads.pending_urls("test,a", after=-1, limit=1) == [waiting("a", 2, precedence=0)]


def test_the_first_urls_of_several_queues_are_those_of_each(store: Store) -> None:
    admit(store, *(waiting(host, number) for number, host in enumerate(["b", "a", "a.b", "a", "", "a", "b"])))
    places = [("test,b", -1), ("test,a", order_of(128, 1)), ("test,none", -1), ("test,", -1), ("test,a.b", -1)]
    for limit in (1, 2, 9):
        assert store.reads.pending_urls_of_each(places, limit=limit) == [
            store.reads.pending_urls(key, after=after, limit=limit) for key, after in places
        ]
    assert store.reads.pending_urls_of_each([], limit=3) == []
    assert store.reads.pending_at([("test,b", order_of(128, 6)), ("test,a", order_of(128, 2)), ("test,none", 1)]) == [
        waiting("b", 6),
        None,
        None,
    ]


def test_the_records_of_several_queues_are_those_that_are_stored(store: Store) -> None:
    store.update_queues([update("a", 1, wake_at=12.5), update("b", 2)], copy(store.counters))
    found = store.reads.queues_of(["test,b", "test,none", "test,a"])
    assert list(found.items()) == [("test,b", record("b", 2)), ("test,a", record("a", 1, wake_at=12.5))]


def test_what_is_settled_leaves_its_queue_and_stands_in_the_ledger(store: Store) -> None:
    first, second = waiting("a", 1), waiting("a", 2)
    admit(store, first, second)
    entry = LedgerEntry(canonical=first.url.canonical, state=UrlState.DONE, number=1, found_at=1001, status=200)
    counters = copy(store.counters)
    counters.done += 1
    store.settle(first, entry, update("a", 1, wake_at=12.5, error_streak=3), counters)
    assert numbers(store, "a") == [2]
    assert store.reads.entry(first.url.canonical) == entry
    assert store.reads.queue("test,a") == record("a", 1, wake_at=12.5, error_streak=3)
    assert list(store.reads.queues()) == [record("a", 1, wake_at=12.5, error_streak=3)]
    assert store.reads.queue("test,b") is None
    assert (store.counters.admitted, store.counters.done) == (2, 1)


def test_visits_come_due_in_order_and_no_more_than_asked_for(store: Store) -> None:
    all_ = [waiting("a", number) for number in range(1, 5)]
    admit(store, *all_)
    names = [item.url.canonical for item in all_]
    for item, due_ms in zip(all_, (500, 100, 300, None), strict=True):
        entry = LedgerEntry(
            canonical=item.url.canonical,
            state=UrlState.DONE,
            number=item.number,
            found_at=1,
            interval_s=7,
            due_ms=due_ms,
        )
        store.settle(item, entry, update("a", 0), store.counters)
        assert store.reads.entry(item.url.canonical) == entry
    assert (store.reads.next_revisit_ms(), store.reads.revisits_due(99, limit=9)) == (100, [])
    assert store.reads.revisits_due(500, limit=9) == [(100, names[1]), (300, names[2]), (500, names[0])]
    assert store.reads.revisits_due(500, limit=1) == [(100, names[1])]
    store.drop_revisits([(100, names[1]), (300, names[2])])
    late = LedgerEntry(canonical=names[3], state=UrlState.DONE, number=4, found_at=1, due_ms=900)
    for _ in range(2):
        store.plan_revisits([late])
    assert store.reads.entry(names[3]) == late
    found = store.reads.revisits_due(999, limit=9)
    assert found == [(500, names[0]), (900, names[3])]
    # The clock was set back before the others are dropped.
    early = LedgerEntry(canonical=names[1], state=UrlState.DONE, number=2, found_at=1, due_ms=50)
    store.plan_revisits([early])
    store.drop_revisits(found)
    assert (store.reads.next_revisit_ms(), store.reads.revisits_due(999, limit=9)) == (50, [(50, names[1])])
    store.drop_revisits([(50, names[1])])
    assert (store.reads.next_revisit_ms(), store.reads.revisits_due(999, limit=9)) == (None, [])
    imported = LedgerEntry(canonical="http://a.test/elsewhere", state=UrlState.DONE, number=9, found_at=1, due_ms=40)
    store.record([imported], copy(store.counters))
    assert (store.reads.next_revisit_ms(), store.reads.revisits_due(40, limit=9)) == (40, [(40, imported.canonical)])
    planned = [store.marks.revisits_planned]
    store.marks.set_revisits_planned(True)
    assert [*planned, store.marks.revisits_planned] == [False, True]


def test_counters_are_the_callers_until_a_transition_takes_them(store: Store) -> None:
    counters = copy(store.counters)
    counters.admitted = 77
    assert store.counters.admitted == 0
    store.update_queues([update("a", 0, wake_at=9.0)], store.counters)
    assert store.counters.admitted == 0
    assert store.reads.queue("test,a") == record("a", 0, wake_at=9.0)


def test_postponed_urls_come_due_in_order_and_no_more_than_asked_for(store: Store) -> None:
    all_ = [waiting("a", number) for number in range(1, 6)]
    admit(store, *all_)
    assert store.reads.next_due_ms() is None
    for item, due_ms in zip(all_, (500, 100, 300, 300, 900), strict=True):
        store.postpone(item, PostponedUrl(pending=item, due_ms=due_ms, reason="503"), update("a", 0), store.counters)
    assert numbers(store, "a") == []
    assert store.reads.next_due_ms() == 100
    assert store.reads.due(99, limit=9) == []
    assert [found.pending.number for found in store.reads.due(500, limit=9)] == [2, 3, 4, 1]
    entry = store.reads.entry(all_[0].url.canonical)
    assert entry is not None
    assert (entry.state, entry.reason, entry.via) == (UrlState.PENDING, "503", "http://seed.test/")
    due = store.reads.due(500, limit=3)
    assert [found.pending.number for found in due] == [2, 3, 4]
    moved = [
        PostponedUrl(pending=msgspec.structs.replace(found.pending, order=order_of(128, 10 + at)), due_ms=found.due_ms)
        for at, found in enumerate(due)
    ]
    store.requeue(moved, [update("a", 3)], store.counters)
    assert numbers(store, "a") == [2, 3, 4]
    assert store.reads.next_due_ms() == 500
    entry = store.reads.entry(all_[1].url.canonical)
    assert entry is not None
    assert (entry.state, entry.number, entry.reason) == (UrlState.PENDING, 2, None)
    # The clock was set back: the next retry is due before those that are gone.
    early = msgspec.structs.replace(all_[1], order=order_of(128, 10))
    store.postpone(early, PostponedUrl(pending=early, due_ms=50, reason="503"), update("a", 2), store.counters)
    assert (store.reads.next_due_ms(), len(store.reads.due(999, limit=9))) == (50, 3)


def test_what_waits_of_urls_is_read_and_written_again_in_its_place(store: Store) -> None:
    later, leaving, *rest = (waiting(host, number) for number, host in enumerate("aabc", start=1))
    admit(store, later, leaving, *rest)
    postponed = PostponedUrl(pending=later, due_ms=500, reason="503")
    store.postpone(later, postponed, update("a", 1), store.counters)
    gone = LedgerEntry(canonical=leaving.url.canonical, state=UrlState.DONE, number=2, found_at=1002, status=200)
    store.settle(leaving, gone, update("a", 0), store.counters)
    wanted = [each.url.canonical for each in (later, leaving, rest[1], waiting("a", 9))]
    assert sorted(store.reads.waiting(wanted), key=lambda each: type(each).__name__) == [rest[1], postponed]
    assert store.reads.waiting([]) == []
    urls = [msgspec.structs.replace(each.url, had_etag='"1"') for each in (later, rest[1])]
    changed: list[PendingUrl | PostponedUrl] = [
        msgspec.structs.replace(postponed, pending=msgspec.structs.replace(later, url=urls[0])),
        msgspec.structs.replace(rest[1], url=urls[1]),
    ]
    store.rewrite(changed, [], store.counters)
    assert store.reads.due(500, limit=9) == changed[:1]
    assert [store.reads.pending_urls(f"test,{host}", after=-1, limit=9) for host in "abc"] == [
        [],
        rest[:1],
        changed[1:],
    ]


def test_a_superseded_url_leaves_its_queue_and_the_ledger_names_the_newer(store: Store) -> None:
    first = waiting("a", 1)
    admit(store, first)
    newer = msgspec.structs.replace(first, number=2, order=order_of(128, 2))
    admit(store, newer, superseded=(first,))
    assert numbers(store, "a") == [2]
    entry = store.reads.entry(first.url.canonical)
    assert entry is not None
    assert entry.number == 2


def test_the_ledger_lists_what_was_admitted_and_not_forgotten(store: Store) -> None:
    all_ = [waiting("a", number) for number in range(1, 5)]
    admit(store, *all_)
    names = [item.url.canonical for item in all_]
    settled = [
        LedgerEntry(canonical=item.url.canonical, state=UrlState.DONE, number=item.number, found_at=1, due_ms=due_ms)
        for item, due_ms in zip(all_[:2], (None, 700), strict=True)
    ]
    for item, entry in zip(all_[:2], settled, strict=True):
        store.settle(item, entry, update("a", 0), store.counters)
    assert store.reads.next_revisit_ms() == 700
    store.forget(settled, copy(store.counters))
    assert store.reads.next_revisit_ms() is None
    assert sorted(store.reads.ledger()) == names[2:]
    assert store.reads.knows_many([*names, "http://a.test/5"]) == [False, False, True, True, False]
    assert store.reads.entry(names[0]) is None


def parcel(receiver: int, index: int) -> Parcel:
    return Parcel(receiver=receiver, index=index, content=f"{receiver}-{index}".encode() * 8)


def send(store: Store, *parcels: Parcel, position: InboxPosition | None = None) -> None:
    store.admit([], [], [], copy(store.counters), transit=Transit(parcels=parcels, position=position))


def test_parcels_are_read_in_order_for_each_receiver_from_behind_the_deleted_ones(store: Store) -> None:
    assert (store.outbox.end(1), store.outbox.trimmed(1)) == (0, Trimmed())
    send(store, parcel(1, 1), parcel(2, 1), parcel(1, 2))
    send(store, parcel(1, 3), parcel(300, 1))
    assert [store.outbox.end(receiver) for receiver in (0, 1, 2, 300)] == [0, 3, 1, 1]
    assert store.outbox.parcels(1, 1, 3) == [parcel(1, index).content for index in (1, 2, 3)]
    assert store.outbox.parcels(1, 2, 2) == [parcel(1, 2).content]
    store.outbox.trim(1, Trimmed(2, Place(77, 2)))
    assert (store.outbox.end(1), store.outbox.trimmed(1)) == (3, Trimmed(2, Place(77, 2)))
    assert store.outbox.parcels(1, 3, 3) == [parcel(1, 3).content]
    store.outbox.trim(1, Trimmed(3, Place(77, 3)))
    assert (store.outbox.end(1), store.outbox.end(2)) == (3, 1)
    send(store, parcel(1, 4))
    assert store.outbox.parcels(1, 4, 4) == [parcel(1, 4).content]
    send(store, parcel(2, 2), parcel(2, 3))
    size = len(parcel(2, 1).content)
    assert [len(store.outbox.parcels(2, 1, 3, max_bytes=most)) for most in (1, size, size + 1, 9 * size)] == [
        1,
        1,
        2,
        3,
    ]
    for first, last in ((3, 4), (4, 5), (5, 5)):
        with pytest.raises(StoreFailed):
            store.outbox.parcels(1, first, last)


def test_positions_are_kept_for_each_incarnation_of_each_sender(store: Store) -> None:
    assert store.positions() == {}
    highest = (1 << 64) - 1
    for sender, incarnation, sequence in ((1, 5, 1), (1, 5, 2), (1, highest, 9), (2, 5, 3)):
        send(store, position=InboxPosition(sender=sender, place=Place(incarnation, sequence)))
    assert store.positions() == {(1, 5): 2, (1, highest): 9, (2, 5): 3}


def test_links_to_other_parts_change_nothing_for_the_queues(store: Store) -> None:
    admit(store, waiting("a", 1))
    ended, batches = store.counters.journal_end, store.counters.batches
    send(store, parcel(1, 1), position=InboxPosition(sender=2, place=Place(5, 1)))
    assert numbers(store, "a") == [1]
    assert (store.counters.journal_end, store.counters.batches) == (ended, batches + 1)

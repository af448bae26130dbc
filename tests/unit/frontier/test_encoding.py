"""What is written down reads back as it was; what is not what it should be is told apart."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from frontier import CrawlUrl, LastVisit, LedgerEntry, UrlState
from frontier.leveldb.format import encoding
from frontier.leveldb.format.encoding import DecodeError, Location
from frontier.leveldb.format.queue_records import decode_queue, encode_new_queue, encode_queue
from frontier.queues.lifecycle import QueueState
from frontier.queues.queue import Position, QueueRecord
from frontier.records import Counters, PendingUrl, PostponedUrl, order_of, precedence_of
from frontier.values import Health

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
SOME = st.none() | TEXT
COUNT = st.integers(0, 2**40)
FINITE = st.floats(allow_nan=False, allow_infinity=False)

HISTORY = st.lists(st.integers(-(2**31), 2**31), max_size=12).map(tuple)
EARLIER = st.builds(
    LastVisit,
    visits=COUNT,
    status=st.none() | st.integers(-100, 999),
    fetched_at=st.none() | FINITE,
    digest=st.none() | st.binary(max_size=32),
    history=HISTORY,
)
WAITING = st.builds(
    lambda url, ordinal, **rest: PendingUrl(url=url, order=order_of(url.precedence, ordinal), **rest),
    st.builds(
        CrawlUrl,
        url=TEXT,
        canonical=TEXT,
        queue_key=st.just("com,example"),
        depth=COUNT,
        via=SOME,
        kind=TEXT,
        anchor=SOME,
        weight=FINITE,
        precedence=st.integers(0, 255),
        redirects=COUNT,
        last_modified=SOME,
        had_etag=SOME,
        had_last_modified=SOME,
        attempt=COUNT,
        last_visit=st.none() | EARLIER,
        change_frequency=SOME,
    ),
    st.integers(0, 2**56 - 1),
    number=COUNT,
    found_at=COUNT,
)
ENTRIES = st.builds(
    LedgerEntry,
    canonical=TEXT,
    state=st.sampled_from([UrlState.DONE, UrlState.FAILED, UrlState.EXCLUDED]),
    number=COUNT,
    found_at=COUNT,
    via=SOME,
    status=st.none() | st.integers(-100, 999),
    reason=SOME,
    fetched_at=st.none() | FINITE,
    digest=st.none() | st.binary(max_size=32),
    etag=SOME,
    last_modified=SOME,
    url=SOME,
    kind=st.sampled_from(["link", "seed", "sitemap"]),
    depth=st.none() | COUNT,
    visits=COUNT,
    history=HISTORY,
    settled_in=st.none() | st.integers(0, 2**16 - 1),
)


@given(WAITING)
def test_a_pending_url_reads_back(waiting: PendingUrl) -> None:
    value = encoding.encode_pending(waiting)
    assert encoding.decode_pending(value, queue_key="com,example", order=waiting.order) == waiting


@given(WAITING, st.integers(0, 2**50), SOME)
def test_a_postponed_url_reads_back(waiting: PendingUrl, due_ms: int, reason: str | None) -> None:
    postponed = PostponedUrl(pending=waiting, due_ms=due_ms, reason=reason)
    assert encoding.decode_postponed(encoding.encode_postponed(postponed), due_ms=due_ms) == postponed


@given(WAITING, st.none() | st.integers(0, 2**50))
def test_a_place_reads_back(waiting: PendingUrl, due_ms: int | None) -> None:
    entry, place = encoding.decode_entry(encoding.encode_location(waiting, due_ms=due_ms), canonical="x")
    assert place == Location(waiting.number, "com,example", waiting.order, due_ms)
    assert (entry.state, entry.number, entry.found_at) == (UrlState.PENDING, waiting.number, waiting.found_at)


@given(ENTRIES)
def test_a_ledger_entry_reads_back(entry: LedgerEntry) -> None:
    assert encoding.decode_entry(encoding.encode_entry(entry), canonical=entry.canonical) == (entry, None)


HEALTH = st.builds(
    Health,
    error_streak=st.integers(0, 2**32 - 1),
    answered=st.booleans(),
    trouble=st.none() | st.just("dns"),
    pressure=st.integers(0, 100),
    probe_at=FINITE,
)
STANDS = st.none() | st.builds(Position, st.just(QueueState.SNOOZED), COUNT, COUNT)


@given(COUNT, FINITE, HEALTH, STANDS, st.none() | st.just("192.0.2.1"))
def test_a_queue_record_reads_back(
    size: int, wake_at: float, health: Health, stands: Position | None, address: str | None
) -> None:
    record = QueueRecord(key="a", size=size, wake_at=wake_at, health=health, position=stands, address=address)
    assert decode_queue(encode_queue(record), key="a") == record


@given(st.integers(1, 2**64 - 1), st.integers(0, 255), st.integers(-1, 2**64 - 2), st.integers(0, 2**64 - 1))
def test_the_record_of_a_new_queue_is_written_as_any_other(size: int, rank: int, drained_to: int, turn: int) -> None:
    position = Position(QueueState.INACTIVE, rank, turn)
    record = QueueRecord(key="a", size=size, precedence=rank, drained_to=drained_to, position=position)
    assert encode_new_queue(record, position) == encode_queue(record)
    assert decode_queue(encode_new_queue(record, position), key="a") == record


@given(st.integers(0, 255), st.integers(0, 2**56 - 1), st.integers(0, 255), st.integers(0, 2**56 - 1))
def test_an_order_sorts_by_precedence_and_then_by_ordinal(one: int, first: int, other: int, second: int) -> None:
    assert (order_of(one, first) < order_of(other, second)) == ((one, first) < (other, second))
    assert precedence_of(order_of(one, first)) == one


def read(value: bytes) -> None:
    for decode in (
        lambda: encoding.decode_pending(value, queue_key="a", order=1),
        lambda: encoding.decode_postponed(value, due_ms=1),
        lambda: encoding.decode_entry(value, canonical="a"),
        lambda: decode_queue(value, key="a"),
        lambda: encoding.decoder(msgspec.msgpack.Decoder(Counters).decode)(value),
    ):
        try:
            decode()
        except DecodeError:
            continue


@given(st.binary(max_size=60))
def test_garbage_raises_nothing_but_a_decode_error(value: bytes) -> None:
    read(value)


@given(WAITING, ENTRIES, st.data())
def test_a_changed_byte_raises_nothing_but_a_decode_error(
    waiting: PendingUrl, entry: LedgerEntry, data: st.DataObject
) -> None:
    postponed = PostponedUrl(pending=waiting, due_ms=1)
    for value in (
        encoding.encode_pending(waiting),
        encoding.encode_postponed(postponed),
        encoding.encode_location(waiting),
        encoding.encode_entry(entry),
    ):
        at = data.draw(st.integers(0, len(value) - 1))
        read(value[:at] + bytes([value[at] ^ data.draw(st.integers(1, 255))]) + value[at + 1 :])
        read(value[:at])


def test_text_that_is_not_utf8_is_a_decode_error() -> None:
    waiting = PendingUrl(url=CrawlUrl(url="http://a/", canonical="b", queue_key="a"), number=1, order=1, found_at=1)
    with pytest.raises(DecodeError):
        encoding.decode_pending(
            encoding.encode_pending(waiting).replace(b"http", b"\xff\xfe\xfd\xfc"), queue_key="a", order=1
        )


def test_lone_surrogates_are_written_as_question_marks() -> None:
    last_visit = LastVisit(visits=2, status=200, history=(-7, 9), interval_s=60)
    url = CrawlUrl(url="u", canonical="c", queue_key="a", anchor="x\ud800y", last_visit=last_visit)
    waiting = PendingUrl(url=url, number=1, order=order_of(128, 1), found_at=1)
    found = encoding.decode_pending(encoding.encode_pending(waiting), queue_key="a", order=waiting.order)
    assert (found.url.anchor, found.url.last_visit) == ("x?y", last_visit)
    postponed = encoding.encode_postponed(PostponedUrl(pending=waiting, due_ms=5, reason="\udcff"))
    again = encoding.decode_postponed(postponed, due_ms=5)
    assert (again.reason, again.pending.url.anchor) == ("?", "x?y")


def test_a_pending_url_takes_150_bytes_at_most_on_average() -> None:
    url = CrawlUrl(
        url="https://docs.example.org/library/collections/abc-of-things.html",
        canonical="https://docs.example.org/library/collections/abc-of-things.html",
        queue_key="org,example,docs",
        depth=3,
        via="https://docs.example.org/library/index.html",
        anchor="abc",
    )
    waiting = PendingUrl(url=url, number=10**6, order=order_of(128, 10**7), found_at=1_700_000_000)
    assert len(encoding.encode_pending(waiting)) <= 150

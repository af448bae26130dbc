"""What the parts of a crawl tell is added up and merged."""

import asyncio
from collections.abc import Sequence
from functools import partial

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from crawler.control.replies import ExportPiece, RefusedForm, RefusedList
from crawler.control.requests import Export
from crawler.operate.parts.exporting import merge_exports
from crawler.operate.parts.inspecting import merge_refused
from crawler.operate.parts.sums import same_of_all, sum_frontiers, sum_statuses, sum_visited
from crawler.page import ConnectionCounts
from crawler.status import Status
from frontier import FrontierStats
from visited import VisitedStats

LEDGERS = st.lists(st.integers(min_value=0, max_value=99), unique=True, max_size=40).flatmap(
    lambda urls: st.lists(st.integers(0, 3), min_size=len(urls), max_size=len(urls)).map(
        lambda owners: [
            sorted(f"http://a.test/{url:02}" for url, of in zip(urls, owners, strict=True) if of == owner)
            for owner in range(4)
        ]
    )
)


async def read(ledger: Sequence[str], at_once: int, request: Export) -> ExportPiece:
    """A ledger whose pieces have `at_once` URLs; what ends in 7 is not told, as a settled URL is not among waiting
    ones."""
    following = [url for url in ledger if url > request.after]
    piece = following[:at_once]
    return ExportPiece(
        lines=[msgspec.Raw(msgspec.json.encode({"url": url})) for url in piece if not url.endswith("7")],
        after=piece[-1] if len(following) > at_once else None,
        damaged=[],
    )


@settings(max_examples=200, deadline=None)
@given(
    ledgers=LEDGERS, at_once=st.integers(1, 5), piece_bytes=st.integers(1, 100), piece_s=st.sampled_from([0.0, 60.0])
)
def test_ledgers_are_merged_whole_and_in_order_whatever_the_pieces(
    ledgers: list[list[str]], at_once: int, piece_bytes: int, piece_s: float
) -> None:
    async def merge() -> list[str]:
        found: list[str] = []
        after: str | None = ""
        while after is not None:
            parts = [partial(read, ledger, at_once) for ledger in ledgers]
            piece = await merge_exports(parts, Export(after=after), piece_bytes=piece_bytes, piece_s=piece_s)
            assert piece.after is None or piece.after > after
            found += [msgspec.json.decode(line)["url"] for line in piece.lines]
            after = piece.after
        return found

    every = sorted(url for ledger in ledgers for url in ledger)
    assert asyncio.run(merge()) == [url for url in every if not url.endswith("7")]


def frontier(**fields: object) -> FrontierStats:
    zeros = dict.fromkeys(
        ("admitted", "pending", "in_process", "retrying", "done", "failed", "excluded"), 0
    ) | dict.fromkeys(("ready_queues", "in_process_queues", "snoozed_queues"), 0)
    return msgspec.convert({"next_wake_s": None, "next_wake_key": None} | zeros | fields, FrontierStats)


def visited(**fields: object) -> VisitedStats:
    return msgspec.convert({"backend": "bloom", "count": 0, "capacity": None, "memory_bytes": 0} | fields, VisitedStats)


def status(**fields: object) -> Status:
    counts = ("pages", "bytes_received", "redirects", "retries", "failed", "links", "admitted", "robots_asked")
    values: dict[str, object] = dict.fromkeys(counts, 0)
    values |= dict.fromkeys(("elapsed_s", "pages_per_s", "recent_pages_per_s"), 0.0)
    values |= {name: {} for name in ("responses", "failures", "excluded", "refused")}
    return msgspec.convert(
        values | {"frontier": frontier(), "visited": visited(), "waiting": None} | fields, Status, from_attributes=True
    )


def test_the_queue_that_wakes_next_is_that_of_the_part_where_it_wakes_first() -> None:
    found = sum_frontiers(
        {
            0: frontier(pending=3, next_wake_s=9.0, next_wake_key="test,a", next_wake_streak=2, next_visit_s=9.0),
            1: frontier(pending=4, next_wake_s=1.5, next_wake_key="test,b", held_back_queues=1),
            2: frontier(pending=5, held_back_queues=2, next_visit_s=7.0),
        }
    )
    assert (found.pending, found.held_back_queues) == (12, 3)
    assert (found.next_wake_s, found.next_wake_key, found.next_wake_streak) == (1.5, "test,b", 0)
    assert found.next_visit_s == 7.0


def test_documents_that_parts_read_in_part_are_counted_together() -> None:
    assert sum_statuses({0: status(read_in_part=2), 1: status(read_in_part=3)}).read_in_part == 5


def test_truncated_pages_of_parts_are_counted_together() -> None:
    parts = {0: status(truncated={"length": 2}), 1: status(truncated={"length": 1, "time": 4})}
    assert sum_statuses(parts).truncated == {"length": 3, "time": 4}


def test_what_all_parts_say_is_said_once() -> None:
    assert same_of_all({0: None, 1: None}) is None
    assert same_of_all({0: "night", 1: "night"}) == "night"
    assert same_of_all({0: None, 1: "disk"}) == "part 1: disk"
    assert same_of_all({0: "night", 1: "disk"}) == "part 0: night; part 1: disk"


def test_connections_are_added_up() -> None:
    each = ConnectionCounts(opened=1, reused=6, open=2, memory_bytes=3, tls_handshakes=4, tls_resumed=5)
    found = sum_statuses({0: status(connections=each), 1: status(connections=each)}).connections
    assert found == ConnectionCounts(opened=2, reused=12, open=4, memory_bytes=6, tls_handshakes=8, tls_resumed=10)


def test_runs_are_added_up() -> None:
    found = sum_statuses(
        {
            0: status(elapsed_s=9.0, pages=10, recent_pages_per_s=2.5, responses={404: 1, 200: 4}),
            1: status(elapsed_s=7.0, pages=5, recent_pages_per_s=1.0, responses={200: 6}, failures={"dns": 2}),
        }
    )
    assert (found.elapsed_s, found.pages, found.recent_pages_per_s) == (9.0, 15, 3.5)
    assert (found.responses, found.failures) == ({200: 10, 404: 1}, {"dns": 2})
    assert list(found.responses) == [200, 404]


def test_a_crawl_waits_if_all_parts_that_have_work_wait() -> None:
    idle = status()
    working = status(frontier=frontier(in_process=1))
    resting = status(frontier=frontier(next_wake_s=4.0), waiting="all 3 hosts rest")
    asking = status(frontier=frontier(in_process=1), waiting="waiting for one answer")
    assert sum_statuses({0: idle, 1: idle}).waiting is None
    assert sum_statuses({0: resting, 1: working}).waiting is None
    assert sum_statuses({0: idle, 1: resting}).waiting == "part 1: all 3 hosts rest"
    assert sum_statuses({0: asking, 1: resting}).waiting == "part 1: all 3 hosts rest"
    assert sum_statuses({0: asking, 1: asking}).waiting == "waiting for one answer"


def test_rates_of_visited_sets_are_means_by_what_they_hold() -> None:
    found = sum_visited(
        [
            visited(
                count=100, capacity=1000, memory_bytes=7, fill=0.1, expected_lost=1.0, details={"leaves": 4, "k": 7}
            ),
            visited(
                count=300, capacity=1000, memory_bytes=9, fill=0.5, expected_lost=2.0, details={"leaves": 6, "k": 7}
            ),
        ]
    )
    assert (found.count, found.capacity, found.memory_bytes, found.expected_lost) == (400, 2000, 16, 3.0)
    assert found.fill == 0.4
    assert found.details == {"leaves": "4, 6", "k": 7}
    assert sum_visited([visited(capacity=5), visited()]).capacity is None


def test_a_set_that_parts_share_counts_once() -> None:
    first = visited(count=100, memory_bytes=7, server_bytes=900, expected_lost=1.0, shared="{onceover:visited:lib}")
    second = msgspec.structs.replace(first, count=120, server_bytes=1000, expected_lost=1.5)
    found = sum_visited([first, second])
    assert found == msgspec.structs.replace(second, memory_bytes=14)
    own = visited(count=30, memory_bytes=5)
    assert sum_visited([first, own, second]).count == 150


def test_refusals_of_a_host_are_added_up_because_other_parts_link_to_it() -> None:
    def refused(host: str, count: int, *examples: str) -> RefusedForm:
        return RefusedForm(rule="trap", host=host, count=count, examples=list(examples))

    found = merge_refused(
        {
            0: RefusedList(refused=[refused("a", 3, "1", "2"), refused("b", 2, "9")], left=0),
            1: RefusedList(refused=[refused("b", 2, "8"), refused("a", 2, "2", "3", "4")], left=0),
        },
        1,
    )
    assert found == RefusedList(refused=[refused("a", 5, "1", "2", "3")], left=1)

"""That a status is put into words that say what is being waited for."""

import pytest

from crawler.counters import Counters, InFlight
from crawler.status import duration, host_of, rate, size, status_of, when_done, why_waiting
from frontier import FrontierStats
from tests.frontier_stats import frontier_stats
from visited import VisitedStats


def flight(since: float, *, stage: str = "the server", host: str = "a") -> InFlight:
    return InFlight(f"http://{host}.test/", stage, since)


@pytest.mark.parametrize(
    ("frontier", "in_flight", "expected"),
    [
        (frontier_stats(ready_queues=1), [], None),
        (frontier_stats(), [], None),
        (
            frontier_stats(next_visit_s=7200.0),
            [],
            "nothing is left to fetch now; the next visit to a page is due in 2 h 0 min",
        ),
        (frontier_stats(), [flight(99.0)], None),
        (frontier_stats(), [flight(50.0), flight(99.0)], None),
        (
            frontier_stats(ready_queues=3),
            [flight(90.0)],
            "waiting for one answer; the longest, the server of http://a.test/, for 10 s",
        ),
        (
            frontier_stats(),
            [flight(97.0), flight(40.0, stage="robots.txt", host="b")],
            "waiting for 2 answers; the longest, robots.txt of http://b.test/, for 60 s",
        ),
        (
            frontier_stats(snoozed_queues=1, next_wake_s=4.25, next_wake_key="test,a"),
            [],
            "the only host rests between requests; a.test is next, in 4.2 s",
        ),
        (
            frontier_stats(snoozed_queues=7, next_wake_s=90.0, next_wake_key="test,a,www:8080"),
            [],
            "all 7 hosts rest between requests; www.a.test:8080 is next, in 1 min 30 s",
        ),
        (
            frontier_stats(
                snoozed_queues=1,
                next_wake_s=90.0,
                next_wake_key="test,a",
                troubled_queues=1,
                next_wake_streak=1,
                next_wake_trouble="dns",
            ),
            [],
            "the only host rests; a.test is tried next, in 1 min 30 s: it failed once, with dns",
        ),
        (
            frontier_stats(
                snoozed_queues=3,
                next_wake_s=5.0,
                next_wake_key="test,a",
                troubled_queues=2,
                next_wake_streak=4,
                next_wake_trouble="dns",
            ),
            [],
            (
                "all 3 hosts rest, 2 of them after failures; a.test is tried next, in 5.0 s: it failed 4 times in a "
                "row, the last time with dns"
            ),
        ),
        (
            frontier_stats(
                snoozed_queues=2,
                next_wake_s=7200.0,
                next_wake_key="test,a",
                troubled_queues=1,
                next_wake_streak=1,
                next_wake_trouble="dns",
                next_wake_why="its hours",
            ),
            [],
            "all 2 hosts rest; a.test is next, in 2 h 0 min: it waits for its hours",
        ),
        (
            frontier_stats(next_wake_s=5.0, next_group="ip 192.0.2.1", held_back_queues=1),
            [],
            "one host waits for others at the same server; the address 192.0.2.1 may be asked in 5.0 s",
        ),
        (
            frontier_stats(next_wake_s=5.0, next_group="domain test,a", held_back_queues=9),
            [],
            "9 hosts wait for others at the same server; domain a.test may be asked in 5.0 s",
        ),
        (
            frontier_stats(held_back_queues=1, groups_elsewhere=1),
            [],
            "one host waits for 1 address that other parts ask, too",
        ),
        (
            frontier_stats(held_back_queues=5, groups_elsewhere=2),
            [],
            "5 hosts wait for 2 addresses that other parts ask, too",
        ),
        (
            frontier_stats(ready_queues=2, awaits_limit=3),
            [],
            "3 URLs wait for a page that the limit leaves; other parts have begun the rest, or can't be reached",
        ),
        (frontier_stats(snoozed_queues=1, next_wake_s=0.01, next_wake_key="test,a"), [], None),
        (frontier_stats(retrying=1, next_wake_s=5.0), [], "one URL to try again; the next in 5.0 s"),
        (frontier_stats(retrying=12, snoozed_queues=2, next_wake_s=5.0), [], "12 URLs to try again; the next in 5.0 s"),
    ],
)
def test_what_is_waited_for_is_said_when_nothing_moves(
    frontier: FrontierStats, in_flight: list[InFlight], expected: str | None
) -> None:
    assert why_waiting(frontier, in_flight, monotonic=100.0) == expected


def test_a_status_is_a_copy_that_later_counts_do_not_change() -> None:
    counters = Counters()
    counters.responses[404] += 1
    counters.responses[200] += 2
    counters.in_flight[1] = flight(10.0)
    visited = VisitedStats(backend="exact", count=0, capacity=None, memory_bytes=0)
    status = status_of(counters, frontier_stats(), visited, elapsed_s=1.0, recent_pages_per_s=2.0, monotonic=100.0)
    counters.responses[200] += 1
    counters.in_flight.clear()
    assert status.responses == {200: 2, 404: 1}
    assert list(status.responses) == [200, 404]
    assert status.waiting is not None


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.0, "0.0 s"),
        (4.23, "4.2 s"),
        (59.94, "59.9 s"),
        (59.97, "1 min 0 s"),
        (60.0, "1 min 0 s"),
        (3599.0, "59 min 59 s"),
        (3599.7, "1 h 0 min"),
        (7500.0, "2 h 5 min"),
        (172_799.0, "47 h 59 min"),
        (200_000.0, "2 d 7 h"),
        (604_790.0, "6 d 23 h"),
        (604_800.0, "7 d"),
    ],
)
def test_seconds_are_said_as_a_person_says_them(seconds: float, text: str) -> None:
    assert duration(seconds) == text


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1000, "1.0 kB"),
        (999_949, "999.9 kB"),
        (999_960, "1.0 MB"),
        (8_659_893, "8.7 MB"),
        (3.2e9, "3.2 GB"),
        (5e15, "5000.0 TB"),
    ],
)
def test_bytes_are_said_in_decimal_units(count: float, text: str) -> None:
    assert size(count) == text


@pytest.mark.parametrize(
    ("per_s", "text"), [(0.0, "0/s"), (0.52, "0.5/s"), (9.94, "9.9/s"), (9.96, "10/s"), (1234.5, "1,234/s")]
)
def test_rates_have_a_decimal_where_they_are_low(per_s: float, text: str) -> None:
    assert rate(per_s) == text


def test_a_stop_says_what_it_waits_for() -> None:
    assert when_done(0) == "when all output is stored"
    assert when_done(1) == "when 1 URL in flight is done"
    assert when_done(2) == "when 2 URLs in flight are done"


def test_a_queue_key_is_read_as_its_host() -> None:
    assert host_of("com,example,www") == "www.example.com"
    assert host_of("com,example,www:8080") == "www.example.com:8080"
    assert host_of("[2001:db8::1]:8080") == "[2001:db8::1]:8080"
    assert host_of("192.0.2.1") == "192.0.2.1"

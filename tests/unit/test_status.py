"""That a status is put into words that say what is being waited for."""

import msgspec
import pytest

from crawler.counters import Counters, InFlight
from crawler.status import duration, host_of, rate, size, status_of, why_waiting
from frontier import FrontierStats
from visited import VisitedStats


def stats(
    *,
    ready: int = 0,
    snoozed: int = 0,
    retrying: int = 0,
    wake_s: float | None = None,
    key: str | None = None,
    troubled: int = 0,
    streak: int = 0,
    trouble: str | None = None,
    group: str | None = None,
    held_back: int = 0,
    why: str | None = None,
    elsewhere: int = 0,
    awaits_limit: int = 0,
) -> FrontierStats:
    return FrontierStats(
        admitted=10,
        pending=5,
        in_process=0,
        retrying=retrying,
        done=0,
        failed=0,
        excluded=0,
        ready_queues=ready,
        in_process_queues=0,
        snoozed_queues=snoozed,
        next_wake_s=wake_s,
        next_wake_key=key,
        troubled_queues=troubled,
        next_wake_streak=streak,
        next_wake_trouble=trouble,
        next_group=group,
        held_back_queues=held_back,
        next_wake_why=why,
        groups_elsewhere=elsewhere,
        awaits_limit=awaits_limit,
    )


def flight(since: float, *, stage: str = "the server", host: str = "a") -> InFlight:
    return InFlight(f"http://{host}.test/", stage, since)


@pytest.mark.parametrize(
    ("frontier", "in_flight", "expected"),
    [
        (stats(ready=1), [], None),
        (stats(), [], None),
        (
            msgspec.structs.replace(stats(), next_visit_s=7200.0),
            [],
            "nothing is left to fetch now; the next visit to a page is due in 2 h 0 min",
        ),
        (stats(), [flight(99.0)], None),
        (stats(), [flight(50.0), flight(99.0)], None),
        (
            stats(ready=3),
            [flight(90.0)],
            "waiting for one answer; the longest, the server of http://a.test/, for 10 s",
        ),
        (
            stats(),
            [flight(97.0), flight(40.0, stage="robots.txt", host="b")],
            "waiting for 2 answers; the longest, robots.txt of http://b.test/, for 60 s",
        ),
        (
            stats(snoozed=1, wake_s=4.25, key="test,a"),
            [],
            "the only host rests between requests; a.test is next, in 4.2 s",
        ),
        (
            stats(snoozed=7, wake_s=90.0, key="test,a,www:8080"),
            [],
            "all 7 hosts rest between requests; www.a.test:8080 is next, in 1 min 30 s",
        ),
        (
            stats(snoozed=1, wake_s=90.0, key="test,a", troubled=1, streak=1, trouble="dns"),
            [],
            "the only host rests; a.test is tried next, in 1 min 30 s: it failed once, with dns",
        ),
        (
            stats(snoozed=3, wake_s=5.0, key="test,a", troubled=2, streak=4, trouble="dns"),
            [],
            (
                "all 3 hosts rest, 2 of them after failures; a.test is tried next, in 5.0 s: it failed 4 times in a "
                "row, the last time with dns"
            ),
        ),
        (
            stats(snoozed=2, wake_s=7200.0, key="test,a", troubled=1, streak=1, trouble="dns", why="its hours"),
            [],
            "all 2 hosts rest; a.test is next, in 2 h 0 min: it waits for its hours",
        ),
        (
            stats(wake_s=5.0, group="ip 192.0.2.1", held_back=1),
            [],
            "one host waits for others at the same server; the address 192.0.2.1 may be asked in 5.0 s",
        ),
        (
            stats(wake_s=5.0, group="domain test,a", held_back=9),
            [],
            "9 hosts wait for others at the same server; domain a.test may be asked in 5.0 s",
        ),
        (stats(held_back=1, elsewhere=1), [], "one host waits for 1 address that other parts ask, too"),
        (stats(held_back=5, elsewhere=2), [], "5 hosts wait for 2 addresses that other parts ask, too"),
        (
            stats(ready=2, awaits_limit=3),
            [],
            "3 URLs wait for a page that the limit leaves; other parts have begun the rest, or can't be reached",
        ),
        (stats(snoozed=1, wake_s=0.01, key="test,a"), [], None),
        (stats(retrying=1, wake_s=5.0), [], "one URL to try again; the next in 5.0 s"),
        (stats(retrying=12, snoozed=2, wake_s=5.0), [], "12 URLs to try again; the next in 5.0 s"),
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
    status = status_of(counters, stats(), visited, elapsed_s=1.0, recent_pages_per_s=2.0, monotonic=100.0)
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


def test_a_queue_key_is_read_as_its_host() -> None:
    assert host_of("com,example,www") == "www.example.com"
    assert host_of("com,example,www:8080") == "www.example.com:8080"
    assert host_of("[2001:db8::1]:8080") == "[2001:db8::1]:8080"
    assert host_of("192.0.2.1") == "192.0.2.1"

from email.utils import formatdate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawler.page import TRANSIENT_FAILURES, Failure, FailureKind, Page
from crawler.politeness.pace import (
    RETRY_AFTER_LIMIT_S,
    SLOW_DOWN_STATUSES,
    TRANSIENT_STATUSES,
    Pace,
    cause_of,
    parse_retry_after,
    should_retry,
)

seconds = st.floats(min_value=0, max_value=1e7)
maybe_seconds = st.none() | seconds
streaks = st.integers(min_value=0, max_value=10_000)
paces = st.builds(
    Pace,
    min_delay_s=seconds,
    max_delay_s=seconds,
    delay_factor=st.floats(min_value=0, max_value=1000),
    max_crawl_delay_s=seconds,
    retry_delay_s=seconds,
    retry_max_delay_s=seconds,
    max_retry_after_s=seconds,
    seed=st.integers(),
)


# how long a host rests


@pytest.mark.parametrize(
    ("duration_s", "rest_s"), [(0.0, 1.0), (0.1, 1.0), (0.5, 1.0), (1.0, 2.0), (10.0, 20.0), (15.0, 30.0), (1e9, 30.0)]
)
def test_a_host_rests_as_long_as_it_took_times_a_factor_within_limits(duration_s: float, rest_s: float) -> None:
    assert Pace().cooldown_s(duration_s) == rest_s


def test_crawl_delay_goes_before_the_upper_limit_up_to_its_own() -> None:
    pace = Pace(max_crawl_delay_s=120)
    assert pace.cooldown_s(0, crawl_delay_s=0.5) == 1
    assert pace.cooldown_s(0, crawl_delay_s=90) == 90
    assert pace.cooldown_s(0, crawl_delay_s=1e6) == 120


def test_trouble_doubles_the_rest_up_to_a_limit_and_makes_it_up_to_a_quarter_longer() -> None:
    pace = Pace(retry_max_delay_s=100)
    rests = [pace.backoff_s(1, doublings, key="test,a") for doublings in range(9)]
    assert rests[0] == 1
    assert rests[7:] == [100, 100]
    for doublings, rest_s in enumerate(rests[1:7], 1):
        assert 2**doublings < rest_s < 1.25 * 2**doublings
    assert rests != [pace.backoff_s(1, doublings, key="test,b") for doublings in range(9)]


def test_a_host_in_trouble_rests_even_if_no_delay_is_asked() -> None:
    pace = Pace(min_delay_s=0, delay_factor=0)
    assert pace.cooldown_s(5) == 0
    assert 0.2 <= pace.backoff_s(0, 1, key="a") <= 0.25
    assert pace.backoff_s(0, 10_000, key="a") == pace.retry_max_delay_s


def test_retry_after_makes_the_host_rest_up_to_its_limit() -> None:
    pace = Pace(max_retry_after_s=600)
    assert pace.backoff_s(1, 0, key="a", retry_after_s=120) == 120
    assert pace.backoff_s(1, 0, key="a", retry_after_s=366 * 86400.0) == 600
    assert pace.backoff_s(1, 20, key="a", retry_after_s=120) == pace.retry_max_delay_s


def test_a_limit_of_bandwidth_makes_a_host_rest_for_what_it_has_sent() -> None:
    pace = Pace(min_delay_s=1, max_delay_s=5, max_bytes_per_s=1000)
    assert pace.cooldown_s(0.5, received_bytes=100) == 1
    assert pace.cooldown_s(2, received_bytes=60_000) == 58
    assert Pace(min_delay_s=1).cooldown_s(0, received_bytes=10**9) == 1


def test_fetches_at_once_share_the_bandwidth_and_a_crawl_delay_allows_none() -> None:
    pace = Pace(min_delay_s=1, max_crawl_delay_s=120, max_bytes_per_s=1000, per_host=3)
    assert pace.cooldown_s(0) == 1
    assert pace.cooldown_s(0, crawl_delay_s=10) == 10
    assert pace.cooldown_s(0, crawl_delay_s=1e6) == 120
    assert pace.cooldown_s(2, received_bytes=20_000) == 58


@given(sizes=st.lists(st.tuples(st.integers(0, 10**7), seconds), min_size=1), rate=st.integers(1, 10**6))
def test_no_more_bytes_come_from_a_host_than_its_bandwidth_allows(sizes: list[tuple[int, float]], rate: int) -> None:
    pace = Pace(max_bytes_per_s=rate)
    took_s = sum(duration_s + pace.cooldown_s(duration_s, received_bytes=size) for size, duration_s in sizes)
    assert sum(size for size, _ in sizes) <= rate * took_s * 1.000001


@given(pace=paces, duration_s=seconds, crawl_delay_s=maybe_seconds, doublings=streaks, retry_after_s=maybe_seconds)
def test_no_rest_is_shorter_than_was_asked_or_longer_than_all_limits(
    pace: Pace, duration_s: float, crawl_delay_s: float | None, doublings: int, retry_after_s: float | None
) -> None:
    plain_s = pace.cooldown_s(duration_s, crawl_delay_s=crawl_delay_s)
    rest_s = pace.backoff_s(plain_s, doublings, key="a", retry_after_s=retry_after_s)
    assert rest_s >= plain_s >= pace.min_delay_s
    assert rest_s >= min(pace.delay_factor * duration_s, pace.max_delay_s)
    assert rest_s >= min(crawl_delay_s or 0, pace.max_crawl_delay_s)
    assert rest_s >= min(retry_after_s or 0, pace.max_retry_after_s)
    assert rest_s <= max(
        pace.min_delay_s,
        pace.max_delay_s,
        pace.max_crawl_delay_s if crawl_delay_s is not None else 0,
        pace.max_retry_after_s if retry_after_s is not None else 0,
        pace.retry_max_delay_s if doublings else 0,
    )


@given(pace=paces, durations=st.tuples(seconds, seconds), doublings=streaks, crawl_delays=st.tuples(seconds, seconds))
def test_who_is_slower_fails_more_or_asks_for_more_never_rests_less(
    pace: Pace, durations: tuple[float, float], doublings: int, crawl_delays: tuple[float, float]
) -> None:
    (short_s, long_s), (little_s, much_s) = sorted(durations), sorted(crawl_delays)
    plain_s = pace.cooldown_s(short_s, crawl_delay_s=little_s)
    assert pace.cooldown_s(long_s, crawl_delay_s=little_s) >= plain_s
    assert pace.cooldown_s(short_s, crawl_delay_s=much_s) >= plain_s
    rest_s = pace.backoff_s(plain_s, doublings, key="a")
    assert pace.backoff_s(plain_s + 1, doublings, key="a") >= rest_s
    assert pace.backoff_s(plain_s, doublings + 1, key="a") >= rest_s


# when a URL is tried again


@given(attempt=st.integers(min_value=0, max_value=20), key=st.text())
def test_each_attempt_doubles_the_wait_give_or_take_a_quarter(attempt: int, key: str) -> None:
    pace = Pace(retry_delay_s=30, retry_max_delay_s=1e9)
    assert 0.75 * 30 * 2**attempt <= pace.retry_s(key, attempt) <= 1.25 * 30 * 2**attempt


@given(pace=paces, key=st.text(), attempt=st.integers(min_value=0, max_value=10_000), retry_after_s=maybe_seconds)
def test_no_wait_is_shorter_than_retry_after_or_longer_than_the_limits(
    pace: Pace, key: str, attempt: int, retry_after_s: float | None
) -> None:
    wait_s = pace.retry_s(key, attempt, retry_after_s=retry_after_s)
    assert wait_s >= min(retry_after_s or 0, pace.max_retry_after_s)
    assert wait_s >= min(0.75 * pace.retry_delay_s, pace.retry_max_delay_s)
    assert wait_s <= max(pace.retry_max_delay_s, 0 if retry_after_s is None else pace.max_retry_after_s)


def test_jitter_spreads_urls_and_is_the_same_each_time() -> None:
    pace = Pace()
    waits = [pace.retry_s(f"http://example.org/{number}", 0) for number in range(100)]
    assert waits == [pace.retry_s(f"http://example.org/{number}", 0) for number in range(100)]
    assert len(set(waits)) == 100
    assert min(waits) < 25
    assert max(waits) > 35
    assert waits != [Pace(seed=1).retry_s(f"http://example.org/{number}", 0) for number in range(100)]


# what is tried again


@pytest.mark.parametrize(
    "cause",
    [
        408,
        425,
        429,
        430,
        500,
        501,
        505,
        507,
        508,
        511,
        520,
        599,
        FailureKind.TIMEOUT,
        FailureKind.CONNECT,
        FailureKind.DNS,
    ],
)
def test_what_may_pass_is_tried_again_until_the_attempts_are_used_up(cause: int | FailureKind) -> None:
    assert [should_retry(cause, attempt, max_attempts=3) for attempt in range(4)] == [True, True, False, False]


@pytest.mark.parametrize(
    "cause",
    [
        200,
        301,
        304,
        400,
        401,
        403,
        404,
        410,
        FailureKind.PRIVATE_ADDRESS,
        FailureKind.BAD_URL,
        FailureKind.TLS,
    ],
)
def test_what_will_not_change_is_not_tried_again(cause: int | FailureKind) -> None:
    assert not should_retry(cause, 0, max_attempts=100)


@pytest.mark.parametrize("status", [500, 599, 600, 999])
def test_a_status_above_those_of_http_counts_as_an_error_of_the_server(status: int) -> None:
    assert should_retry(status, 0, max_attempts=2)


def test_every_transient_cause_is_tried_again_and_who_asks_to_slow_down_is_among_them() -> None:
    assert all(should_retry(cause, 0, max_attempts=2) for cause in TRANSIENT_STATUSES | TRANSIENT_FAILURES)
    assert SLOW_DOWN_STATUSES <= TRANSIENT_STATUSES


def page(status: int, truncated: str | None = None) -> Page:
    return Page(
        url="http://a.test/",
        status=status,
        headers=[],
        fetched_at=0,
        duration_s=0,
        body=b"",
        raw_body=b"",
        truncated=truncated,
    )


def test_the_cause_is_the_status_the_failure_or_the_cut() -> None:
    assert cause_of(page(404)) == 404
    assert cause_of(page(200, "length")) == 200
    assert cause_of(page(200, "time")) == 200
    assert cause_of(page(200, "disconnect")) is FailureKind.DISCONNECTED
    assert cause_of(page(404, "disconnect")) == 404
    failure = Failure(url="http://a.test/", kind=FailureKind.DNS, message="-", fetched_at=0, duration_s=0)
    assert cause_of(failure) is FailureKind.DNS


# Retry-After

NOW = 1_700_000_000.0


@pytest.mark.parametrize(
    ("header", "wait_s"),
    [
        (None, None),
        ("", None),
        ("0", 0),
        (" 120 ", 120),
        ("99999999999", RETRY_AFTER_LIMIT_S),
        ("9" * 5000, RETRY_AFTER_LIMIT_S),
        ("-5", None),
        ("1.5", 1.5),
        ("2.", 2),
        ("30s", 30),
        ("30 Seconds", 30),
        ("120, 60", 120),
        ("30 s , 60", 30),
        ("3 Sep", None),
        pytest.param("1" + " " * 250_000 + "x", None, id="would take hours if white space were matched in two ways"),
        ("2023-11-14", None),
        ("١٢", None),
        ("soon", None),
        ("Tue, 14 Nov 2023 22:15:20 GMT", 120),
        ("Tuesday, 14-Nov-23 22:15:20 GMT", 120),
        ("Tue Nov 14 22:15:20 2023", 120),
        ("Tue, 14 Nov 2023 23:15:20 +0100", 120),
        ("Tue, 14 Nov 2023 22:00:00 GMT", 0),
        ("Fri, 31 Dec 9999 23:59:59 GMT", RETRY_AFTER_LIMIT_S),
        ("Fri, 99 Dec 2023 23:59:59 GMT", None),
        ("Fri, 31 Dec 99999999999 23:59:59 GMT", None),
    ],
)
def test_retry_after_is_read_in_both_forms_and_bounded(header: str | None, wait_s: float | None) -> None:
    assert parse_retry_after(header, NOW) == wait_s


@given(wait_s=st.integers(min_value=0, max_value=10**8))
def test_both_forms_of_retry_after_mean_the_same(wait_s: int) -> None:
    assert parse_retry_after(formatdate(NOW + wait_s, usegmt=True), NOW) == parse_retry_after(str(wait_s), NOW)


@given(header=st.text() | st.text("0123456789 :,-+GMTFriNovDec"), now=seconds)
def test_any_retry_after_is_nothing_or_within_bounds(header: str, now: float) -> None:
    wait_s = parse_retry_after(header, now)
    assert wait_s is None or 0 <= wait_s <= RETRY_AFTER_LIMIT_S

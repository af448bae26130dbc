"""Hours at which hosts may be asked."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawler.politeness.hours import Hours

VIENNA = "Europe/Vienna"


def at(text: str, zone: str = "UTC") -> float:
    return datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(zone)).timestamp()


@pytest.mark.parametrize(
    ("hours", "now", "opens"),
    [
        ("22:00-06:00", at("2026-03-04T23:00"), 0),
        ("22:00-06:00", at("2026-03-04T05:59"), 0),
        ("22:00-06:00", at("2026-03-04T06:00"), 16 * 3600),
        ("22:00-06:00", at("2026-03-04T22:00"), 0),
        ("06:00-22:00", at("2026-03-04T05:00"), 3600),
        ("00:00-24:00", at("2026-03-04T00:00"), 0),
        ("12:00-12:00", at("2026-03-04T11:59"), 0),
        ("22:00-06:00 Europe/Vienna", at("2026-07-04T20:00"), 0),
        ("22:00-06:00 Europe/Vienna", at("2026-01-04T20:00"), 3600),
        ("Mon-Fri 22:00-06:00", at("2026-03-07T05:00"), 0),
        ("Mon-Fri 22:00-06:00", at("2026-03-07T23:00"), 47 * 3600),
        ("Sat,sun 00:00-24:00", at("2026-03-08T23:59"), 0),
        ("Sat,sun 00:00-24:00", at("2026-03-09T00:00"), 5 * 86400),
        ("Fri-Mon 10:00-11:00", at("2026-03-09T11:00"), 4 * 86400 - 3600),
        ("Tue 10:00-11:00", at("2026-03-10T11:00"), 7 * 86400 - 3600),
        ("22:00-23:00; 12:00-13:00", at("2026-03-10T12:30"), 0),
        ("22:00-23:00; 12:00-13:00", at("2026-03-10T13:00"), 9 * 3600),
    ],
)
def test_a_host_may_be_asked_at_its_hours_and_not_before(hours: str, now: float, opens: float) -> None:
    assert Hours(hours).opens_in_s(now) == opens


def test_hours_are_those_of_the_clock_on_the_days_on_which_it_is_put_forward_and_back() -> None:
    hours = Hours(f"22:00-06:00 {VIENNA}")
    forward = at("2026-03-28T22:00", VIENNA)
    assert hours.opens_in_s(forward - 1) == 1
    assert hours.opens_in_s(forward + 7 * 3600 - 1) == 0
    assert hours.opens_in_s(forward + 7 * 3600) == 16 * 3600
    back = at("2026-10-24T22:00", VIENNA)
    assert hours.opens_in_s(back + 9 * 3600 - 1) == 0
    assert hours.opens_in_s(back + 9 * 3600) == 16 * 3600


@given(
    now=st.datetimes(datetime(2000, 1, 1), datetime(2060, 1, 1)).map(lambda moment: moment.replace(tzinfo=UTC)),  # noqa: DTZ001
    zone=st.sampled_from(["UTC", VIENNA, "America/New_York", "Asia/Kathmandu", "Australia/Lord_Howe"]),
    begin=st.integers(0, 23),
    length=st.integers(1, 23),
)
def test_when_the_wait_is_over_it_is_one_of_the_hours(now: datetime, zone: str, begin: int, length: int) -> None:
    end = (begin + length) % 24
    hours = Hours(f"{begin:02}:00-{end:02}:00 {zone}")
    wait_s = hours.opens_in_s(now.timestamp())
    assert 0 <= wait_s <= 25 * 3600
    opened = now + timedelta(seconds=wait_s)
    assert hours.opens_in_s(opened.timestamp()) == 0
    if wait_s > 2:
        assert hours.opens_in_s(opened.timestamp() - 1) > 0
    shown = opened.astimezone(ZoneInfo(zone)).hour
    # Where clocks are put forward, the hour at which it begins may be one that never comes.
    assert (shown - begin) % 24 < length or wait_s > 0


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "found ''"),
        ("nights", "found 'nights'"),
        ("22-06", "found '22-06'"),
        ("22:00-06:00;", "found ''"),
        ("25:00-26:00", "25:00 is no time of day"),
        ("22:60-23:00", "22:60 is no time of day"),
        ("Mon-Fry 22:00-06:00", "'fry' is no day, which are Mon, Tue"),
        ("22:00-06:00 Europe/Wien", "no time zone 'Europe/Wien'"),
    ],
)
def test_what_are_no_hours_is_refused_with_what_was_expected(text: str, told: str) -> None:
    with pytest.raises(ValueError, match="expected days, hours and a time zone") as refused:
        Hours(text)
    assert told in str(refused.value)

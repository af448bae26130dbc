"""A part that dies starts again, each time later, until it has died too often."""

from crawler.supervise.keeping import MAX_DEATHS, WITHIN_S, Restarts


def test_each_wait_is_twice_as_long_until_a_part_has_died_too_often() -> None:
    restarts = Restarts()
    assert [restarts.wait_s(float(now)) for now in range(6)] == [0.5, 1.0, 2.0, 4.0, 8.0, None]
    assert restarts.deaths == 6 == MAX_DEATHS + 1


def test_deaths_of_long_ago_do_not_count() -> None:
    restarts = Restarts()
    assert [restarts.wait_s(0.0) for _ in range(MAX_DEATHS)][-1] == 8.0
    assert restarts.wait_s(WITHIN_S) == 0.5
    assert restarts.deaths == 1
    # A part that dies again and again is given up, however long it has run before.
    assert [restarts.wait_s(WITHIN_S + number) for number in range(1, 6)] == [1.0, 2.0, 4.0, 8.0, None]


def test_a_part_that_dies_now_and_then_is_never_given_up() -> None:
    restarts = Restarts()
    waits = [restarts.wait_s(number * WITHIN_S / MAX_DEATHS) for number in range(100)]
    assert set(waits[MAX_DEATHS:]) == {8.0}

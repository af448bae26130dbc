"""When requests fail that are not answered in time: one timer serves all of them."""

from collections.abc import Callable
from typing import Any

import pytest

from crawler.fetch.connect.responses import CHECK_S, HeadTimeouts


class Timer:
    def __init__(self, due: float, call: Callable[[], None]) -> None:
        self.due = due
        self.call = call
        self.is_cancelled = False

    def cancel(self) -> None:
        self.is_cancelled = True


class Loop:
    """The timers of a loop, and its clock, which a test moves."""

    def __init__(self) -> None:
        self.now = 100.0
        self.timers: list[Timer] = []

    def time(self) -> float:
        return self.now

    def call_at(self, due: float, call: Callable[[], None]) -> Timer:
        self.timers.append(Timer(due, call))
        return self.timers[-1]

    @property
    def pending(self) -> list[Timer]:
        return [each for each in self.timers if not each.is_cancelled]

    def run_until(self, now: float) -> None:
        while due := sorted((each for each in self.pending if each.due <= now), key=lambda each: each.due):
            self.now = max(self.now, due[0].due)
            self.timers.remove(due[0])
            due[0].call()
        self.now = now


class Waiting:
    """A connection, and when it failed with what."""

    def __init__(self, loop: Loop) -> None:
        self._loop = loop
        self.failed: list[tuple[float, str]] = []

    def set_exception(self, error: Exception) -> None:
        self.failed.append((self._loop.now, str(error)))


@pytest.fixture
def loop() -> Loop:
    return Loop()


@pytest.fixture
def timeouts(loop: Loop) -> HeadTimeouts:
    like_a_loop: Any = loop
    return HeadTimeouts(like_a_loop)


def connection(loop: Loop) -> Any:
    return Waiting(loop)


def late(words: str) -> Callable[[], Exception]:
    return lambda: TimeoutError(words)


def test_each_connection_fails_once_when_it_is_due_with_its_own_error(loop: Loop, timeouts: HeadTimeouts) -> None:
    later, sooner = connection(loop), connection(loop)
    timeouts.start(later, 130.0, late("headers"))
    timeouts.start(sooner, 110.0, late("all"))
    loop.run_until(109.9)
    assert (later.failed, sooner.failed) == ([], [])
    loop.run_until(200.0)
    assert (later.failed, sooner.failed) == ([(130.0, "headers")], [(110.0, "all")])
    assert not loop.pending


def test_a_connection_that_was_answered_does_not_fail(loop: Loop, timeouts: HeadTimeouts) -> None:
    kept = connection(loop)
    timeouts.start(kept, 130.0, late("first"))
    timeouts.stop(kept)
    loop.run_until(120.0)
    timeouts.start(kept, 150.0, late("second"))
    loop.run_until(140.0)
    assert kept.failed == []
    timeouts.stop(kept)
    timeouts.stop(kept)
    loop.run_until(300.0)
    assert kept.failed == []
    assert not loop.pending


def test_a_thousand_requests_over_one_connection_need_one_timer(loop: Loop, timeouts: HeadTimeouts) -> None:
    kept = connection(loop)
    for number in range(1000):
        loop.now = 100.0 + number / 100
        timeouts.start(kept, loop.now + 30.0, late("headers"))
        timeouts.stop(kept)
    assert len(loop.timers) == 1


def test_many_that_are_due_one_after_the_other_are_checked_together(loop: Loop, timeouts: HeadTimeouts) -> None:
    waiting = [connection(loop) for _ in range(1000)]
    for number, each in enumerate(waiting):
        timeouts.start(each, 130.0 + number / 1000, late("headers"))
    checks = 0
    while loop.pending:
        loop.run_until(loop.pending[0].due)
        checks += 1
    assert checks <= 1 / CHECK_S + 2
    for number, each in enumerate(waiting):
        [(failed_at, _)] = each.failed
        assert -0.01 <= failed_at - (130.0 + number / 1000) <= CHECK_S + 0.01


def test_nothing_fails_and_no_timer_stays_after_the_end(loop: Loop, timeouts: HeadTimeouts) -> None:
    pending = connection(loop)
    timeouts.start(pending, 130.0, late("headers"))
    timeouts.close()
    timeouts.stop(pending)
    loop.run_until(200.0)
    assert pending.failed == []
    assert not loop.pending


@pytest.mark.parametrize("due", [110.0, 130.0, 150.0], ids=["before", "with", "after"])
def test_what_starts_after_a_close_fails_when_it_is_due_and_what_was_closed_does_not(
    loop: Loop, timeouts: HeadTimeouts, due: float
) -> None:
    closed, later = connection(loop), connection(loop)
    timeouts.start(closed, 130.0, late("closed"))
    timeouts.close()
    timeouts.close()
    timeouts.start(later, due, late("headers"))
    loop.run_until(200.0)
    assert closed.failed == []
    assert later.failed == [(due, "headers")]
    assert not loop.pending

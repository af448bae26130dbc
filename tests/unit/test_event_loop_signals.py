"""Signals that end a command, around the making of its event loop."""

import signal
from collections.abc import Iterable

import pytest

from crawler.cli.run.interrupts import ending_signals
from crawler.cli.run.running import in_event_loop


def test_a_signal_that_comes_right_before_they_are_blocked_leaves_none_of_them_blocked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    change = signal.pthread_sigmask

    def interrupted(how: int, numbers: Iterable[int]) -> set[int | signal.Signals]:
        """As Python raises what has come meanwhile after the system has changed the mask."""
        blocked = list(numbers)
        before = change(how, blocked)
        if how == signal.SIG_BLOCK and blocked:
            raise KeyboardInterrupt
        return before

    async def work() -> None:
        pytest.fail("it must not begin")

    before = change(signal.SIG_BLOCK, ())
    monkeypatch.setattr(signal, "pthread_sigmask", interrupted)
    try:
        with pytest.raises(KeyboardInterrupt):
            in_event_loop(work)
        assert change(signal.SIG_BLOCK, ()).isdisjoint(ending_signals())
    finally:
        change(signal.SIG_SETMASK, before)

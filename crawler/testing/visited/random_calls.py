"""A visited set against a Python set, through random adds, repeats, forgets, snapshots, crashes and reloads."""

import asyncio
import gc
import io
import shutil
import tempfile
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Final, TypeVar

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from crawler.testing.visited.suite import VisitedSetSuite
from visited import CannotForget, VisitedSet

_Result = TypeVar("_Result")
STARTS, LENGTHS = st.integers(0, 1_500), st.integers(0, 250)
SHORT: Final = settings(
    max_examples=12,
    stateful_step_count=20,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=list(HealthCheck),
)


class RandomCallTests(VisitedSetSuite):
    """Calls in an order that nobody has thought of."""

    def test_it_is_a_set_whatever_is_called(self) -> None:
        run_random_calls(self.make_set, SHORT, machine=SetMachine if self.has_snapshots else AskingMachine)


class AskingMachine(RuleBasedStateMachine):
    """The set, and the URLs that it must know. The set may lie on a server."""

    make_set: Callable[[Path], VisitedSet]

    def __init__(self) -> None:
        super().__init__()
        self.loop = asyncio.new_event_loop()
        gc.freeze()  # so that a collection looks at what this machine makes, and takes no time
        self.directory = Path(tempfile.mkdtemp(prefix="visited-"))
        self.visited = self.make_set(self.directory)
        self.known: set[str] = set()
        self.can_forget = True

    @rule(start=STARTS, length=LENGTHS, step=st.integers(1, 3))
    def add(self, start: int, length: int, step: int) -> None:
        self.check_add(some_urls(start, length, step=step))

    @rule(start=STARTS, length=st.integers(0, 40))
    def add_with_repeats_in_the_batch(self, start: int, length: int) -> None:
        urls = some_urls(start, length)
        self.check_add([*urls, *urls[::2], *urls[:3]])

    @precondition(lambda self: self.can_forget)
    @rule(start=STARTS, length=st.integers(0, 60))
    def forget(self, start: int, length: int) -> None:
        urls = some_urls(start, length)
        try:
            forgotten = self.call(self.visited.forget_many(urls))
        except CannotForget:
            self.can_forget = False
        else:
            assert forgotten == len(self.known.intersection(urls))
            self.known.difference_update(urls)

    @invariant()
    def it_counts_what_it_knows(self) -> None:
        assert len(self.visited) == len(self.known)
        assert self.visited.describe().count == len(self.known)

    def check_add(self, urls: list[str]) -> None:
        """Add URLs, and compare the answer."""
        known, expected = set(self.known), []
        for url in urls:
            expected.append(url not in known)
            known.add(url)
        assert self.call(self.visited.add_many(urls)) == expected
        self.known = known

    def call(self, call: Coroutine[None, None, _Result]) -> _Result:
        """The result of a call of the set."""
        return self.loop.run_until_complete(call)

    def teardown(self) -> None:
        self.call(self.visited.aclose())
        self.loop.close()
        gc.unfreeze()
        shutil.rmtree(self.directory)


class SetMachine(AskingMachine):
    """It also has snapshots, and files."""

    def __init__(self) -> None:
        super().__init__()
        self.saved: tuple[bytes, set[str]] | None = None

    @rule()
    def dump(self) -> None:
        file = io.BytesIO()
        self.visited.dump(file)
        self.saved = file.getvalue(), set(self.known)

    @precondition(lambda self: self.saved is not None)
    @rule(closes=st.booleans())
    def crash_and_reload(self, closes: bool) -> None:
        assert self.saved is not None
        if closes:
            self.call(self.visited.aclose())
        # Without closing the object is dropped, as a process that is killed drops it.
        del self.visited
        gc.collect()  # an object in a circle would keep its files until some later moment
        self.visited = self.make_set(self.directory)
        self.visited.load(io.BytesIO(self.saved[0]))
        self.known = set(self.saved[1])

    @precondition(lambda self: self.saved is not None)
    @rule()
    def go_back(self) -> None:
        assert self.saved is not None
        self.visited.load(io.BytesIO(self.saved[0]))
        self.known = set(self.saved[1])


def run_random_calls(
    make_set: Callable[[Path], VisitedSet], chosen: settings, *, machine: type[AskingMachine] = SetMachine
) -> None:
    """Try many orders of calls. Hypothesis makes machines without arguments, so each set has a class of its own."""
    run_state_machine_as_test(type("Machine", (machine,), {"make_set": staticmethod(make_set)}), settings=chosen)


def some_urls(start: int, length: int, *, step: int = 1) -> list[str]:
    return [f"http://h{number % 7}.example/{number * 31}" for number in range(start, start + length * step, step)]

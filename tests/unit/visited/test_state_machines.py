"""Every set against a Python set, through random adds, repeats, forgets, snapshots, crashes and reloads."""

import gc
import io
import shutil
import tempfile
from collections.abc import Coroutine
from pathlib import Path
from typing import TypeVar

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from tests.unit.visited.sets import SETS, Maker
from visited import CannotForget

Result = TypeVar("Result")
STARTS, LENGTHS = st.integers(0, 1_500), st.integers(0, 250)


def now(call: Coroutine[object, object, Result]) -> Result:
    """Run a coroutine that never waits."""
    try:
        call.send(None)
    except StopIteration as done:
        result: Result = done.value
        return result
    raise AssertionError("a local set waited for something")


def urls_of(start: int, length: int, *, step: int = 1) -> list[str]:
    return [f"http://h{number % 7}.example/{number * 31}" for number in range(start, start + length * step, step)]


class Machine(RuleBasedStateMachine):
    """The set, and the URLs that it must know."""

    maker: Maker

    def __init__(self) -> None:
        super().__init__()
        self.directory = Path(tempfile.mkdtemp(prefix="visited-"))
        self.visited = self.maker(self.directory)
        self.known: set[str] = set()
        self.saved: tuple[bytes, set[str]] | None = None
        self.can_forget = True

    @rule(start=STARTS, length=LENGTHS, step=st.integers(1, 3))
    def add(self, start: int, length: int, step: int) -> None:
        self.check_add(urls_of(start, length, step=step))

    @rule(start=STARTS, length=st.integers(0, 40))
    def add_with_repeats_in_the_batch(self, start: int, length: int) -> None:
        urls = urls_of(start, length)
        self.check_add([*urls, *urls[::2], *urls[:3]])

    @precondition(lambda self: self.can_forget)
    @rule(start=STARTS, length=st.integers(0, 60))
    def forget(self, start: int, length: int) -> None:
        urls = urls_of(start, length)
        try:
            forgotten = now(self.visited.forget_many(urls))
        except CannotForget:
            self.can_forget = False
        else:
            assert forgotten == len(self.known.intersection(urls))
            self.known.difference_update(urls)

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
            now(self.visited.aclose())
        # Without closing the object is dropped, as a process that is killed drops it.
        del self.visited
        gc.collect()  # what stands in a circle would hold its files until some later moment
        self.visited = self.maker(self.directory)
        self.visited.load(io.BytesIO(self.saved[0]))
        self.known = set(self.saved[1])

    @precondition(lambda self: self.saved is not None)
    @rule()
    def go_back(self) -> None:
        assert self.saved is not None
        self.visited.load(io.BytesIO(self.saved[0]))
        self.known = set(self.saved[1])

    @invariant()
    def it_counts_what_it_knows(self) -> None:
        assert len(self.visited) == len(self.known)
        assert self.visited.describe().count == len(self.known)

    def check_add(self, urls: list[str]) -> None:
        known, expected = set(self.known), []
        for url in urls:
            expected.append(url not in known)
            known.add(url)
        assert now(self.visited.add_many(urls)) == expected
        self.known = known

    def teardown(self) -> None:
        now(self.visited.aclose())
        shutil.rmtree(self.directory)


def machine_of(name: str) -> type[Machine]:
    """Hypothesis makes machines without arguments, so each set has a class of its own."""
    return type(f"MachineOf{name}", (Machine,), {"maker": staticmethod(SETS[name])})


@pytest.mark.parametrize("name", SETS)
def test_it_is_a_set_whatever_happens(name: str) -> None:
    run_state_machine_as_test(
        machine_of(name),
        settings=settings(
            max_examples=20,
            stateful_step_count=20,
            deadline=None,
            derandomize=True,
            suppress_health_check=list(HealthCheck),
        ),
    )


@pytest.mark.long
@pytest.mark.parametrize("name", SETS)
def test_it_is_a_set_whatever_happens_and_however_long(name: str) -> None:
    run_state_machine_as_test(
        machine_of(name),
        settings=settings(
            max_examples=150, stateful_step_count=50, deadline=None, suppress_health_check=list(HealthCheck)
        ),
    )

"""The promises of every visited set, kept by ours."""

from io import BytesIO
from pathlib import Path

import pytest
from hypothesis import settings

from crawler.testing import VisitedSetContract
from crawler.testing.loops import in_event_loop
from crawler.testing.visited.answers import AnswerTests
from crawler.testing.visited.random_calls import SHORT, RandomCallTests, run_random_calls
from crawler.testing.visited.snapshots import SnapshotTests
from crawler.testing.visited.suite import Make, VisitedSetSuite, dump_and_close
from tests.unit.visited.sets import BY_KERNEL, DESCRIBED, FORMS, SETS, STACKED
from visited import CannotForget, SnapshotRefused, VisitedSet
from visited.backends import BACKENDS, descriptor, descriptors
from visited.descriptor import Descriptor

EMPTY: dict[str, tuple[str, bytes]] = {}
"""Of each set, its backend and what it dumps while it is empty. Made once for all tests."""


class OurTests(VisitedSetSuite):
    """What ours promise beyond: messages that say what was expected and what was found."""

    @in_event_loop
    async def test_the_refusal_of_a_batch_says_what_was_expected(self, make: Make) -> None:
        visited = make()
        with pytest.raises(TypeError, match="expected str for each URL, found int at 1"):
            await visited.add_many(["http://a/", 7])  # type: ignore[list-item]
        with pytest.raises(TypeError, match="found one str"):
            await visited.add_many("http://a/")
        for batch, name in ((iter(["http://a/"]), "list_iterator"), ({"http://a/"}, "set"), ({"http://a/": 1}, "dict")):
            with pytest.raises(TypeError, match=f"expected a sequence of URLs, found {name}; make a list of it"):
                await visited.add_many(batch)  # type: ignore[arg-type]
            with pytest.raises((TypeError, CannotForget), match=r"expected a sequence of URLs, found|can't forget"):
                await visited.forget_many(batch)  # type: ignore[arg-type]
        await visited.aclose()

    @in_event_loop
    async def test_the_snapshot_of_another_backend_is_refused(self, make: Make, tmp_path: Path) -> None:
        visited = make()
        for name, make_other in (DESCRIBED | STACKED).items():
            if name not in EMPTY:
                other = make_other(tmp_path / "others" / name)
                EMPTY[name] = other.describe().backend, (await dump_and_close(other)).getvalue()
            backend, snapshot = EMPTY[name]
            if backend != visited.describe().backend:
                with pytest.raises(SnapshotRefused, match="backend"):
                    visited.load(BytesIO(snapshot))
        await visited.aclose()


class TestDescribed(OurTests, VisitedSetContract):
    @pytest.fixture(autouse=True, params=BACKENDS)
    def _choose(self, request: pytest.FixtureRequest) -> None:
        self.name: str = request.param

    @property
    def descriptor(self) -> Descriptor:  # type: ignore[override]  # not every descriptor can be sent to a process
        return descriptor(self.name)


class TestWithOptions(OurTests, VisitedSetContract):
    @pytest.fixture(autouse=True, params=FORMS)
    def _choose(self, request: pytest.FixtureRequest) -> None:
        name, self.options = FORMS[request.param]
        self.descriptor = descriptor(name)


class TestStacked(OurTests, VisitedSetContract):
    @pytest.fixture(autouse=True, params=STACKED)
    def _choose(self, request: pytest.FixtureRequest) -> None:
        self.name: str = request.param

    @property
    def has_files(self) -> bool:
        return self.name == "stacked"

    def make_set(self, directory: Path) -> VisitedSet:
        return STACKED[self.name](directory)


class TestKernels(OurTests, AnswerTests, SnapshotTests, RandomCallTests):
    """Snapshots are the same whichever kernel made them, so other processes prove nothing here."""

    @pytest.fixture(autouse=True, params=BY_KERNEL)
    def _choose(self, request: pytest.FixtureRequest) -> None:
        self.name: str = request.param

    def make_set(self, directory: Path) -> VisitedSet:
        return BY_KERNEL[self.name](directory)


@pytest.mark.long
@pytest.mark.parametrize("name", SETS)
def test_it_is_a_set_whatever_is_called_and_however_often(name: str) -> None:
    run_random_calls(SETS[name], settings(SHORT, max_examples=150, stateful_step_count=50, derandomize=False))


def test_each_set_is_under_contract() -> None:
    assert [each.name for each in descriptors()] == list(BACKENDS)

"""What a frontier of others gives wrongly when it is opened is named, with the plug-in."""

from types import SimpleNamespace
from typing import Any

import pytest

from crawler.wiring.plugins.checks import PluginFailed
from crawler.wiring.plugins.guarded_frontier import check_frontier, check_state
from crawler.wiring.plugins.kinds import FRONTIER
from crawler.wiring.plugins.loading import NamedBackend
from frontier.backends import BACKENDS
from frontier.descriptor import Parameters
from frontier.states.memory import DESCRIPTOR
from frontier.terms import Terms
from visited.digests.exact import ExactSet

THEIRS = NamedBackend(kind=FRONTIER, name="odd", place="odd:make", package=None)


class Instead:
    """Like another object, but for some of its members."""

    def __init__(self, other: Any, **members: Any) -> None:
        self._other = other
        self.__dict__.update(members)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._other, name)

    def __aiter__(self) -> Any:
        return self

    async def __anext__(self) -> Any:
        return await anext(self._other)


def make_state() -> Any:
    return DESCRIPTOR.make(Parameters(terms=Terms(identity={}, may_begin=True)), DESCRIPTOR.options())


async def test_a_frontier_as_its_protocol_says_is_taken_as_it_is() -> None:
    state = make_state()
    check_state(state, THEIRS)
    frontier = await state.open_frontier(ExactSet())
    assert check_frontier(frontier, THEIRS) is frontier
    await frontier.aclose()


@pytest.mark.parametrize(
    ("members", "why"),
    [
        ({"notes": None}, "expected a state with notes, found Instead"),
        ({"describe": lambda: None}, "expected FrontierStats from describe, found NoneType"),
    ],
)
def test_a_state_that_lacks_something_is_named(members: dict[str, Any], why: str) -> None:
    closed: list[bool] = []
    with pytest.raises(PluginFailed) as failed:
        check_state(Instead(make_state(), close=lambda: closed.append(True), **members), THEIRS)
    assert str(failed.value) == f'the frontier "odd" failed: {why}'
    assert closed


@pytest.mark.parametrize(
    ("members", "why"),
    [
        ({"describe": dict}, "expected FrontierStats from describe, found dict"),
        ({"pauses": ()}, "expected Pauses as pauses of Instead, found tuple"),
        (
            {"release": lambda _: None},
            "expected `def release(self, lease, /, *, cooldown_s=0.0, group_cooldown_s=None, ",
        ),
    ],
)
async def test_a_frontier_that_has_something_wrong_is_named(members: dict[str, Any], why: str) -> None:
    frontier = await make_state().open_frontier(ExactSet())
    with pytest.raises(PluginFailed) as failed:
        check_frontier(Instead(frontier, **members), THEIRS)
    assert str(failed.value).startswith(f'the frontier "odd" failed: {why}')
    await frontier.aclose()


def test_what_is_no_frontier_is_named() -> None:
    with pytest.raises(
        PluginFailed, match=r"^the frontier \"odd\" failed: .* found str, which has no add, __aiter__, "
    ):
        check_frontier("", THEIRS)


def test_ours_are_not_looked_at() -> None:
    ours = NamedBackend(kind=FRONTIER, name="memory", place=BACKENDS["memory"], package=None, is_ours=True)
    nothing = SimpleNamespace()
    assert check_frontier(nothing, ours) is nothing

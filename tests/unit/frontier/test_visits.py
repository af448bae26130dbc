"""A history of visits is bounded, and holds no interval that makes no sense."""

from hypothesis import given
from hypothesis import strategies as st

from frontier import Earlier
from frontier.visits import MAX_HISTORY, add_visit

TIMES = st.floats(-1e12, 1e12)


@given(st.none() | TIMES, TIMES, st.booleans(), st.lists(st.integers(-(2**31), 2**31), max_size=MAX_HISTORY))
def test_one_visit_more_is_the_newest_of_the_history(
    last: float | None, fetched_at: float, changed: bool, history: list[int]
) -> None:
    earlier = Earlier(visits=1, fetched_at=last, history=tuple(history))
    found = add_visit(earlier, fetched_at=fetched_at, changed=changed)
    assert len(found) <= MAX_HISTORY
    if last is None or round(fetched_at - last) <= 0:
        assert found == earlier.history
    else:
        *before, newest = found
        assert tuple(before) == earlier.history[-(MAX_HISTORY - 1) :][-len(before) :] if before else not history
        assert (newest > 0) == changed
        assert abs(newest) == min(round(fetched_at - last), 1 << 31)

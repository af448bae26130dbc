"""How long a slow server keeps others waiting."""

from hypothesis import given
from hypothesis import strategies as st

from crawler.politeness.slow_threshold import SlowThreshold


def test_patience_is_some_times_what_is_usual() -> None:
    patience = SlowThreshold()
    assert patience.limit_s == 0.5
    for _ in range(100):
        patience.answered(0.2)
    assert 0.99 <= patience.limit_s <= 1.01
    patience.answered(10.0)
    assert patience.limit_s == 2.0
    for _ in range(200):
        patience.answered(0.001)
    assert patience.limit_s == 0.1


@given(durations=st.lists(st.floats(0, 1e6)))
def test_patience_has_bounds(durations: list[float]) -> None:
    patience = SlowThreshold()
    for duration_s in durations:
        patience.answered(duration_s)
    assert 0.1 <= patience.limit_s <= 2.0

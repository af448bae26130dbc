"""How long a slow server keeps others waiting."""

from hypothesis import given
from hypothesis import strategies as st

from crawler.politeness.slow_threshold import SlowThreshold


def test_slow_threshold_is_some_times_what_is_usual() -> None:
    threshold = SlowThreshold()
    assert threshold.limit_s == 0.5
    for _ in range(100):
        threshold.add_response(0.2)
    assert 0.99 <= threshold.limit_s <= 1.01
    threshold.add_response(10.0)
    assert threshold.limit_s == 2.0
    for _ in range(200):
        threshold.add_response(0.001)
    assert threshold.limit_s == 0.1


@given(durations=st.lists(st.floats(0, 1e6)))
def test_slow_threshold_has_bounds(durations: list[float]) -> None:
    threshold = SlowThreshold()
    for duration_s in durations:
        threshold.add_response(duration_s)
    assert 0.1 <= threshold.limit_s <= 2.0

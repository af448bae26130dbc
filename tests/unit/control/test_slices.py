"""Long reads do not hold the event loop, and need little memory."""

import asyncio

from hypothesis import given
from hypothesis import strategies as st

from crawler.operate.actions import slices
from crawler.operate.actions.slices import First, in_slices


async def test_other_tasks_go_on_between_slices() -> None:
    turns = 0

    async def other() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    going_on = asyncio.create_task(other())
    items = (sum(range(2_000)) for _ in range(16 * 200))
    count = 0
    async for _ in in_slices(items):
        count += 1
    going_on.cancel()
    assert count == 16 * 200
    assert turns > 1
    assert slices.SLICE_S <= 0.02


@given(st.lists(st.integers()), st.integers(1, 5))
def test_the_first_of_any_number_are_found(numbers: list[int], wanted: int) -> None:
    first = First[int](wanted, lambda number: (number,))
    for number in numbers:
        first.add(number)
    assert first.items() == sorted(numbers)[:wanted]
    assert first.count == len(numbers)


def test_no_more_are_kept_than_needed() -> None:
    first = First[int](10, lambda number: (number,))
    for number in range(100_000, 0, -1):
        first.add(number)
        assert len(first._kept) <= 1010
    assert first.items() == list(range(1, 11))

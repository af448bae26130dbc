"""What a counting filter does with forgetting."""

import numpy as np
import pytest

from tests.unit.visited.sets import urls_of
from visited.bits.kernel import ADD, FORGET, TEST, Kernel
from visited.filters.counting import CountingSet


@pytest.mark.parametrize("width", [4, 8, 32])
async def test_forgetting_everything_leaves_nothing(kernel: Kernel, width: int) -> None:
    visited = CountingSet(capacity=5_000, error_rate=0.001, width=width, kernel=kernel)
    accepted = [
        url for url, new in zip(urls_of(0, 5_000), await visited.add_many(urls_of(0, 5_000)), strict=True) if new
    ]
    assert await visited.forget_many(accepted) == len(accepted)
    stats = visited.describe()
    assert (stats.count, stats.fill) == (0, 0.0)
    assert not any(bytes(visited._cells.array))


async def test_what_was_never_added_is_refused_and_counted(kernel: Kernel) -> None:
    visited = CountingSet(capacity=5_000, error_rate=0.001, kernel=kernel)
    await visited.add_many(urls_of(0, 1_000))
    before = bytes(visited._cells.array)
    assert await visited.forget_many(urls_of(10_000, 12_000)) == 0
    stats = visited.describe()
    assert stats.details["refused_to_forget"] == 2_000
    assert stats.count == 1_000
    assert bytes(visited._cells.array) == before


async def test_forgetting_strangers_breaks_others_at_the_stated_rate_only(kernel: Kernel) -> None:
    visited = CountingSet(capacity=4_000, error_rate=0.01, kernel=kernel)
    urls = urls_of(0, 4_000)
    accepted = [url for url, new in zip(urls, await visited.add_many(urls), strict=True) if new]
    rate = visited.describe().false_positive_rate
    strangers = urls_of(50_000, 70_000)
    passed = await visited.forget_many(strangers)
    assert passed == pytest.approx(rate * len(strangers), rel=0.35)
    wrongly = visited.describe().details["expected_wrongly_forgotten"]
    assert wrongly == pytest.approx(passed, rel=0.35)
    # Each that passed took one count from each of its k counters; a URL is broken where one of these was its last.
    broken = visited.has_many(accepted).count(False)
    assert broken <= passed * 2 * 7


@pytest.mark.parametrize(("width", "most"), [(4, 15), (8, 255)])
def test_a_full_counter_stays_full(kernel: Kernel, width: int, most: int) -> None:
    counters = np.zeros(16, np.uint32)
    kernel.counting_probe(["http://a/"], counters, width, 3, 0, ADD)
    cells = 16 * 32 // width
    used = [place for place in range(cells) if read(counters, width, place)]
    for place in used:
        write(counters, width, place, most - 1)
    other = same_counter(kernel, width, used)
    _, absent, _, saturated = kernel.counting_probe([other], counters, width, 3, 0, ADD)
    assert absent == 1
    assert saturated >= 1
    full = [place for place in used if read(counters, width, place) == most]
    assert full
    for _ in range(20):
        kernel.counting_probe([other, "http://a/"], counters, width, 3, 0, FORGET)
    assert all(read(counters, width, place) == most for place in full)


def same_counter(kernel: Kernel, width: int, used: list[int]) -> str:
    """Another URL that shares a counter with those in use, and has one of its own."""
    for number in range(10_000):
        counters = np.zeros(16, np.uint32)
        url = f"http://b/{number}"
        kernel.counting_probe([url], counters, width, 3, 0, ADD)
        own = {place for place in range(16 * 32 // width) if read(counters, width, place)}
        if own & set(used) and own - set(used):
            return url
    raise AssertionError("no such URL")


def read(counters: object, width: int, place: int) -> int:
    number = int.from_bytes(memoryview(counters).cast("B"), "little")  # type: ignore[arg-type]
    return number >> place * width & (1 << width) - 1


def write(counters: object, width: int, place: int, value: int) -> None:
    view = memoryview(counters).cast("B")  # type: ignore[arg-type]
    number = int.from_bytes(view, "little") & ~(((1 << width) - 1) << place * width) | value << place * width
    view[:] = number.to_bytes(len(view), "little")


async def test_an_overfull_filter_still_knows_all_it_was_given() -> None:
    visited = CountingSet(capacity=50, error_rate=0.3)
    await visited.add_many(urls_of(0, 3_000))
    assert visited.describe().fill == 1
    assert await visited.add_many(urls_of(0, 3_000)) == [False] * 3_000


def test_widths_that_are_none_are_refused() -> None:
    with pytest.raises(ValueError, match="width must be 4, 8 or 32"):
        CountingSet(capacity=10, error_rate=0.1, width=16)


def test_probing_for_a_test_changes_nothing(kernel: Kernel) -> None:
    visited = CountingSet(capacity=100, error_rate=0.1, kernel=kernel)
    assert visited.has_many(["http://a/"]) == [False]
    assert not any(bytes(visited._cells.array))
    assert kernel.counting_probe([], visited._cells.array, 4, 3, 0, TEST) == ([], 0, 0, 0)

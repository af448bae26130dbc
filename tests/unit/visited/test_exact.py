"""The table of the exact set: where its digests lie, and that nobody can choose URLs that crowd in it."""

from collections.abc import Mapping
from io import BytesIO

import pytest

from tests.unit.visited.sets import dumped
from visited import SnapshotRefused
from visited.bits.kernel import Kernel, best_kernel
from visited.digests.exact import BACKEND, ExactSet
from visited.snapshot import Value, read_snapshot, write_snapshot

FACTOR = 0x9E3779B97F4A7C15
URLS = [f"http://a.test/{number}" for number in range(3000)]


def chosen(kernel: Kernel, count: int) -> list[str]:
    """URLs whose digests are the last ones of all: one in 256."""
    found: list[str] = []
    number = 0
    while len(found) < count:
        urls = [f"http://a.test/{each}" for each in range(number, number + 10_000)]
        digests = kernel.digest_many(urls)
        found += [url for url, first in zip(urls, digests[::16], strict=True) if first == 255]
        number += len(urls)
    return found[:count]


async def test_chosen_urls_take_no_more_memory_than_others() -> None:
    urls = chosen(best_kernel(), 1000)
    taken = []
    for wanted, factor in ((urls, FACTOR), (URLS[:1000], FACTOR), (urls, 1)):
        visited = ExactSet(factor=factor)
        assert all(await visited.add_many(wanted))
        assert not any(await visited.add_many(wanted))
        taken.append(visited.describe().memory_bytes)
    assert taken[0] < 1.3 * taken[1]
    assert taken[2] > 10 * taken[1], "without a factor, they crowd at the end of the table"


async def test_a_snapshot_brings_its_factor() -> None:
    before, after = ExactSet(), ExactSet()
    await before.add_many(URLS)
    after.load(BytesIO(dumped(before)))
    assert not any(await after.add_many(URLS))
    assert dumped(after) == dumped(before)
    assert dumped(ExactSet()) != dumped(ExactSet())


@pytest.mark.parametrize("factor", [2, 0, -1, 2**64 + 1, "1", 1.0])
async def test_a_factor_that_no_set_has_is_refused(factor: Value) -> None:
    visited = ExactSet(factor=1)
    with pytest.raises(SnapshotRefused, match=r"an odd factor below 2|number 'factor'"):
        visited.load(BytesIO(with_factor(visited, factor)))


def with_factor(visited: ExactSet, factor: Value) -> bytes:
    """A snapshot of a set, with another factor."""
    parameters: Mapping[str, Value] = {"hash": "md5", "layout": "ordered"}
    found = read_snapshot(BytesIO(dumped(visited)), backend=BACKEND, parameters=parameters)
    file = BytesIO()
    write_snapshot(
        file, backend=BACKEND, parameters=parameters, state={**found.state, "factor": factor}, parts=found.parts
    )
    return file.getvalue()

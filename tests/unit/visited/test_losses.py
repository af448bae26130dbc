"""What filters of a fixed size tell of their losses, over a restart too."""

from collections.abc import Callable
from io import BytesIO

import msgspec
import pytest

from tests.unit.visited.test_statistics import OVERRUN
from visited import SnapshotRefused, VisitedSet
from visited.filters.bloom import BloomSet
from visited.filters.counting import CountingSet
from visited.snapshot import read_snapshot, write_snapshot


def urls(start: int, end: int) -> list[str]:
    return [f"http://a.test/{number}" for number in range(start, end)]


def reloaded(visited: VisitedSet, name: str, *, parts_less: int = 0) -> VisitedSet:
    """A set that took over a snapshot, without the last parts of it."""
    dumped = BytesIO()
    visited.dump(dumped)
    if parts_less:
        header = msgspec.json.decode(dumped.getvalue()[24:].split(b"]}", 1)[0] + b"]}")
        dumped.seek(0)
        backend, parameters = header["backend"], header["parameters"]
        snapshot = read_snapshot(dumped, backend=backend, parameters=parameters)
        dumped = BytesIO()
        kept = snapshot.parts[:-parts_less]
        write_snapshot(dumped, backend=backend, parameters=parameters, state=snapshot.state, parts=kept)
    after = OVERRUN[name](0)
    after.load(BytesIO(dumped.getvalue()))
    return after


@pytest.mark.parametrize("name", OVERRUN)
async def test_a_restart_changes_nothing_of_what_an_overrun_filter_tells(name: str) -> None:
    through, before = OVERRUN[name](0), OVERRUN[name](0)
    for visited in (through, before):
        await visited.add_many(urls(0, 12_000))
    after = reloaded(before, name)
    for visited in (through, after):
        await visited.add_many(urls(12_000, 20_000))
    assert after.describe() == through.describe()


@pytest.mark.parametrize("make", [BloomSet, CountingSet])
async def test_a_filter_that_one_batch_has_filled_tells_what_it_loses(
    make: Callable[..., VisitedSet],
) -> None:
    visited = make(capacity=1, error_rate=0.01)
    for start in range(0, 3_000, 50):
        await visited.add_many(urls(start, start + 50))
    assert visited.describe().fill == 1.0
    assert visited.describe().expected_lost == pytest.approx(3_000 - len(visited), rel=0.1)


@pytest.mark.parametrize("name", OVERRUN)
async def test_a_snapshot_without_a_sketch_is_refused(name: str) -> None:
    with pytest.raises(SnapshotRefused, match="expected parts of"):
        reloaded(OVERRUN[name](0), name, parts_less=1)

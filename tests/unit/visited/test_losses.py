"""What filters of a fixed size tell of their losses, over a restart too."""

from io import BytesIO

import msgspec
import pytest

from tests.unit.visited.test_statistics import OVERRUN
from visited import SnapshotRefused, VisitedSet
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


@pytest.mark.parametrize("name", OVERRUN)
async def test_a_snapshot_from_before_there_were_sketches_is_taken_over(name: str) -> None:
    """URLs that came before would be taken for lost ones, if the sketch began in the middle."""
    before = OVERRUN[name](0)
    await before.add_many(urls(0, 3_000))
    after = reloaded(before, name, parts_less=1)
    told = after.describe().expected_lost
    await after.add_many(urls(0, 3_000))
    assert after.describe().expected_lost == pytest.approx(told)
    again = reloaded(after, name)
    assert again.describe() == after.describe()
    with pytest.raises(SnapshotRefused, match="expected parts of"):
        reloaded(again, name, parts_less=1)

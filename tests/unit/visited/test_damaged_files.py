"""What a set keeps on disk may be damaged: then it is rebuilt, and is never believed."""

from io import BytesIO
from pathlib import Path

import plyvel
import pytest

from visited import SnapshotRefused
from visited.digests.exact_leveldb import LevelDBSet
from visited.splitting.splitting_set import SplittingSet

URLS = [f"http://a.test/{number}" for number in range(30_000)]


def flip(path: Path, share: float) -> None:
    content = bytearray(path.read_bytes())
    content[int(len(content) * share)] ^= 16
    path.write_bytes(content)


async def test_digests_whose_table_is_damaged_are_rebuilt(tmp_path: Path) -> None:
    dumped = BytesIO()
    before = LevelDBSet(tmp_path / "exact")
    await before.add_many(URLS)
    before.dump(dumped)
    await before.aclose()
    with plyvel.DB(str(tmp_path / "exact")) as db:
        db.compact_range()
    for path in (tmp_path / "exact").glob("*.ldb"):
        flip(path, 0.5)
    after = LevelDBSet(tmp_path / "exact")
    after.load(BytesIO(dumped.getvalue()))
    with pytest.raises(OSError, match="is rebuilt by the next start"):
        await after.add_many(URLS)
    await after.aclose()
    again = LevelDBSet(tmp_path / "exact")
    with pytest.raises(SnapshotRefused, match="rebuild it"):
        again.load(BytesIO(dumped.getvalue()))
    assert all(await again.add_many(URLS))
    await again.aclose()


async def test_digests_whose_log_is_damaged_are_rebuilt(tmp_path: Path) -> None:
    dumped = BytesIO()
    before = LevelDBSet(tmp_path / "exact")
    await before.add_many(URLS)
    before.dump(dumped)
    await before.aclose()
    for path in (tmp_path / "exact").glob("*.log"):
        flip(path, 0.5)
    with pytest.raises(SnapshotRefused, match="rebuild it"):
        LevelDBSet(tmp_path / "exact").load(BytesIO(dumped.getvalue()))


async def test_a_list_of_fingerprints_that_is_damaged_is_rebuilt(tmp_path: Path) -> None:
    dumped = BytesIO()
    before = SplittingSet(capacity=1000, error_rate=0.001, directory=tmp_path / "dsbf")
    await before.add_many(URLS)
    before.dump(dumped)
    await before.aclose()
    flip(tmp_path / "dsbf" / "leaves", 0.5)
    after = SplittingSet(capacity=1000, error_rate=0.001, directory=tmp_path / "dsbf")
    with pytest.raises(SnapshotRefused, match="damaged"):
        after.load(BytesIO(dumped.getvalue()))
    await after.aclose()

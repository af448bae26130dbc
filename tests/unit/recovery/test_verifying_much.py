"""`inspect verify` takes little memory for a large crawl, and says what to do when its temporary file has no room."""

import errno
import os
import tracemalloc
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from config import load
from crawler.cli.errors import known_error
from crawler.disk.directory import CrawlDirectory
from crawler.wiring.recovery import indexes
from crawler.wiring.recovery.facts import Fact, Facts, NoRoom, Source
from crawler.wiring.recovery.indexes import index_problems, repair_indexes
from crawler.wiring.recovery.machines import OtherMachines
from crawler.wiring.recovery.verification import Verification
from crawler.write.cdxj.making import index_of
from frontier import KnownUrl
from frontier.descriptor import Problem

LINES = 40_000


def lines(_: Path | None = None) -> Iterator[bytes]:
    """In the order of the archive, as sorted ones."""
    return (
        b'org,example)/%08d 20261120183816 {"url": "%s", "offset": "%d"}' % (n, b"x" * 200, n) for n in range(LINES)
    )


@pytest.fixture
def archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(indexes, "lines_of", lines)
    path = tmp_path / "a-00000.warc.gz"
    path.write_bytes(b"")
    index_of(path).write_bytes(b"".join(line + b"\n" for line in lines()))
    return path


def test_an_index_is_compared_in_less_memory_than_its_lines_take(archive: Path) -> None:
    list(index_problems(archive.parent))  # what is imported for it stays
    tracemalloc.start()
    assert list(index_problems(archive.parent)) == []
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 100 * LINES


def test_an_index_that_is_not_sorted_is_wrong(archive: Path) -> None:
    first, second, *rest = index_of(archive).read_bytes().splitlines(keepends=True)
    index_of(archive).write_bytes(b"".join([second, first, *rest]))
    [problem] = index_problems(archive.parent)
    assert "lacks 0 captures, and has 0 lines" in problem.message


def test_the_lines_that_an_index_lacks_are_counted_in_several_passes(
    archive: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(indexes, "_AT_ONCE", LINES // 2)
    right = index_of(archive).read_bytes().splitlines(keepends=True)
    index_of(archive).write_bytes(b"".join([*right[100:], b"zzz foreign\n", b"zzz foreign too\n"]))
    [problem] = index_problems(archive.parent)
    assert "lacks 100 captures, and has 2 lines" in problem.message


def test_an_archive_whose_disk_fails_is_no_fault_of_its_index(archive: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(_: Path) -> Iterator[bytes]:
        yield next(lines())
        raise OSError(errno.EIO, os.strerror(errno.EIO))  # without the name of the file, as `read` raises it

    monkeypatch.setattr(indexes, "lines_of", failing)
    assert list(index_problems(archive.parent)) == []
    assert repair_indexes(archive.parent) == 0


class NoLedger:
    """Of a crawl that has settled nothing."""

    numbers_given = 0

    def known(self, canonical: str, /) -> KnownUrl | None:
        return None

    def all_known(self, after: str = "", /) -> Iterator[KnownUrl]:
        return iter(())


async def test_lines_that_cannot_be_read_are_all_told_in_less_memory_than_they_take(tmp_path: Path) -> None:
    crawl = CrawlDirectory(tmp_path / "crawl")
    crawl.records.mkdir(parents=True)
    (crawl.records / "records-00000.jsonl").write_bytes(b'{"number": damaged}\n' * LINES)
    loaded = load(None, overrides=['crawl.seeds=["http://a.test/"]', "output.warc=false"], environ={})

    async def told(verification: Verification) -> AsyncIterator[Problem]:
        try:
            async for problem in verification.problems():
                yield problem
        finally:
            verification.close()

    tracemalloc.start()
    count, last = 0, None
    async for problem in told(Verification(loaded, [crawl], NoLedger(), others=OtherMachines())):
        count, last = count + 1, problem
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert count == LINES
    assert last is not None
    assert f"the line at byte {20 * (LINES - 1)} can't be read" in last.message
    assert peak < 50 * LINES


def test_no_room_for_what_is_compared_is_told_with_what_to_do() -> None:
    facts = Facts()
    facts._database.execute("PRAGMA max_page_count = 20")
    with pytest.raises(NoRoom, match="set SQLITE_TMPDIR") as raised:
        facts.add(Source.LEDGER, (Fact(number, f"http://a.test/{number}" * 10) for number in range(10_000)))
    facts.close()
    told = known_error(raised.value)
    assert told is not None
    assert told.exit_code == 1

"""`inspect verify` takes little memory for a large crawl, and says what to do when its temporary file has no room."""

import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import pytest

from crawler.cli.errors import known_error
from crawler.wiring.recovery import indexes
from crawler.wiring.recovery.facts import Fact, Facts, NoRoom, Source
from crawler.wiring.recovery.indexes import index_problems
from crawler.write.cdxj.making import index_of

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


def test_no_room_for_what_is_compared_is_told_with_what_to_do() -> None:
    facts = Facts()
    facts._database.execute("PRAGMA max_page_count = 20")
    with pytest.raises(NoRoom, match="set TMPDIR") as raised:
        facts.add(Source.LEDGER, (Fact(number, f"http://a.test/{number}" * 10) for number in range(10_000)))
    facts.close()
    told = known_error(raised.value)
    assert told is not None
    assert told.exit_code == 1

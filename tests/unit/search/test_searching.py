"""The index of a search follows the records of a crawl."""

import errno
import io
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, BinaryIO, Self

import msgspec
import pytest

from crawler.export.archives import Archive
from crawler.export.snapshot import RecordFile
from crawler.page import PageRecord, rfc3339
from crawler.read.content.reading import read_content
from crawler.search.forms import Found
from crawler.search.gathering import Gathering
from crawler.search.index import IndexRefused, SearchIndex
from crawler.search.searching import Search
from crawler.search.words import read_query
from crawler.write.gzip_members import GzipMember, Stretch, members
from crawler.write.warc import WarcOptions, WarcSink
from tests.unit.export.written import record, write_crawl
from tests.unit.write.samples import page


class Searched:
    """A crawl that is searched."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.index = directory / "search.sqlite"
        self.told: list[str] = []

    def find(
        self,
        query: str,
        *,
        limit: int = 10,
        skip: int = 0,
        on_progress: Callable[..., None] | None = None,
        goes_on: Callable[[], bool] = lambda: True,
    ) -> Found:
        search = Search(
            self.directory,
            self.index,
            read_content=read_content,
            on_progress=on_progress or (lambda *_: None),
            on_damage=lambda file, at, _: self.told.append(f"{file} {at}"),
            say=self.told.append,
            goes_on=goes_on,
        )
        return search.find(query, limit=limit, skip=skip)

    def numbers(self, query: str) -> list[int]:
        return sorted(hit.number for hit in self.find(query, limit=1000).hits)

    def append(self, *records: PageRecord, file: int = 0) -> None:
        with (self.directory / "records" / f"records-{file:05d}.jsonl").open("ab") as lines:
            for each in records:
                lines.write(msgspec.json.encode(each) + b"\n")


def visit(number: int, text: str | None = None, *, second: int = 0, **fields: object) -> PageRecord:
    """A record with a text, of a visit at some second."""
    known = {"fetched_at": f"2026-11-20T18:38:{second:02d}.000Z", "content_type": "text/html", "main_text": text}
    return record(number, **(known | fields))


@pytest.fixture
def crawl(tmp_path: Path) -> Searched:
    return Searched(
        write_crawl(tmp_path / "crawl", [visit(1, "red shoes", title="Shop"), visit(2, "blue shoes"), visit(3, "hats")])
    )


def test_a_hit_tells_the_page_and_where_the_words_are(crawl: Searched) -> None:
    found = crawl.find("shop red")
    [hit] = found.hits
    assert (found.pages, found.searched, found.with_text) == (1, 3, 3)
    assert (hit.number, hit.url, hit.title, hit.excerpt) == (1, "http://h1.test/1", "Shop", "red shoes")
    assert [hit.title[begin:end] for begin, end in hit.title_marks] == ["Shop"]
    assert [hit.excerpt[begin:end] for begin, end in hit.excerpt_marks] == ["red"]
    assert hit.score > 0


def test_a_word_in_the_title_counts_more(tmp_path: Path) -> None:
    crawl = Searched(write_crawl(tmp_path / "crawl", [visit(1, "one red thing"), visit(2, "one thing", title="Red")]))
    assert [hit.number for hit in crawl.find("red").hits] == [2, 1]


def test_later_hits_are_skipped_to(crawl: Searched) -> None:
    both = [hit.number for hit in crawl.find("shoes").hits]
    assert [crawl.find("shoes", limit=1, skip=skip).hits[0].number for skip in (0, 1)] == both
    assert crawl.find("shoes", skip=2).hits == []


def test_what_was_written_since_is_found(crawl: Searched) -> None:
    assert crawl.numbers("shoes") == [1, 2]
    crawl.append(visit(4, "green shoes"))
    crawl.append(visit(5, "yellow shoes"), file=1)
    assert crawl.numbers("shoes") == [1, 2, 4, 5]


def test_half_a_line_waits_for_its_rest(crawl: Searched) -> None:
    line = msgspec.json.encode(visit(4, "green shoes")) + b"\n"
    records = crawl.directory / "records" / "records-00000.jsonl"
    whole = records.read_bytes()
    records.write_bytes(whole + line[:40])
    assert crawl.numbers("shoes") == [1, 2]
    records.write_bytes(whole + line)
    assert crawl.numbers("shoes") == [1, 2, 4]
    assert crawl.told == []


@pytest.mark.parametrize(
    "line",
    [b"{nonsense", msgspec.json.encode(visit(3, "shoes", url="http://[h1.test/"))],
    ids=["no-record", "no-url"],
)
def test_a_damaged_line_is_told_and_skipped(crawl: Searched, line: bytes) -> None:
    records = crawl.directory / "records" / "records-00000.jsonl"
    size = records.stat().st_size
    with records.open("ab") as lines:
        lines.write(line + b"\n")
    crawl.append(visit(4, "green shoes"))
    assert crawl.numbers("shoes") == [1, 2, 4]
    assert crawl.told == [f"records/records-00000.jsonl {size}"]


@pytest.mark.parametrize(
    ("later", "numbers"),
    [
        (visit(9, "red boots", url="http://h1.test/1", second=1), [9]),
        (visit(9, url="http://h1.test/1", second=1, status=404), []),
        (visit(9, url="http://h1.test/1", second=1, status=301), []),
        (visit(9, url="http://h1.test/1", second=1, status=304), [1]),
        (visit(9, url="http://h1.test/1", second=1, status=None, state="failed", reason="timeout"), [1]),
        (visit(9, url="http://h1.test/1", second=1, status=503, state="failed", reason="http"), [1]),
        (visit(9, "red", url="http://h1.test/1", second=1, state="failed", reason="body-too-slow"), [1]),
        (visit(9, "red, but long ago", url="http://h1.test/1", fetched_at="2026-01-01T00:00:00.000Z"), [1]),
    ],
    ids=["changed", "gone", "moved", "unchanged", "failed", "down", "half", "earlier"],
)
def test_the_last_visit_of_a_page_counts(crawl: Searched, later: PageRecord, numbers: list[int]) -> None:
    assert crawl.numbers("red") == [1]
    crawl.append(later)
    assert crawl.numbers("red") == numbers


def test_a_page_whose_last_visit_failed_is_shown_as_it_was(crawl: Searched) -> None:
    def failures() -> list[tuple[str | None, str | None]]:
        return [(hit.fetched_at, hit.later_failure) for hit in crawl.find("red").hits]

    known: dict[str, Any] = {"url": "http://h1.test/1", "state": "failed"}
    good = "2026-11-20T18:38:00.000Z"
    crawl.append(visit(9, second=2, status=503, **known), visit(9, second=1, status=None, reason="dns", **known))
    assert failures() == [(good, "dns")]
    crawl.append(visit(9, second=3, status=500, reason="http", **known))
    assert failures() == [(good, "500")]
    crawl.append(visit(9, second=4, status=304, url="http://h1.test/1"))
    assert failures() == [(good, None)]
    crawl.append(visit(9, second=5, status=500, **known), visit(9, "red", second=6, url="http://h1.test/1"))
    assert failures() == [("2026-11-20T18:38:06.000Z", None)]


def test_pages_of_deleted_records_are_not_found(crawl: Searched) -> None:
    crawl.append(visit(4, "green shoes"), file=1)
    assert crawl.numbers("shoes") == [1, 2, 4]
    (crawl.directory / "records" / "records-00000.jsonl").unlink()
    assert crawl.numbers("shoes") == [4]


def test_records_that_can_not_be_read_are_named_and_the_rest_goes_on(crawl: Searched) -> None:
    crawl.append(visit(4, "green shoes"), file=1)
    assert crawl.numbers("shoes") == [1, 2, 4]
    records = crawl.directory / "records" / "records-00001.jsonl"
    away = records.rename(crawl.directory / "away")
    records.symlink_to(records.name)
    crawl.append(visit(5, "yellow shoes"), file=2)
    found = crawl.find("shoes")
    assert sorted(hit.number for hit in found.hits) == [1, 2, 4, 5]
    [note] = found.notes
    assert note.startswith("records/records-00001.jsonl can't be read (Too many levels of symbolic links)")
    assert found.read_bytes == found.records_bytes
    records.unlink()
    away.rename(records)
    crawl.append(visit(6, "grey shoes"), file=1)
    assert crawl.numbers("shoes") == [1, 2, 4, 5, 6]
    assert crawl.find("shoes").notes == []


def test_what_later_visits_say_counts_although_earlier_records_are_read_after_them(crawl: Searched) -> None:
    records = crawl.directory / "records" / "records-00000.jsonl"
    away = records.rename(crawl.directory / "away")
    records.symlink_to(records.name)
    crawl.append(visit(2, second=1, status=404), visit(4, "green shoes"), file=1)
    assert crawl.numbers("shoes") == [4]
    records.unlink()
    away.rename(records)
    assert crawl.numbers("shoes") == [1, 4]
    crawl.append(visit(5, "yellow shoes"), file=1)
    assert crawl.numbers("shoes") == [1, 4, 5]


@pytest.mark.parametrize("reads", [0, 1, 2])
def test_what_precedes_bytes_that_can_not_be_read_is_searched(
    crawl: Searched, monkeypatch: pytest.MonkeyPatch, reads: int
) -> None:
    class Failing(io.BytesIO):
        left = reads

        def readline(self, size: int | None = -1, /) -> bytes:
            if not self.left:
                raise OSError(errno.EIO, "Input/output error")
            self.left -= 1
            return super().readline(size)

    def open_failing(path: Path, mode: str = "r", **options: Any) -> Any:
        return Failing(content) if path.name == "records-00000.jsonl" else opened(path, mode, **options)

    opened = Path.open
    content = (crawl.directory / "records" / "records-00000.jsonl").read_bytes()
    crawl.append(visit(4, "green shoes"), file=1)
    with monkeypatch.context() as patched:
        patched.setattr(Path, "open", open_failing)
        found = crawl.find("shoes")
    assert sorted(hit.number for hit in found.hits) == [*range(1, 1 + reads), 4]
    [note] = found.notes
    assert note.startswith("records/records-00000.jsonl can't be read (Input/output error)")
    assert crawl.numbers("shoes") == [1, 2, 4]


def test_records_that_were_written_anew_are_read_anew(crawl: Searched) -> None:
    assert crawl.numbers("shoes") == [1, 2]
    write_crawl(crawl.directory, [visit(7, "other shoes " * 100)])
    assert crawl.numbers("shoes") == [7]
    assert crawl.find("shoes").searched == 1


def test_records_that_a_crash_has_cut_are_read_anew(crawl: Searched) -> None:
    records = crawl.directory / "records" / "records-00000.jsonl"
    crawl.append(visit(9, "hats " * 2000))
    before = records.read_bytes()
    crawl.append(visit(4, "green shoes"), visit(5, "yellow shoes"))
    assert crawl.numbers("shoes") == [1, 2, 4, 5]
    records.write_bytes(before)
    crawl.append(visit(6, "grey shoes that are worn and old"), visit(7, "white shoes"), visit(8, "black shoes"))
    assert crawl.numbers("shoes") == [1, 2, 6, 7, 8]
    assert crawl.told == []


def test_an_index_of_a_crawl_without_a_page_is_none_of_the_next_crawl(crawl: Searched) -> None:
    records = crawl.directory / "records" / "records-00000.jsonl"
    content = records.read_bytes()
    records.write_bytes(b"")
    assert crawl.numbers("shoes") == []
    records.write_bytes(content)
    assert crawl.numbers("shoes") == [1, 2]
    write_crawl(crawl.directory, [visit(7, "other shoes " * 100)])
    assert crawl.numbers("shoes") == [7]


def test_what_another_process_has_read_since_is_not_dropped(crawl: Searched, monkeypatch: pytest.MonkeyPatch) -> None:
    def then_other_search(gathering: Gathering) -> list[RecordFile]:
        monkeypatch.undo()
        snapshot = gathering._files()
        crawl.append(visit(4, "green shoes"))
        crawl.append(visit(5, "yellow shoes"), file=1)
        assert crawl.numbers("shoes") == [1, 2, 4, 5]
        return snapshot

    monkeypatch.setattr(Gathering, "_files", then_other_search)
    assert crawl.numbers("shoes") == [1, 2, 4, 5]


def test_hosts_are_told_apart(tmp_path: Path) -> None:
    urls = [
        "http://a.test/",
        "http://www.a.test/",
        "http://ba.test/",
        "http://b.test:8080/",
        "http://[::1]:80/",
        "http://c.test./",
    ]
    pages = [visit(number, "red", url=url) for number, url in enumerate(urls)]
    crawl = Searched(write_crawl(tmp_path / "crawl", pages))
    assert crawl.numbers("red site:a.test") == [0, 1]
    assert crawl.numbers("red -site:a.test -site:[::1] -site:c.test") == [2, 3]
    assert crawl.numbers("red site:[0::1]") == [4]
    assert crawl.numbers("red site:ba.test site:b.test") == [2, 3]


def test_a_path_is_searched_as_people_read_it(tmp_path: Path) -> None:
    crawl = Searched(write_crawl(tmp_path / "crawl", [visit(1, "x", url="http://a.test/caf%C3%A9/old-town?q=map")]))
    assert crawl.numbers("path:café path:town path:map") == [1]
    assert crawl.numbers("test") == []


def test_a_text_of_a_page_can_hold_anything(tmp_path: Path) -> None:
    text = "red\0shoes\x02\x1b[31m\x9b31m \x03and\u200bmore\r\nlines"
    crawl = Searched(write_crawl(tmp_path / "crawl", [visit(1, text)]))
    [hit] = crawl.find("shoes").hits
    assert hit.excerpt.isprintable()
    assert [hit.excerpt[begin:end] for begin, end in hit.excerpt_marks] == ["shoes"]
    assert crawl.numbers("lines") == [1]


def test_a_text_is_shown_with_its_accents(tmp_path: Path) -> None:
    crawl = Searched(write_crawl(tmp_path / "crawl", [visit(1, "Ёлка, Ελλάδα, Straße", title="Ёлка")]))
    [hit] = crawl.find("елка ελλαδα strasse").hits
    assert (hit.title, hit.excerpt) == ("Ёлка", "Ёлка, Ελλάδα, Straße")
    assert [hit.excerpt[begin:end] for begin, end in hit.excerpt_marks] == ["Ёлка", "Ελλάδα", "Straße"]


def test_an_excerpt_of_a_long_text_is_a_piece_of_it(tmp_path: Path) -> None:
    text = f"{'first words. ' * 2000}here are red shoes{' and more of 東京都' * 2000}"
    crawl = Searched(write_crawl(tmp_path / "crawl", [visit(1, text, title="Shop"), visit(2, "s. Red!", title="Shop")]))
    excerpt, short = (hit.excerpt for hit in crawl.find("red shop").hits[::-1])
    assert excerpt.startswith("…")
    assert excerpt.endswith("…")
    assert "here are red shoes" in excerpt
    assert len(excerpt) < 300
    assert short == "s. Red!"
    excerpt, short = sorted((hit.excerpt for hit in crawl.find("title:shop").hits), key=len)[::-1]
    assert excerpt.startswith("first words. first")
    assert excerpt.endswith("words.…")
    assert short == "s. Red!"


def test_many_hits_in_one_text_take_no_long_time(tmp_path: Path) -> None:
    crawl = Searched(write_crawl(tmp_path / "crawl", [visit(1, "red shoes " * 300_000)]))
    assert len(crawl.find("red").hits[0].excerpt_marks) > 10


@pytest.mark.parametrize("damage", [b"no database at all" * 100, b""], ids=["other", "empty"])
def test_an_index_that_is_no_database_is_made_anew(crawl: Searched, damage: bytes) -> None:
    crawl.find("shoes")
    crawl.index.write_bytes(damage)
    assert crawl.numbers("shoes") == [1, 2]


def test_a_damaged_index_is_made_anew(crawl: Searched) -> None:
    crawl.append(*(visit(number, f"shoes {number} " * 50) for number in range(10, 200)))
    before = crawl.numbers("shoes")
    content = bytearray(crawl.index.read_bytes())
    for at in range(4096, len(content), 512):
        content[at : at + 64] = b"\xff" * 64
    crawl.index.write_bytes(content)
    assert crawl.numbers("shoes") == before
    assert any("is damaged, so it is made anew" in each for each in crawl.told)


@pytest.mark.parametrize("damage", ["url = CAST(x'ff' AS TEXT)", "fetched_at = x'00'"], ids=["no-utf-8", "no-text"])
def test_a_damaged_page_of_the_index_is_found(crawl: Searched, damage: str) -> None:
    crawl.find("shoes")
    with closing(sqlite3.connect(crawl.index)) as database, database:
        database.execute(f"UPDATE page SET {damage} WHERE number = 1")
    assert crawl.numbers("shoes") == [1, 2]
    assert crawl.told == [f"{crawl.index} is damaged, so it is made anew"]


def test_damage_that_sqlite_names_in_no_utf_8_is_damage(crawl: Searched) -> None:
    crawl.find("shoes")
    content = crawl.index.read_bytes()
    crawl.index.write_bytes(content.replace(b"CREATE TABLE page", b"CREATE TABLE \xb9age"))
    assert crawl.numbers("shoes") == [1, 2]


def test_a_search_sees_the_index_as_it_was_when_it_began(crawl: Searched) -> None:
    crawl.find("shoes")
    with SearchIndex(crawl.index) as one, SearchIndex(crawl.index) as other, one.reading():
        assert one.counts() == (3, 3)
        with other.changing():
            other.drop_file(other.files()["records/records-00000.jsonl"])
        assert [len(each.find(read_query("shoes"), limit=10, skip=0)[1]) for each in (one, other)] == [2, 0]


def test_an_index_of_another_version_is_made_anew(crawl: Searched) -> None:
    crawl.find("shoes")
    with closing(sqlite3.connect(crawl.index)) as database:
        database.execute("DROP TABLE words")
        database.execute("PRAGMA user_version = 99")
    assert crawl.numbers("shoes") == [1, 2]


def test_a_database_of_somebody_else_stays(crawl: Searched) -> None:
    with closing(sqlite3.connect(crawl.index)) as database:
        database.execute("CREATE TABLE theirs (x)")
    with pytest.raises(IndexRefused, match="is a database of something else"):
        crawl.find("shoes")
    with closing(sqlite3.connect(crawl.index)) as database:
        assert database.execute("SELECT name FROM sqlite_master").fetchall() == [("theirs",)]


def test_a_folder_that_takes_no_files_is_told(crawl: Searched) -> None:
    crawl.index = crawl.directory / "missing" / "search.sqlite"
    with pytest.raises(IndexRefused, match="name another file with --index"):
        crawl.find("shoes")


def test_an_interrupted_search_goes_on_where_it_was(tmp_path: Path) -> None:
    crawl = Searched(write_crawl(tmp_path / "crawl", [visit(number, "shoes") for number in range(2500)]))
    places = []

    def interrupt(done: int, _: int) -> None:
        places.append(done)
        if len(places) == 1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        crawl.find("shoes", on_progress=interrupt)
    found = crawl.find("shoes", on_progress=interrupt)
    assert found.pages == 2500
    assert places == sorted({*places})  # nothing was read twice


def test_what_was_read_in_time_is_searched_and_the_next_search_reads_on(tmp_path: Path) -> None:
    crawl = Searched(write_crawl(tmp_path / "crawl", [visit(number, "shoes") for number in range(2500)]))
    found = [crawl.find("shoes", goes_on=lambda: False) for _ in range(3)]
    assert [each.pages for each in found] == [1000, 2000, 2500]
    assert 0 < found[0].read_bytes < found[1].read_bytes < found[2].records_bytes
    assert found[2].read_bytes == found[0].records_bytes
    [note] = found[0].notes
    assert note.endswith("of records were read so far; the same search goes on from there")
    assert found[2].notes == []


def test_two_may_search_at_once(tmp_path: Path) -> None:
    crawl = Searched(write_crawl(tmp_path / "crawl", [visit(number, "shoes") for number in range(2500)]))
    found: list[int] = []

    def other(*_: object) -> None:
        if not found:
            found.append(crawl.find("shoes").pages)

    assert crawl.find("shoes", on_progress=other).pages == 2500
    assert found == [2500]


@pytest.mark.parametrize("commits", [0, 5])
def test_a_process_waits_for_another_one_that_gets_on(
    crawl: Searched, monkeypatch: pytest.MonkeyPatch, commits: int
) -> None:
    monkeypatch.setattr("crawler.search.index._WAIT_S", 0.0)
    monkeypatch.setattr("crawler.search.transactions._MOST_WAITS", 1)
    crawl.find("shoes")
    left = commits

    def get_on(statement: str) -> None:
        nonlocal left
        if statement == "PRAGMA data_version" and left:
            left -= 1
            other.execute("INSERT INTO file (name, read, tail) VALUES (?, 0, x'')", (f"f{left}",))
            other.execute("COMMIT")
            if left:
                other.execute("BEGIN IMMEDIATE")

    crawl.append(visit(4, "green shoes"))
    connect = sqlite3.connect

    def connect_traced(*place: Any, **options: Any) -> sqlite3.Connection:
        database: sqlite3.Connection = connect(*place, **options)
        database.set_trace_callback(get_on)
        return database

    with closing(connect(crawl.index, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        monkeypatch.setattr(sqlite3, "connect", connect_traced)
        if commits:
            assert crawl.numbers("shoes") == [1, 2, 4]
        else:
            with pytest.raises(IndexRefused, match="another process writes"):
                crawl.find("shoes")


@pytest.fixture
def on_statement(monkeypatch: pytest.MonkeyPatch) -> Callable[[str, Callable[[], object]], None]:
    """Lets something happen once, before an index executes a statement."""
    connect = sqlite3.connect

    def arrange(awaited: str, happen: Callable[[], object]) -> None:
        def connect_traced(*place: Any, **options: Any) -> sqlite3.Connection:
            database: sqlite3.Connection = connect(*place, **options)

            def notice(statement: str) -> None:
                if statement == awaited:
                    monkeypatch.setattr(sqlite3, "connect", connect)
                    database.set_trace_callback(None)
                    happen()

            database.set_trace_callback(notice)
            return database

        monkeypatch.setattr(sqlite3, "connect", connect_traced)

    return arrange


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT count(*) FROM sqlite_master",
        "PRAGMA application_id",
        "PRAGMA user_version",
        "PRAGMA journal_mode = WAL",
        "BEGIN IMMEDIATE",
    ],
)
def test_two_may_make_an_index_at_once(
    crawl: Searched, on_statement: Callable[[str, Callable[[], object]], None], statement: str
) -> None:
    found: list[list[int]] = []
    on_statement(statement, lambda: found.append(crawl.numbers("shoes")))
    assert crawl.numbers("shoes") == [1, 2]
    assert found == [[1, 2]]


def test_an_index_is_made_although_another_process_looks_at_it(
    crawl: Searched, on_statement: Callable[[str, Callable[[], object]], None]
) -> None:
    with closing(sqlite3.connect(crawl.index, isolation_level=None)) as other:
        other.execute("BEGIN")
        other.execute("SELECT count(*) FROM sqlite_master")
        on_statement("PRAGMA data_version", lambda: other.execute("COMMIT"))
        assert crawl.numbers("shoes") == [1, 2]


class Archived(Searched):
    """A crawl whose texts are in the archive alone. As a context it closes that."""

    def __init__(self, directory: Path) -> None:
        super().__init__(write_crawl(directory, []))
        self._sink = WarcSink(directory / "warc", WarcOptions())

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._sink.aclose()

    async def fetch(self, number: int, body: bytes) -> None:
        found = page(number, body)
        fetched = visit(number, url=found.url, fetched_at=rfc3339(found.fetched_at))
        await self._sink.write(found, fetched)
        self.append(fetched)


async def test_a_text_that_records_lack_is_read_from_the_archive(tmp_path: Path) -> None:
    async with Archived(tmp_path / "crawl") as crawl:
        await crawl.fetch(1, b"<nav>menu</nav><main><p>Red shoes of leather")
        await crawl.fetch(2, b"<p>Blue shoes")
    [hit] = crawl.find("leather").hits
    assert hit.excerpt == "Red shoes of leather"
    assert crawl.find("shoes").notes == []


async def test_a_search_without_time_gets_on(tmp_path: Path) -> None:
    async with Archived(tmp_path / "crawl") as crawl:
        await crawl.fetch(1, b"<p>Red shoes")
    found = [crawl.find("shoes", goes_on=lambda: False).pages for _ in range(3)]
    assert found == [0, 1, 1]


async def test_of_an_archive_only_what_is_new_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[int] = []

    def noting(file: BinaryIO, *, start: int, **options: Any) -> Iterator[GzipMember | Stretch]:
        begun.append(start)
        return members(file, start=start, **options)

    monkeypatch.setattr("crawler.search.archive.members", noting)
    async with Archived(tmp_path / "crawl") as crawl:
        for number in range(1, 4):
            await crawl.fetch(number, b"<p>Red shoes")
            assert crawl.numbers("shoes") == list(range(1, number + 1))
        assert begun == sorted({*begun})  # nothing was read twice
        assert len(begun) == 3
        await crawl.fetch(4, b"<p>Blue shoes")
    assert crawl.numbers("shoes") == [1, 2, 3, 4]  # by the index that is complete now
    assert len(begun) == 3
    assert crawl.told == []


async def test_an_archive_that_a_crash_has_cut_is_read_anew(tmp_path: Path) -> None:
    async with Archived(tmp_path / "crawl") as crawl:
        await crawl.fetch(1, b"<p>Red shoes")
        assert crawl.numbers("shoes") == [1]
    [archive] = (crawl.directory / "warc").glob("*.warc.gz")
    shutil.rmtree(archive.parent)
    async with Archived(tmp_path / "crawl") as crawl:
        await crawl.fetch(2, b"<p>Other shoes, and a text that is longer than the one before")
        [other] = archive.parent.glob("*.warc.gz.open")
        await crawl.fetch(3, b"<p>Green shoes")
    shutil.move(archive.parent / other.stem, archive)
    (archive.parent / f"{other.stem}.cdxj").unlink()
    assert crawl.numbers("shoes") == [2, 3]


@pytest.mark.parametrize(("missing", "pages"), [("file", "1 page"), ("folder", "2 pages"), ("no-file", "1 page")])
async def test_a_page_whose_archive_can_not_be_read_is_searched_by_its_title_until_it_can(
    tmp_path: Path, missing: str, pages: str
) -> None:
    async with Archived(tmp_path / "crawl") as crawl:
        await crawl.fetch(1, b"<p>Red shoes")
    async with Archived(tmp_path / "crawl") as crawl:
        await crawl.fetch(1, b"<p>Red shoes")
        await crawl.fetch(2, b"<p>Blue shoes")
    archives = sorted((crawl.directory / "warc").glob("*.warc.gz"))
    gone = crawl.directory / "warc" if missing == "folder" else archives[1]
    away = gone.rename(tmp_path / "away")
    if missing == "no-file":
        gone.mkdir()
    else:
        gone.symlink_to(tmp_path / "disk")
    name = gone.relative_to(crawl.directory)
    for _ in range(2):
        found = crawl.find("path:2")
        assert [hit.number for hit in found.hits] == [2]
        [note] = found.notes
        assert note.startswith(f"of {pages} only title and path were searched as long as {name} can't be read (")
    if missing == "no-file":
        gone.rmdir()
    else:
        gone.unlink()
    away.rename(gone)
    for _ in range(4):  # even if each has time for one step alone
        crawl.find("shoes", goes_on=lambda: False)
    assert crawl.numbers("shoes") == [1, 2]
    assert crawl.find("shoes").notes == []


async def test_an_earlier_crawl_that_can_not_be_read_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with Archived(tmp_path / "earlier") as crawl:
        await crawl.fetch(1, b"<p>Red shoes")
    later = Searched(tmp_path / "later")
    shutil.copytree(crawl.directory / "records", later.directory / "records")
    (later.directory / "crawl.toml").write_text(f'[output]\ndedupe_against = ["{crawl.directory}"]\n')

    def fail(place: Path) -> list[Archive]:
        raise PermissionError(errno.EACCES, "Permission denied", str(place))

    with monkeypatch.context() as patched:
        patched.setattr("crawler.search.archive.earlier_archives", fail)
        [note] = later.find("path:1").notes
        assert note.endswith(f"as long as {crawl.directory} can't be read (Permission denied)")
    assert later.numbers("shoes") == [1]
    assert later.find("shoes").notes == []


async def test_an_archive_that_fails_while_a_page_is_read_is_noted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with Archived(tmp_path / "crawl") as crawl:
        await crawl.fetch(1, b"<p>Red shoes")

    def fail(*_: object, **__: object) -> None:
        raise OSError(errno.EIO, "Input/output error")

    with monkeypatch.context() as patched:
        patched.setattr("crawler.export.captures.captures_at", fail)
        [note] = crawl.find("path:1").notes
        assert "warc.gz can't be read (Input/output error)" in note
        assert crawl.find("path:1").notes == [note]
    assert crawl.numbers("shoes") == [1]
    assert crawl.find("shoes").notes == []


def test_no_archive_is_read_for_what_has_no_text(crawl: Searched, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr("crawler.search.gathering.ArchivedText")
    crawl.append(visit(4, content_type="image/png"), visit(5, content_type="application/pdf", title="Red"))
    assert crawl.numbers("red") == [1, 5]


def test_without_texts_titles_are_searched_and_a_note_says_so(tmp_path: Path) -> None:
    crawl = Searched(write_crawl(tmp_path / "crawl", [visit(1, title="Red"), visit(2, title="Blue")]))
    found = crawl.find("red")
    assert [(hit.number, hit.excerpt) for hit in found.hits] == [(1, "")]
    [note] = found.notes
    assert note.startswith("of 2 pages only title and path were searched: set output.text or output.warc to true")


def test_a_crawl_without_records_is_refused(tmp_path: Path) -> None:
    (tmp_path / "crawl").mkdir()
    with pytest.raises(IndexRefused, match=r"no records to search: set output\.records to true"):
        Searched(tmp_path / "crawl").find("red")

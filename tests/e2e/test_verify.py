"""That `inspect verify` finds whatever does not agree, and nothing else."""

import asyncio
import gzip
import re
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import pytest

from crawler import Crawl
from crawler.simweb.process import running
from crawler.testing.fetch.raw_server import page, raw_server
from crawler.write.database import sqlite_file
from crawler.write.records import read_records
from tests.e2e.crawling import COMPLETE, FAILED, SMALL, Web, assert_told, onceover, setting
from tests.e2e.operating import command_here
from tests.invoking import invoke

SETTINGS = ("output.links=true", "output.warc_revisits=100", 'output.sinks=["sqlite"]')
WORLD = msgspec.structs.replace(SMALL, compressed=0.5, duplicates=0.3)


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A complete crawl, with revisits and compressed pages."""
    folder = tmp_path_factory.mktemp("verify")
    with running(WORLD) as port:
        web = Web(port, WORLD)
        ended = onceover("crawl", *web.options, *setting(*SETTINGS), "--dir", "crawl", cwd=folder)
    assert ended.code == COMPLETE, ended.err
    return folder / "crawl"


@pytest.fixture
def crawl(crawled: Path, tmp_path: Path) -> Path:
    """A copy to be damaged."""
    return Path(shutil.copytree(crawled, tmp_path / "crawl", ignore=shutil.ignore_patterns("control")))


def verify(crawl: Path) -> dict[str, Any]:
    ended = invoke("inspect", crawl, "verify", "--json")
    report: dict[str, Any] = msgspec.json.decode(ended.stdout)
    assert ended.return_value == (FAILED if report["problem_count"] else COMPLETE)
    return report


def only_problem(crawl: Path) -> str:
    report = verify(crawl)
    assert report["problem_count"] == 1, report["problems"]
    [problem] = report["problems"]
    return f"{problem['kind']}: {problem['message']}"


def in_its_place(path: Path, what: str) -> None:
    path.rename(path.parent.parent / path.name)
    if what == "folder":
        path.mkdir()
    else:
        path.symlink_to("/mnt/disk-that-is-not-there/file")


# what to damage


def change_record(crawl: Path, change: Callable[[dict[str, Any]], dict[str, Any] | None]) -> None:
    """Change the last record of a page with a body, or remove it."""
    [path] = (crawl / "records").glob("*.jsonl")
    records = [msgspec.json.decode(line) for line in path.read_bytes().splitlines()]
    at = max(at for at, each in enumerate(records) if each.get("digest") and each["status"] == 200)
    changed = change(dict(records[at]))
    records[at : at + 1] = [] if changed is None else [changed]
    path.write_bytes(b"".join(msgspec.json.encode(each) + b"\n" for each in records))


def members(crawl: Path) -> tuple[Path, list[bytes]]:
    """The records of the archive."""
    [path] = (crawl / "warc").glob("*.warc.gz")
    text = gzip.decompress(path.read_bytes())
    starts = [at for at in range(len(text)) if text.startswith(b"WARC/1.1\r\n", at)]
    return path, [text[start:end] for start, end in zip(starts, [*starts[1:], len(text)], strict=True)]


def change_archive(crawl: Path, change: Callable[[list[bytes]], list[bytes]]) -> None:
    path, found = members(crawl)
    path.write_bytes(b"".join(gzip.compress(each, mtime=0) for each in change(found)))


def change_table(crawl: Path, statement: str) -> None:
    with closing(sqlite3.connect(crawl / "sinks" / "sqlite" / "pages.sqlite")) as database, database:
        assert database.execute(statement).rowcount == 1


def revisited(found: list[bytes]) -> bytes:
    """The payload digest of a revisit."""
    revisit = next(each for each in found if b"WARC-Type: revisit" in each)
    return revisit.partition(b"WARC-Payload-Digest: ")[2].partition(b"\r\n")[0]


def without(found: list[bytes], kind: bytes, *words: bytes) -> list[bytes]:
    """Without the first record of that kind that has those words."""
    at = next(
        at for at, each in enumerate(found) if b"WARC-Type: " + kind in each and all(word in each for word in words)
    )
    return found[:at] + found[at + 1 :]


def alter_body(found: list[bytes]) -> list[bytes]:
    at = next(at for at, each in enumerate(found) if b"WARC-Type: response" in each and b"<title>" in each)
    return [*found[:at], found[at].replace(b"<title>", b"<TITLE>", 1), *found[at + 1 :]]


def other_digest(record: dict[str, Any]) -> dict[str, Any]:
    return record | {"digest": "sha1:" + "A" * 32}


# tests


def test_a_crawl_with_revisits_and_compressed_pages_agrees(crawl: Path) -> None:
    report = verify(crawl)
    assert report["problems"] == []
    told = {each["name"]: each for each in report["told"]}
    assert list(told) == ["the ledger", "the records", "the archive", "the sink sqlite"]
    assert told["the ledger"]["numbers"] == told["the records"]["numbers"] == told["the sink sqlite"]["numbers"] > 40
    assert {each["repeated"] for each in report["told"]} == {each["forgotten"] for each in report["told"]} == {0}
    _, found = members(crawl)
    assert any(b"WARC-Type: revisit" in each for each in found)
    assert any(b"Content-Encoding: gzip" in each for each in found)


async def test_the_body_of_a_redirect_may_be_larger_than_what_the_crawl_has_decoded_of_it(tmp_path: Path) -> None:
    headers = (b"Content-Type: text/html", b"Content-Encoding: gzip", b"Location: http://b.test/")
    body = gzip.compress(b"moved " * 10_000)
    settings = {
        "crawl.seeds": ["http://a.test/"],
        "fetch.max_body_bytes": 10_000,
        "politeness.robots": False,
        "scope.sitemap_paths": [],
    }
    async with raw_server({"/": [page(body, *headers, status=b"302 Found")]}) as server:
        hosts = {"fetch.hosts": {"*.test": f"127.0.0.1:{server.port}"}}
        async with Crawl(directory=tmp_path, set=settings | hosts) as crawl:
            assert [each async for each in crawl] == []
    assert (await asyncio.to_thread(verify, tmp_path))["problems"] == []


def test_each_difference_of_the_records_is_found(crawl: Path, crawled: Path) -> None:
    shutil.rmtree(crawl / "warc")
    shutil.rmtree(crawl / "sinks")
    text = (crawl / "crawl.toml").read_text()
    assert text.count("warc = true") == text.count('sinks = ["sqlite"]') == 1
    text = text.replace("warc = true", "warc = false").replace('sinks = ["sqlite"]', "sinks = []")
    (crawl / "crawl.toml").write_text(text)
    changes: list[tuple[Callable[[dict[str, Any]], dict[str, Any] | None], str]] = [
        (lambda _: None, "missing: number .* is missing in the records; `fsck --refetch` has it fetched again$"),
        (lambda record: record | {"status": 404}, "different: .* the status 404 in the records, and 200 in the ledger"),
        (lambda record: record | {"state": "failed"}, "different: .* the state failed"),
        (other_digest, "different: .* the digest sha1:A+ in the records"),
    ]
    for change, expected in changes:
        change_record(crawl, change)
        assert re.match(expected, only_problem(crawl)), expected
        shutil.rmtree(crawl / "records")
        shutil.copytree(crawled / "records", crawl / "records")
    with next((crawl / "records").glob("*.jsonl")).open("r+b") as file:
        file.write(b"[")
    found = {each["kind"] for each in verify(crawl)["problems"]}
    assert found == {"damaged", "missing"}


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (alter_body, "says sha1:"),
        (lambda found: without(found, b"response", b"<title>", b"200 OK"), "is missing in the archive"),
        (lambda found: without(found, b"response", revisited(found)), "does not have; if an earlier crawl"),
    ],
    ids=["body", "page", "original"],
)
def test_each_difference_of_the_archive_is_found(
    crawl: Path, change: Callable[[list[bytes]], list[bytes]], expected: str
) -> None:
    change_archive(crawl, change)
    report = verify(crawl)
    assert report["problem_count"]
    assert any(expected in each["message"] for each in report["problems"]), report["problems"]


def test_a_damaged_index_of_an_earlier_crawl_is_told_beside_all_else(crawl: Path, tmp_path: Path) -> None:
    index = tmp_path / "earlier.cdxj.gz"
    index.write_bytes(gzip.compress(b"com,example)/ 20260101000000 {}\n" * 99)[:-9])
    text = (crawl / "crawl.toml").read_text()
    assert text.count("dedupe_against = []") == 1
    (crawl / "crawl.toml").write_text(text.replace("dedupe_against = []", f'dedupe_against = ["{index}"]'))
    change_archive(crawl, lambda found: without(found, b"response", revisited(found)))
    problems = verify(crawl)["problems"]
    [damaged] = [each for each in problems if each["kind"] == "damaged"]
    assert damaged["where"] == str(index)
    assert "this earlier crawl can't be read: " in damaged["message"]
    assert any("the earlier crawls do not have" in each["message"] for each in problems)


@pytest.mark.parametrize("what", ["folder", "link"])
def test_each_file_that_cannot_be_read_is_told_and_all_others_are_compared(crawl: Path, what: str) -> None:
    change_table(crawl, "DELETE FROM pages WHERE number = 3")
    [archive], [records] = crawl.glob("warc/*.warc.gz"), crawl.glob("records/*.jsonl")
    in_its_place(archive, what)
    in_its_place(records, what)
    report = verify(crawl)
    told = [(problem["kind"], problem["where"]) for problem in report["problems"]]
    assert told[:2] == [("unread", str(records)), ("unread", str(archive))]
    assert [kind for kind, _ in told[2:]] == ["missing"]
    assert report["problems"][2]["message"].startswith("number 3 is done, and is missing in the sink sqlite")
    why = {"folder": "it can't be read now: Is a directory", "link": "which is missing: mount its disk"}
    assert all(why[what] in problem["message"] for problem in report["problems"][:2])
    for path in (archive, records):
        path.rmdir() if what == "folder" else path.unlink()
        (crawl / path.name).rename(path)
    assert invoke("inspect", crawl, "verify", "--repair").return_value == COMPLETE


def test_a_table_on_a_disk_that_is_not_mounted_has_lost_nothing(crawl: Path) -> None:
    in_its_place(crawl / "sinks" / "sqlite" / "pages.sqlite", "link")
    told = only_problem(crawl)
    assert told.startswith("unread: the sink can't be read now, so nothing of it was compared: ")


@pytest.mark.parametrize("what", ["folder", "link"])
def test_an_index_that_cannot_be_read_is_told_and_a_repair_leaves_it(crawl: Path, what: str) -> None:
    [index] = crawl.glob("warc/*.cdxj")
    in_its_place(index, what)
    why = {"folder": "it can't be read now: Is a directory", "link": "which is missing: mount its disk"}
    told = only_problem(crawl)
    assert told.startswith("unread: ")
    assert why[what] in told
    assert "What it holds was not compared" in told
    assert invoke("inspect", crawl, "verify", "--repair").return_value == FAILED
    assert only_problem(crawl) == told


@pytest.mark.parametrize("command", ["report", "diff --since 1d", "inspect fsck", "export --format csv --to -"])
def test_records_on_a_disk_that_is_not_mounted_are_not_taken_for_deleted(crawl: Path, command: str) -> None:
    [records] = crawl.glob("records/*.jsonl")
    in_its_place(records, "link")
    name, *words = command.split()
    ended = command_here(name, str(crawl), *words)
    assert_told(
        ended, FAILED, f"{records} is a link to /mnt/disk-that-is-not-there/file, which is missing: mount its disk"
    )


def test_what_the_ledger_has_lost_is_found_and_queued_again_under_new_numbers(crawl: Path) -> None:
    [log] = (crawl / "frontier").glob("*.log")
    changes = log.read_bytes()
    # Before the changes that admitted half of the URLs, in whatever order they were found.
    met = sorted(changes.find(each.url.encode()) for each in read_records(crawl / "records"))
    log.write_bytes(changes[: met[len(met) // 2]])
    problems = verify(crawl)["problems"]
    lost = {each["where"] for each in problems}
    for source in ("records", "archive"):
        missing = re.compile(f"number .* is in the {source}, and is missing in the ledger; `fsck --refetch` has it ")
        assert {each["where"] for each in problems if missing.match(each["message"])} <= lost
        assert any(missing.match(each["message"]) for each in problems)
    assert invoke("inspect", crawl, "fsck", "--refetch").return_value == COMPLETE
    assert verify(crawl)["problems"] == []
    assert invoke("forget", crawl, min(lost)).return_value == FAILED  # it waits
    given = [each.number for each in read_records(crawl / "records")]
    queued = invoke("inspect", crawl, "url", min(lost), "--json")
    assert msgspec.json.decode(queued.stdout)["number"] > max(given)


def test_each_difference_of_a_table_is_found(crawl: Path) -> None:
    last = "number = (SELECT max(number) FROM pages WHERE digest IS NOT NULL)"
    change_table(crawl, f"UPDATE pages SET digest = 'sha1:other' WHERE {last}")
    assert "has the digest sha1:other in the sink sqlite" in only_problem(crawl)
    change_table(crawl, f"UPDATE pages SET status = NULL WHERE {last}")
    assert {each["message"].split(" the ")[1].split()[0] for each in verify(crawl)["problems"]} == {"status", "digest"}
    change_table(crawl, f"DELETE FROM pages WHERE {last}")
    assert only_problem(crawl).endswith(
        "and is missing in the sink sqlite; `verify --repair` writes it again from the records"
    )
    change_table(crawl, "INSERT INTO pages (number, url, state) VALUES (99999, 'http://gone.test/', 'done')")
    told = verify(crawl)["told"][-1]
    assert (told["name"], told["forgotten"]) == ("the sink sqlite", 1)
    (crawl / "sinks" / "sqlite" / "pages.sqlite").write_bytes(b"no database" * 1000)
    damaged = only_problem(crawl)
    assert damaged.startswith("damaged: the sink can't be read: ")
    assert "move it away: `verify --repair` then writes it anew from the records" in damaged


def test_a_row_of_another_crawl_is_found_by_its_url_and_replaced(crawl: Path) -> None:
    """Two crawls of one name replace rows of each other, which may agree in all but the URL."""
    change_table(crawl, "UPDATE pages SET url = 'http://other.test/' WHERE number = 1")
    assert "number 1 is http://other.test/ in the sink sqlite; `verify --repair` writes it again" in only_problem(crawl)
    ended = onceover("inspect", "crawl", "verify", "--repair", cwd=crawl.parent)
    assert (ended.code, ended.err) == (COMPLETE, "the sink sqlite: 1 page written again\n")


def test_a_server_that_is_away_has_lost_nothing(crawl: Path) -> None:
    text = (crawl / "crawl.toml").read_text()
    nowhere = '[[output.sink]]\nbackend = "postgres"\noptions = {dsn = "postgresql://crawl@127.0.0.1:1/pages"}\n'
    (crawl / "crawl.toml").write_text(f"{text}\n{nowhere}")
    for options in ([], ["--repair"]):
        ended = onceover("inspect", str(crawl), "verify", *options, cwd=crawl.parent)
        assert_told(ended, FAILED)
        assert "unread: postgres: the sink can't be reached now, so nothing of it was compared: " in ended.out
        assert "See that its server runs and lets us in, then verify again" in ended.out
        assert "damaged" not in ended.out
        assert "missing" not in ended.out


def test_pages_that_a_database_refuses_do_not_count_as_written_again(crawl: Path) -> None:
    refuse = "BEFORE INSERT ON pages WHEN new.number = 2 BEGIN SELECT RAISE(ABORT, 'it has no title'); END"
    with closing(sqlite3.connect(crawl / "sinks" / "sqlite" / "pages.sqlite")) as database, database:
        [(url,)] = database.execute("DELETE FROM pages WHERE number = 2 RETURNING url").fetchall()
        database.execute("DELETE FROM pages WHERE number = 3")
        database.execute(f"CREATE TRIGGER mine {refuse}")
    ended = command_here("inspect", str(crawl), "verify", "--repair")
    assert ended.err == (
        "the sink sqlite: 1 page written again\n"
        "the sink sqlite: 1 page is left out. "
        f"The database refuses the row of {url} (number 2): it has no title\n"
    )


def test_a_database_that_somebody_has_locked_is_not_called_damaged(
    crawl: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite_file, "LOCK_WAIT_S", 0.0)
    file = crawl / "sinks" / "sqlite" / "pages.sqlite"
    with closing(sqlite3.connect(file, isolation_level=None)) as database:
        database.execute("PRAGMA locking_mode = EXCLUSIVE")
        database.execute("CREATE TABLE notes (text)")
        told = only_problem(crawl)
    assert told.startswith("unread: the sink can't be read now, so nothing of it was compared: ")
    assert "another process has locked the database" in told


def test_a_folder_in_the_place_of_the_file_of_a_sink_is_damage_that_a_repair_mends(crawl: Path) -> None:
    file = crawl / "sinks" / "sqlite" / "pages.sqlite"
    file.unlink()
    file.mkdir()
    told = only_problem(crawl)
    assert told.startswith("damaged: the sink can't be read: ")
    assert "or move it away: `verify --repair` then writes it anew from the records" in told
    file.rename(crawl.parent / "away")
    assert invoke("inspect", crawl, "verify", "--repair").return_value == COMPLETE
    assert verify(crawl)["problem_count"] == 0


@pytest.mark.parametrize("change", ["DROP TABLE pages", "ALTER TABLE pages RENAME status TO mine"])
def test_what_somebody_has_taken_from_a_table_is_written_anew_from_the_records(crawl: Path, change: str) -> None:
    file = crawl / "sinks" / "sqlite" / "pages.sqlite"
    with closing(sqlite3.connect(file)) as database, database:
        before = database.execute("SELECT number, url, status FROM pages ORDER BY number").fetchall()
        database.execute(change)
    assert {problem["kind"] for problem in verify(crawl)["problems"]} == {"missing"}
    ended = invoke("inspect", crawl, "verify", "--repair")
    assert ended.return_value == COMPLETE, ended.stdout
    with closing(sqlite3.connect(file)) as database:
        assert database.execute("SELECT number, url, status FROM pages ORDER BY number").fetchall() == before
    assert verify(crawl)["problem_count"] == 0
    file.write_bytes(b"")
    assert invoke("inspect", crawl, "verify", "--repair").return_value == COMPLETE
    assert verify(crawl)["problem_count"] == 0


def test_the_ledger_has_urls_and_the_outputs_have_visits(crawl: Path) -> None:
    lines = onceover("inspect", str(crawl), "verify", cwd=crawl.parent).out.splitlines()
    assert [line.split(";")[0].split()[-1] for line in lines] == ["URLs", "visits", "visits", "visits", "problems"]


def test_visits_that_are_not_archived_are_told(crawl: Path) -> None:
    told = {each["name"]: each for each in verify(crawl)["told"]}
    records, archive = told["the records"], told["the archive"]
    assert archive["unarchived"] > 0
    assert records["numbers"] == archive["numbers"] + archive["unarchived"]


def test_what_a_table_lacks_is_written_again_from_the_records(crawl: Path) -> None:
    table = crawl / "sinks" / "sqlite" / "pages.sqlite"
    change_table(
        crawl, "UPDATE pages SET status = 500 WHERE number = (SELECT min(number) FROM pages WHERE status = 200)"
    )
    change_table(crawl, "DELETE FROM pages WHERE number = 2")
    with closing(sqlite3.connect(table)) as database:
        before = database.execute("SELECT * FROM pages WHERE number > 2 ORDER BY number").fetchall()
    ended = onceover("inspect", "crawl", "verify", "--repair", cwd=crawl.parent)
    assert ended.code == COMPLETE, ended
    assert ended.err == "the sink sqlite: 2 pages written again\n"
    with closing(sqlite3.connect(table)) as database:
        assert database.execute("SELECT * FROM pages WHERE number > 2 ORDER BY number").fetchall() == before
    table.unlink()
    ended = onceover("inspect", "crawl", "verify", "--repair", cwd=crawl.parent)
    assert ended.code == COMPLETE, ended
    with closing(sqlite3.connect(table)) as database:
        assert database.execute("SELECT * FROM pages WHERE number > 2 ORDER BY number").fetchall() == before
        assert database.execute("SELECT count(*) FROM links").fetchone()[0] > 0


def test_a_crawl_that_is_resumed_says_that_the_files_of_a_sink_are_gone_and_what_to_do(crawl: Path) -> None:
    resume = ("crawl", "--dir", "crawl")
    gone = (
        "the files of the sink sqlite in crawl/sinks/sqlite are gone, and it begins others. Stop the crawl and put back"
    )
    mend = "`onceover inspect crawl verify --repair` adds the pages until now from the records"
    assert gone not in onceover(*resume, cwd=crawl.parent).err
    shutil.rmtree(crawl / "sinks")
    told = onceover(*resume, cwd=crawl.parent)
    assert told.code == COMPLETE
    assert f"{gone} a copy; if there is none, {mend}" in told.err
    assert onceover("inspect", "crawl", "verify", "--repair", cwd=crawl.parent).code == COMPLETE
    assert verify(crawl)["problem_count"] == 0
    # Who leaves the sink out, or asks for it for the first time, misses nothing.
    shutil.rmtree(crawl / "sinks")
    for sinks in ("[]", '["sqlite"]'):
        assert gone not in onceover(*resume, *setting(f"output.sinks={sinks}"), cwd=crawl.parent).err


def test_an_index_that_does_not_fit_its_archive_is_found_and_made_anew(crawl: Path) -> None:
    [index] = (crawl / "warc").glob("*.cdxj")
    right = index.read_bytes()
    lines = right.splitlines(keepends=True)
    index.write_bytes(b"".join(lines[1:]))
    assert "index: it lacks 1 capture, and has 0 lines" in only_problem(crawl)
    index.write_bytes(right.replace(b'"offset": "', b'"offset": "1', 1))
    assert index.read_bytes() != right
    assert "index: it lacks 1 capture, and has 1 line that" in only_problem(crawl)
    ended = onceover("inspect", "crawl", "verify", "--repair", cwd=crawl.parent)
    assert ended.code == COMPLETE, ended
    assert ended.err == "1 index made anew\n"
    assert index.read_bytes() == right


def test_damage_is_a_problem_until_a_repair_moves_it_aside(crawl: Path) -> None:
    path, found = members(crawl)
    packed = [gzip.compress(each, mtime=0) for each in found]
    at = next(at for at, each in enumerate(found) if b"WARC-Type: request" in each)
    packed[at] = packed[at][:20] + bytes(10) + packed[at][30:]
    path.write_bytes(b"".join(packed))
    assert "`fsck --refetch` moves this aside" in " ".join(each["message"] for each in verify(crawl)["problems"])
    ended = onceover("inspect", "crawl", "fsck", "--refetch", cwd=crawl.parent)
    assert ended.code == COMPLETE, ended
    assert f"{len(packed[at])} damaged bytes moved to crawl/warc/" in ended.err
    report = verify(crawl)
    assert report["problems"] == []
    [aside] = report["set_aside"]
    assert aside["bytes"] == len(packed[at]) == Path(aside["file"]).stat().st_size
    path.write_bytes(path.read_bytes()[:-20])
    assert only_problem(crawl).startswith("damaged: "), "new damage is not hidden by the old one"


def test_what_a_page_loaded_whose_body_was_moved_aside_is_no_problem(crawl: Path) -> None:
    path, found = members(crawl)
    revisit = next(each for each in found if b"WARC-Type: revisit" in each)
    revisit = re.sub(rb"X-Onceover-Number: \d+", b"X-Onceover-Purpose: load", revisit)
    revisit = revisit.replace(revisited([revisit]), b"sha1:" + b"A" * 32)
    body = gzip.compress(b"WARC/1.1")[:-1] + b"!"
    path.write_bytes(path.read_bytes() + body + gzip.compress(revisit, mtime=0))
    assert "a record without number refers to a body that the archive does not have" in str(verify(crawl)["problems"])
    assert onceover("inspect", "crawl", "fsck", "--refetch", cwd=crawl.parent).code == COMPLETE
    report = verify(crawl)
    assert (report["problems"], report["bodiless"]) == ([], 1)
    ended = onceover("inspect", "crawl", "verify", cwd=crawl.parent)
    assert_told(ended, COMPLETE, "note: 1 record of what rendered pages loaded, or of robots.txt files: the body was ")


def test_a_damaged_body_to_which_revisits_refer_is_archived_again(tmp_path: Path) -> None:
    with running(WORLD) as port:
        web = Web(port, WORLD)
        ended = onceover("crawl", *web.options, *setting(*SETTINGS), "--dir", "crawl", cwd=tmp_path)
        assert ended.code == COMPLETE, ended.err
        crawl = tmp_path / "crawl"
        path, found = members(crawl)
        digest = revisited(found)
        packed = [gzip.compress(each, mtime=0) for each in found]
        at = next(at for at, each in enumerate(found) if b"WARC-Type: response" in each and digest in each)
        path.write_bytes(b"".join([*packed[:at], packed[at][:20] + bytes(10) + packed[at][30:], *packed[at + 1 :]]))
        assert "refers to a body that the archive does not have" in str(verify(crawl)["problems"])
        assert onceover("inspect", "crawl", "fsck", "--refetch", cwd=tmp_path).code == COMPLETE
        assert onceover("crawl", "--dir", "crawl", cwd=tmp_path).code == COMPLETE
    assert verify(crawl)["problems"] == []


@pytest.mark.parametrize(("options", "revisits"), [(["--whole"], 100), ([], 0)], ids=["the same body", "not modified"])
def test_revisits_whose_bodies_are_gone_are_archived_again(tmp_path: Path, options: list[str], revisits: int) -> None:
    settings = setting(f"output.warc_revisits={revisits}")
    with running(WORLD) as port:
        web = Web(port, WORLD)
        ended = onceover("crawl", *web.options, *settings, "--dir", "crawl", cwd=tmp_path)
        assert ended.code == COMPLETE, ended.err
        [first] = (tmp_path / "crawl" / "warc").glob("*.warc.gz")
        assert onceover("recrawl", "crawl", *options, cwd=tmp_path).code == COMPLETE
        assert onceover("crawl", "--dir", "crawl", cwd=tmp_path).code == COMPLETE
        first.unlink()
        first.with_name(f"{first.name}.cdxj").unlink()
        assert verify(tmp_path / "crawl")["problems"]
        ended = onceover("inspect", "crawl", "fsck", cwd=tmp_path)
        assert ended.code == FAILED
        assert "done in the ledger, and the archive refers to a body that it does not have" in ended.out
        assert onceover("inspect", "crawl", "fsck", "--refetch", cwd=tmp_path).code == COMPLETE
        assert onceover("crawl", "--dir", "crawl", cwd=tmp_path).code == COMPLETE
        assert onceover("inspect", "crawl", "fsck", cwd=tmp_path).code == COMPLETE
    assert verify(tmp_path / "crawl")["problems"] == []


def test_the_command_says_what_was_read_and_what_is_wrong(crawl: Path) -> None:
    ended = onceover("inspect", "crawl", "verify", cwd=crawl.parent)
    assert ended.code == COMPLETE, ended.err
    assert ended.out.endswith("no problems\n")
    assert "the sink sqlite: " in ended.out
    change_record(crawl, lambda record: None)
    change_table(crawl, "DELETE FROM pages WHERE number = 1")
    ended = onceover("inspect", "crawl", "verify", "--limit", "1", cwd=crawl.parent)
    assert ended.code == FAILED
    assert "and 1 more; --limit shows them" in ended.out
    assert ended.out.endswith("2 problems\n")


def test_a_crawl_whose_sink_has_a_damaged_file_fails_at_its_start_and_says_what_to_do(crawl: Path) -> None:
    (crawl / "sinks" / "sqlite" / "pages.sqlite").write_bytes(b"damaged" * 1000)
    told = onceover("crawl", "--dir", "crawl", cwd=crawl.parent)
    assert_told(told, FAILED, "crawl/sinks/sqlite/pages.sqlite can't be read", "or move it away")
    assert "crawl.toml" not in told.err

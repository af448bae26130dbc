"""Files of JSON that are nested too deeply count as damaged, as any other damage of them does."""

import logging
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from crawler.cluster.notes import read_note
from crawler.compare.measure.folder import Journal
from crawler.copies.content import Folder
from crawler.course.history import History
from crawler.disk.directory import CrawlDirectory
from crawler.export.manifest import read_manifest
from crawler.operate.course import read_history
from crawler.operate.settings.start import Start
from crawler.serve.api.gate.answers import Answer, Answers
from crawler.serve.api.gate.tokens import Rights, TokenRefused, Tokens
from crawler.serve.exports.stored import DESCRIPTION, ExportFolders
from crawler.serve.life.facts import Record
from crawler.serve.process import Output
from crawler.serve.records import Home
from crawler.write.cdxj.lines import parse
from crawler.write.records import RecordSink, find_record, newest_records, read_records
from tests.e2e.crawling import Ended
from tests.unit.operate.stored_crawls import make
from visited.redis.holders import decode_holder

DEEP = b'{"x":' + b"[" * 100_000
NUMBERED = b'{"number":7,"x":' + b"[" * 100_000 + b"]" * 100_000 + b"}"

LOOKS = (
    ("status", "DIR"),
    ("inspect", "DIR", "fsck"),
    ("inspect", "DIR", "verify"),
    ("report", "DIR"),
    ("export", "DIR", "--format", "jsonl", "--to", "TO"),
    ("backup", "DIR", "--to", "COPY"),
    ("prune", "DIR", "--keep", "90d"),
    ("parts", "DIR", "--into", "2"),
    ("set", "DIR", "politeness.min_delay_s=3"),
    ("reload", "DIR"),
)


@pytest.mark.parametrize("parts", [1, 3])
@pytest.mark.parametrize(
    "name",
    [
        "crawl.toml",
        "start.json",
        "pruned.json",
        "parts.json",
        "parts.next.json",
        "lineages.json",
        "logs/course.json",
        "records/records-00000.jsonl",
    ],
)
def test_no_command_breaks_at_a_file_of_a_crawl(tmp_path: Path, parts: int, name: str) -> None:
    crawl = make(tmp_path / "crawl", parts=parts)
    for place in (crawl.directory, *([crawl.directory / "part-0"] if parts > 1 else [])):
        (place / name).parent.mkdir(exist_ok=True)
        (place / name).write_bytes(DEEP)
    for look in LOOKS:
        paths = {"TO": str(tmp_path / "to"), "COPY": str(tmp_path / "copy")}
        ended: Ended = crawl.run(*(paths.get(each, each) for each in look))  # raises what nobody expects
        assert "Traceback" not in ended.err
        assert ended.code in range(6)


def set_aside_by(open_sink: Callable[[Path], object], path: Path) -> bytes:
    """What a sink moves out of a file when it opens."""
    open_sink(path.parent)
    return path.with_name(f"{path.name}.damaged-0").read_bytes()


@pytest.mark.parametrize(
    ("name", "read"),
    [
        ("start.json", lambda path: Start.read_from(CrawlDirectory(path.parent)) is None),
        ("course.json", lambda path: read_history(path) == History()),
        ("a.out", lambda path: Output(path.parent, "a").report() is None),
        ("a.out", lambda path: Output(path.parent, "a").last_status() is None),
        ("records-00000.jsonl", lambda path: list(read_records(path.parent)) == []),
        ("records-00000.jsonl", lambda path: list(newest_records(path.parent)) == []),
        ("records-00000.jsonl", lambda path: find_record(path.parent, 7) is None),
        ("records-00000.jsonl", lambda path: set_aside_by(RecordSink, path) == NUMBERED),
    ],
)
def test_what_can_be_done_without_is_passed_over(tmp_path: Path, name: str, read: Callable[[Path], bool]) -> None:
    path = tmp_path / name
    path.write_bytes(NUMBERED)
    assert read(path)


def test_what_the_daemon_remembers_of_a_crawl_is_left_as_it_is_and_refused(tmp_path: Path) -> None:
    with Home(tmp_path) as home:
        (home.crawls / "a.json").write_bytes(DEEP)
        record, problem = home.recall("a")
        assert record == Record()
        assert problem is not None
        assert "a.json is damaged: " in problem
        assert (home.crawls / "a.json").read_bytes() == DEEP


def test_files_of_the_api_are_refused_or_dropped(tmp_path: Path) -> None:
    tokens = Tokens(tmp_path)
    tokens.add("a", Rights.READ)
    [file] = tmp_path.rglob("tokens.json")
    file.write_bytes(b'[{"x":' + b"[" * 100_000)
    with pytest.raises(TokenRefused, match=r"tokens\.json is damaged: "):
        tokens.known()
    answers = Answers(tmp_path / "answers")
    answers.keep("caller", "key", Answer(request="a", status=200, content_type="text/plain", body="b"))
    [file] = (tmp_path / "answers").iterdir()
    file.write_bytes(DEEP)
    assert answers.find("caller", "key") is None
    (tmp_path / "exports" / "a" / "20260101T000000").mkdir(parents=True)
    (tmp_path / "exports" / "a" / "20260101T000000" / DESCRIPTION).write_bytes(DEEP)
    assert ExportFolders(tmp_path / "exports").all_of("a") == []


@pytest.mark.parametrize(
    ("name", "read"),
    [
        ("claim.json", lambda path: read_note(CrawlDirectory(path.parent))),
        ("_pages.export.json", read_manifest),
        ("copy.json", lambda path: Folder(path.parent).read_list()),
    ],
)
def test_what_nobody_can_do_without_is_named(tmp_path: Path, name: str, read: Callable[[Path], object]) -> None:
    path = tmp_path / name
    path.write_bytes(DEEP)
    with pytest.raises(Exception, match=r"can't be read.*: maximum recursion") as raised:
        read(path)
    assert not isinstance(raised.value, RecursionError)


def test_a_note_of_another_crawl_a_trial_and_a_line_of_an_index_are_damaged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    assert decode_holder(DEEP).name == "a crawl whose note is damaged"
    (tmp_path / "trials.jsonl").write_bytes(DEEP + b"\n")
    with caplog.at_level(logging.WARNING):
        Journal(tmp_path / "trials.jsonl")
    assert "is not a trial" in caplog.text
    with pytest.raises(ValueError, match="nested too deeply"):
        parse(b"org,example)/ 20260101000000 " + DEEP)


def test_a_file_that_is_nested_a_little_is_read(tmp_path: Path) -> None:
    (tmp_path / "start.json").write_bytes(msgspec.json.encode({"seeds": ["http://a.test/"], "later": [[[]]]}))
    start = Start.read_from(CrawlDirectory(tmp_path))
    assert start is not None
    assert start.seeds == ["http://a.test/"]

"""That a crawl's directory is held by one process, and that files of other people are never touched."""

import errno
import os
import sqlite3
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from crawler.compare.measure.folder import Folder
from crawler.disk.clearing import clear_crawl
from crawler.disk.directory import CrawlDirectory, DirectoryInUse, DirectoryRefused, Purpose
from crawler.disk.unlocking import locked_to_run
from crawler.write.database.sqlite_file import FILE_NAME, SqliteFile
from tests.e2e.crawling import tree
from tests.full_disk import no_space


def test_a_new_directory_is_created_with_its_parents(tmp_path: Path) -> None:
    with CrawlDirectory(tmp_path / "a" / "b") as directory:
        assert directory.lock.read_text() == f"{os.getpid()}\n"
        assert not directory.has_state()
        assert not directory.has_output()


def test_a_second_holder_is_told_the_process_of_the_first(tmp_path: Path) -> None:
    with CrawlDirectory(tmp_path) as directory:
        with pytest.raises(DirectoryRefused, match="in use by this process: close the other crawl first"):
            CrawlDirectory(tmp_path).__enter__()
        directory.lock.write_text("4711\n")
        with pytest.raises(DirectoryRefused, match="in use by process 4711; wait until it ends, or stop it"):
            CrawlDirectory(tmp_path).__enter__()
    with CrawlDirectory(tmp_path):
        pass


@pytest.mark.parametrize("to", ["read", "change"])
def test_a_crawl_waits_for_a_command_that_reads_or_changes_it_and_says_so(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, to: Purpose
) -> None:
    def run() -> str:
        with locked_to_run(tmp_path) as directory:
            return directory.lock.read_text()

    with ThreadPoolExecutor(1) as thread:
        with CrawlDirectory(tmp_path, to=to):
            waiting = thread.submit(run)
            while "a command that uses the crawl" not in caplog.text:
                assert not waiting.done(), waiting.exception()
                time.sleep(0.001)
        assert waiting.result() == f"{os.getpid()}\n"


def test_a_crawl_waits_for_no_other_crawl_and_not_for_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with CrawlDirectory(tmp_path) as directory:
        directory.lock.write_text("4711\n")
        with pytest.raises(DirectoryRefused, match="in use by process 4711; wait until it ends, or stop it"):
            locked_to_run(tmp_path).__enter__()
        monkeypatch.setattr("crawler.disk.unlocking.COMMANDS_S", 0.0)
        for does in ("reads", "changes"):
            directory.lock.write_text(f"4711 {does}\n")
            with pytest.raises(DirectoryRefused, match=f"in use by process 4711, a command that {does} the crawl; re"):
                locked_to_run(tmp_path).__enter__()


@pytest.mark.parametrize("words", [["onceover"], ["-m", "onceover_crawler"]])
def test_a_command_that_has_a_crawl_is_named_as_it_was_typed(tmp_path: Path, words: list[str]) -> None:
    script = tmp_path / words[-1]
    script.with_suffix(".py" if "-m" in words else "").write_text("print(flush=True); input()")
    command = [sys.executable, *words, "inspect", "a crawl", "fsck", "--repair", "--set", "exchange.url=redis://:pw@a"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=tmp_path) as process:
        assert process.stdout is not None
        process.stdout.readline()
        told = str(DirectoryInUse(tmp_path, f"{process.pid} changes"))
        process.communicate(b"\n")
    assert "a command that changes the crawl: `onceover inspect 'a crawl' fsck --repair --set …`, for " in told
    assert told.endswith(" s; repeat this when it has ended")


def test_a_lock_left_by_a_dead_process_does_not_hold(tmp_path: Path) -> None:
    (tmp_path / "lock").write_text("99999\n")
    with CrawlDirectory(tmp_path) as directory:
        assert directory.lock.read_text() == f"{os.getpid()}\n"
    assert directory.lock.read_text() == ""


@pytest.mark.parametrize("name", ["notes.txt", "crawl.toml", "records/a.jsonl", "logs/a.log", "frontier/a"])
def test_files_of_others_are_refused_and_left_as_they_are(tmp_path: Path, name: str) -> None:
    file = tmp_path / name
    file.parent.mkdir(exist_ok=True)
    file.write_text("mine")
    before = tree(tmp_path)
    with pytest.raises(DirectoryRefused, match="holds files, but no crawl; they were not touched"):
        CrawlDirectory(tmp_path).__enter__()
    assert tree(tmp_path) == before


@pytest.mark.parametrize("name", ["trials.jsonl", "report.json"])
def test_a_comparison_is_no_crawl_though_it_has_a_lock(tmp_path: Path, name: str) -> None:
    with Folder(tmp_path):
        (tmp_path / name).write_text("{}")
    before = tree(tmp_path)
    with pytest.raises(DirectoryRefused, match="holds the files of `onceover compare`, but no crawl; they were not"):
        CrawlDirectory(tmp_path).__enter__()
    assert tree(tmp_path) == before


def test_a_crawl_beside_a_comparison_is_kept(tmp_path: Path) -> None:
    with CrawlDirectory(tmp_path) as directory:
        directory.write_configuration("")
    (tmp_path / "report.json").touch()
    with CrawlDirectory(tmp_path):
        pass


def test_what_lies_beside_a_crawl_does_not_make_it_foreign(tmp_path: Path) -> None:
    with CrawlDirectory(tmp_path):
        pass
    (tmp_path / "notes.txt").write_text("mine")
    with CrawlDirectory(tmp_path):
        pass


def test_a_copy_without_the_lock_is_known_by_its_frontier(tmp_path: Path) -> None:
    (tmp_path / "frontier").mkdir()
    (tmp_path / "frontier" / "CURRENT").touch()
    with CrawlDirectory(tmp_path) as directory:
        assert directory.has_state()


def test_a_copy_without_the_lock_is_known_by_its_configuration_and_the_frontier_of_any_backend(tmp_path: Path) -> None:
    (tmp_path / "frontier").mkdir()
    (tmp_path / "frontier" / "urls.db").write_text("SQLite")
    (tmp_path / "crawl.toml").write_text('[frontier]\nbackend = "sqlite"\n')
    with CrawlDirectory(tmp_path) as directory:
        assert directory.has_state()


def test_a_copy_without_lock_and_frontier_is_known_by_what_its_last_run_has_written(tmp_path: Path) -> None:
    """So that its frontier can be rebuilt."""
    (tmp_path / "crawl.toml").touch()
    (tmp_path / "records").mkdir()
    with pytest.raises(DirectoryRefused, match="holds files, but no crawl"):
        CrawlDirectory(tmp_path).__enter__()
    (tmp_path / "start.json").touch()
    with CrawlDirectory(tmp_path) as directory:
        assert not directory.has_state()


def test_a_leveldb_that_was_never_finished_is_no_state(tmp_path: Path) -> None:
    (tmp_path / "frontier").mkdir()
    for name in ("LOG", "LOCK", "MANIFEST-000001"):
        (tmp_path / "frontier" / name).write_text("made")
    assert not CrawlDirectory(tmp_path).has_state()


@pytest.mark.parametrize("name", ["file", "file/below"])
def test_a_path_that_is_no_directory_is_refused_with_the_reason(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").write_text("mine")
    with pytest.raises(DirectoryRefused, match=r"expected a writable directory, found: Not a directory .*--dir"):
        CrawlDirectory(tmp_path / name).__enter__()
    assert tree(tmp_path) == {"file": b"mine"}


@pytest.mark.parametrize("name", ["frontier", "visited", "records", "warc", "sinks", "fingerprints", "logs", "pruned"])
def test_a_file_in_place_of_a_folder_of_a_crawl_is_named(tmp_path: Path, name: str) -> None:
    (tmp_path / "lock").touch()
    (tmp_path / name).write_text("mine")
    told = rf"expected a folder, found a file: .*/{name}; move it away"
    with pytest.raises(DirectoryRefused, match=told):
        CrawlDirectory(tmp_path).__enter__()
    with pytest.raises(DirectoryRefused, match=told):
        CrawlDirectory(tmp_path).check_place()
    (tmp_path / "lock").unlink()
    with pytest.raises(DirectoryRefused, match="holds files, but no crawl"):
        CrawlDirectory(tmp_path).__enter__()
    assert tree(tmp_path) == {name: b"mine"}


def test_how_a_run_ended_stands_in_the_lock_unless_the_disk_is_full(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for left in ("stopped", ""):
        with CrawlDirectory(tmp_path) as directory:
            directory.ending = "stopped"
            if not left:
                monkeypatch.setattr(os, "pwrite", no_space)
        assert directory.lock.read_text() == left
    assert DirectoryInUse(tmp_path, "stopped").is_command  # somebody has taken it, and not said who


@pytest.mark.parametrize("to", ["read", "change", "run"])
def test_how_a_run_ended_stands_in_the_lock_until_the_next_one_begins(tmp_path: Path, to: Purpose) -> None:
    with CrawlDirectory(tmp_path) as run:
        run.ending = "stopped"
    with CrawlDirectory(tmp_path, to=to):
        assert run.lock.read_text().startswith(str(os.getpid()))
    assert run.lock.read_text() == "stopped"
    with CrawlDirectory(tmp_path) as begun:
        begun.write_configuration("")
    assert run.lock.read_text() == ""
    run.lock.write_text("4242\n")  # of a process that was killed
    with CrawlDirectory(tmp_path, to=to):
        pass
    assert run.lock.read_text() == ""


def test_a_full_disk_is_told_as_such(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "pwrite", no_space)
    with pytest.raises(OSError, match="No space left") as raised:
        CrawlDirectory(tmp_path).__enter__()
    assert raised.value.filename == str(tmp_path / "lock")
    with (
        CrawlDirectory(tmp_path, to="change"),  # a command may be what makes room
        pytest.raises(DirectoryRefused, match="in use by process unknown"),
    ):
        CrawlDirectory(tmp_path, to="read").__enter__()
    monkeypatch.undo()
    with CrawlDirectory(tmp_path):
        pass


def test_clearing_deletes_state_and_output_and_nothing_else(tmp_path: Path) -> None:
    with CrawlDirectory(tmp_path) as directory:
        for folder in (directory.frontier, directory.visited, directory.records, directory.warc, directory.log.parent):
            folder.mkdir()
            (folder / "file").touch()
        assert not directory.has_output(), "an empty file is none"
        (directory.records / "file").write_text("{}")
        for name in ("frontier.before-20261120T183816", "frontier.rebuilding", "visited.rebuilding"):
            (tmp_path / name).mkdir()
        directory.write_configuration("[crawl]\n")
        (tmp_path / "notes.txt").write_text("mine")
        assert directory.has_output()
        clear_crawl(directory)
        assert set(tree(tmp_path)) == {"lock", "notes.txt", "crawl.toml.before"}
        clear_crawl(directory)
        assert directory.earlier_configuration == tmp_path / "crawl.toml.before"
        directory.write_configuration("[crawl]\n")
        assert set(tree(tmp_path)) == {"lock", "notes.txt", "crawl.toml"}


def test_a_configuration_that_cannot_be_written_leaves_the_earlier_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory = CrawlDirectory(tmp_path)
    directory.write_configuration("old")

    monkeypatch.setattr(Path, "replace", no_space)
    with pytest.raises(OSError, match="No space left"):
        directory.write_configuration("new")
    assert directory.configuration.read_text() == "old"


def test_a_database_in_which_a_sink_has_only_made_its_tables_is_no_output(tmp_path: Path) -> None:
    """Or a part that has not had a URL yet could not be opened again."""
    directory = CrawlDirectory(tmp_path)
    path = directory.sinks / "sqlite" / FILE_NAME
    path.parent.mkdir(parents=True)
    file = SqliteFile(path, durability="process")
    assert not directory.has_output()
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.execute("INSERT INTO links VALUES (1, 0, 'http://h/')")
        assert directory.has_output()
        database.execute("DELETE FROM links")
        assert not directory.has_output()
    file.close()
    (path.parent / "head.csv").write_text("url\n")
    assert directory.has_output()


def test_leaving_a_disk_that_takes_no_writes_any_more_is_no_error_and_leaves_no_lock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would hide what has ended the crawl."""

    def refuse(*_: object) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    with monkeypatch.context() as patched, CrawlDirectory(tmp_path):
        patched.setattr(os, "ftruncate", refuse)
    with CrawlDirectory(tmp_path):
        pass

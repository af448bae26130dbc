"""What commands say of a directory in which there is no crawl, or which they may not use."""

import errno
import os
from collections.abc import Sequence
from pathlib import Path

import pytest

from crawler.cli.errors import error_text, known_error
from crawler.codes.exit_codes import REFUSED
from crawler.copies.content import Folder
from crawler.copies.folder import CopyRefused
from crawler.disk.directory import CrawlDirectory, DirectoryRefused
from crawler.disk.going_on import how_to_go_on
from crawler.disk.layout import read_layout
from crawler.operate.opening import is_of_daemon
from crawler.serve.records import Home
from tests.e2e.crawling import tree
from tests.e2e.operating import command_here
from tests.unit.operate.stored_crawls import make

COMMANDS: Sequence[Sequence[str]] = (
    ("add", "{}", "http://a.test/"),
    ("backup", "{}", "--to", "copy"),
    ("diff", "{}", "--since", "1 d"),
    ("export", "{}", "--format", "csv", "--to", "x.csv"),
    ("pause", "{}"),
    ("prune", "{}", "--dry-run"),
    ("prune", "{}", "--keep", "1 d"),
    ("prune", "{}", "--keep", "1 d", "--dry-run"),
    ("report", "{}"),
    ("sharing", "{}"),
)


def said(command: Sequence[str], directory: Path) -> str:
    ended = command_here(*(str(directory) if each == "{}" else each for each in command))
    assert (ended.code, ended.out) == (REFUSED, "")
    return ended.err


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_every_command_says_that_there_is_no_crawl_and_what_to_name(
    command: Sequence[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    empty, file, daemon = tmp_path / "empty", tmp_path / "file", tmp_path / "folder"
    empty.mkdir()
    file.touch()
    (daemon / "daemon").mkdir(parents=True)
    cleared = tmp_path / "cleared"  # to begin anew, and killed before it had begun
    cleared.mkdir()
    (cleared / "lock").touch()
    (cleared / "crawl.toml.before").write_text("[crawl]\n")
    for directory in (tmp_path / "missing", empty, file, cleared):
        told = said(command, directory)
        assert f"there is no crawl in {directory}: expected {directory / 'crawl.toml'}" in told
        assert "name the directory of a crawl" in told
    assert "this is the folder of a daemon: name the directory of one of its crawls" in said(command, daemon)


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_every_command_says_that_the_configuration_of_a_crawl_is_lost(
    command: Sequence[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    crawl = make(tmp_path / "crawl").directory
    (crawl / "crawl.toml").unlink()
    assert said(command, crawl).startswith(
        f"onceover: the crawl in {crawl} has no configuration: expected {crawl / 'crawl.toml'}. Either it was stopped "
    )


def test_only_a_crawl_may_be_put_elsewhere(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with (
        pytest.raises(DirectoryRefused, match="Choose another with --dir"),
        CrawlDirectory(tmp_path / "file" / "crawl"),
    ):
        pass
    for to in ("change", "read"):
        directory = CrawlDirectory(tmp_path / "file" / "crawl", to=to)
        with (
            pytest.raises(DirectoryRefused, match="Run the command as the user of the crawl, or change its"),
            directory,
        ):
            pass


def test_a_file_that_this_user_may_not_read_is_not_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: Path) -> bytes:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))

    monkeypatch.setattr("crawler.disk.layout.read_file", refuse)
    monkeypatch.setattr(Path, "read_bytes", refuse)
    with pytest.raises(DirectoryRefused, match=r"Permission denied.*Run the command as the user of the crawl"):
        read_layout(tmp_path)
    with pytest.raises(CopyRefused, match="Run the command as the user who made the copy"):
        Folder(tmp_path).read_list()


def test_a_frontier_with_a_file_that_this_user_may_not_read_is_not_taken_for_damaged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    crawl = make(tmp_path / "crawl").directory
    before = tree(crawl)
    denied = next((crawl / "frontier").glob("*.l[do][bg]"))
    monkeypatch.setattr(os, "access", lambda path, _: path != denied)
    for command in (("status", "{}"), ("inspect", "{}", "fsck", "--repair"), ("crawl", "--dir", "{}")):
        assert said(command, crawl) == f"onceover: {denied} can't be read by this user; change its permissions\n"
    assert tree(crawl) == before


def test_what_the_system_refuses_is_told_with_what_to_do(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    (folder := tmp_path / "folder").mkdir()
    for write in (folder.read_bytes, lambda: file.replace(folder)):
        with pytest.raises(IsADirectoryError) as refused:
            write()
        told = f"expected a file, found a folder: {folder}; move it away, or name another one"
        assert error_text(refused.value) == told
    told = error_text(OSError(errno.EIO, os.strerror(errno.EIO), "a"))
    assert told.startswith("Input/output error: a; the log of the kernel says which disk failed, and")
    for below, exist_ok in (("a/b", False), ("", True)):
        with pytest.raises((NotADirectoryError, FileExistsError)) as failed:
            (file / below).mkdir(exist_ok=exist_ok)
        told = f"expected a folder, found a file: {file}; move it away, or name another one"
        assert error_text(failed.value) == told
    with pytest.raises(FileExistsError) as failed:
        folder.mkdir()
    assert error_text(failed.value) == f"File exists: {folder}"


def test_whoever_is_denied_access_is_told_to_whom_the_file_belongs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, missing = tmp_path / "records-00000.jsonl", tmp_path / "warc.open"
    file.touch()
    told = error_text(PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(file)))
    assert told == f"Permission denied: {file}; change its permissions"
    monkeypatch.setattr(os, "geteuid", lambda: file.stat().st_uid + 1)
    owner = file.owner()
    for path, whose in ((file, file), (missing, tmp_path)):
        told = error_text(PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path)))
        assert told == (
            f"Permission denied: {path}: {whose} belongs to {owner}; run the command as {owner}, or change its "
            "permissions"
        )


def test_a_folder_that_this_user_may_not_read_is_no_error_of_the_search_for_a_daemon(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: Path) -> bool:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))

    monkeypatch.setattr(Path, "is_dir", refuse)
    assert not is_of_daemon(tmp_path)


def test_a_part_goes_on_with_the_whole_crawl(tmp_path: Path) -> None:
    crawl = tmp_path / "crawl"
    options = ["--seed", "http://127.0.0.1:1/", "--set", "fetch.allow_private=true", "--set", "frontier.max_attempts=1"]
    command_here("crawl", "--dir", str(crawl), "--set", "crawl.parts=2", *options, "--set", "politeness.robots=false")
    assert how_to_go_on(crawl / "part-0") == f"onceover crawl --dir {crawl}"


def test_a_backup_of_what_this_user_may_not_write_is_refused_before_anything_is_copied(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    crawl = tmp_path / "crawl"
    crawl.mkdir()
    monkeypatch.setattr(os, "access", lambda _, mode: mode != os.W_OK)
    told = said(("backup", "{}", "--to", str(tmp_path / "copy")), crawl)
    assert f"{crawl} can't be written to" in told
    assert "A backup notes in the crawl which record numbers the copy may use" in told
    assert not (tmp_path / "copy").exists()


def test_a_name_that_is_not_utf_8_is_told() -> None:
    with pytest.raises(UnicodeEncodeError) as failed:
        "warc/\udce9.warc.gz".encode()
    told = known_error(failed.value)
    assert told is not None
    assert told.message == "expected names of files in UTF-8, found 'warc/\\udce9.warc.gz'; rename it, or move it away"
    with pytest.raises(UnicodeEncodeError) as failed:
        "é".encode("ascii")
    assert known_error(failed.value) is None


@pytest.mark.parametrize("name", ["crawl.toml", "parts.json", "start.json", "public_suffix_list.dat", "lock"])
def test_a_pipe_or_a_folder_in_place_of_a_file_is_named_and_waited_for_by_no_command(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    crawl = make(tmp_path / "crawl", parts=2).directory
    (crawl / name).unlink(missing_ok=True)
    for put_there in (os.mkfifo, os.mkdir):
        put_there(crawl / name)
        for command in ("status", "report"):
            ended = command_here(command, str(crawl))
            assert ended.code == 0 or str(crawl / name) in ended.err, ended
            assert "Traceback" not in ended.err
        if put_there is os.mkfifo:
            (crawl / name).unlink()


@pytest.mark.parametrize(
    "name", ["frontier/CURRENT", "frontier/000099.log", "records/records-00000.jsonl", "sinks/sqlite/pages.sqlite"]
)
def test_a_pipe_among_the_files_of_a_crawl_is_refused_and_waited_for_by_no_command(name: str, tmp_path: Path) -> None:
    crawl = make(tmp_path / "crawl").directory
    pipe = crawl / name
    pipe.unlink(missing_ok=True)
    pipe.parent.mkdir(parents=True, exist_ok=True)
    os.mkfifo(pipe)
    commands = [("status", "{}"), ("report", "{}"), ("inspect", "{}", "fsck"), ("inspect", "{}", "fsck", "--repair")]
    for command in commands:
        assert f"expected a file, found a pipe: {pipe}; move it away" in said(command, crawl)


def test_a_folder_that_others_call_lock_is_left_where_it_is(tmp_path: Path) -> None:
    (tmp_path / "lock").mkdir()
    (tmp_path / "notes.txt").touch()
    assert f"there is no crawl in {tmp_path}: expected" in said(("status", "{}"), tmp_path)


def test_a_link_that_leads_nowhere_stands_in_no_way(tmp_path: Path) -> None:
    crawl = make(tmp_path / "crawl").directory
    for name, target in (("circle", "circle"), ("missing", "nowhere")):
        (crawl / "records" / name).symlink_to(target)
    assert command_here("status", str(crawl)).code == 0


def test_a_daemon_says_what_is_in_place_of_its_files(tmp_path: Path) -> None:
    place = tmp_path / "daemon"
    place.touch()
    told = command_here("daemon", str(tmp_path)).err
    assert told.startswith(f"onceover: expected a folder, found a file: {place}; move it away, ")
    place.unlink()
    (place / "lock").mkdir(parents=True)
    told = command_here("daemon", str(tmp_path)).err
    assert told.startswith(f"onceover: expected a file, found a folder: {place / 'lock'}; move it away, ")


def test_a_daemon_for_which_the_disk_has_no_room_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: Path, **_: object) -> None:
        raise OSError(errno.EDQUOT, os.strerror(errno.EDQUOT), str(path))

    monkeypatch.setattr(Path, "mkdir", refuse)
    with pytest.raises(OSError, match="Disk quota exceeded"), Home(tmp_path):
        pass

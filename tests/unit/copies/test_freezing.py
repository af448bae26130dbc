"""What is copied of a crawl, and what a backup leaves as it is: its sinks, its record numbers, and what is no copy."""

import errno
import fcntl
import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from crawler.control.replies import Refusal
from crawler.control.requests import Freeze
from crawler.copies import freezing
from crawler.copies.folder import CopyRefused, frozen_folder
from crawler.copies.freezing import Freezing, read_frozen
from crawler.disk.directory import CrawlDirectory
from crawler.disk.layout import read_layout, write_layout
from crawler.disk.lineages import LAST_IN_ORDER, read_lineages
from crawler.disk.pruned import PrunedNumbers, read_pruned
from crawler.files.replacing import replace_file
from crawler.operate.parts.crawl import RunningPart
from crawler.operate.reach import ReachedCrawl, reach
from crawler.operate.refused import Refused
from crawler.operate.upkeep import backing_up
from crawler.operate.upkeep.backing_up import back_up
from crawler.operate.upkeep.restoring import check_copy, restore
from crawler.prune.finished import output_files
from crawler.prune.pruning import delete
from crawler.testing.disks import fill, mounted
from crawler.write.cdxj.making import archives, index_of
from frontier.leveldb.linking import link_database, link_tables
from tests.e2e.crawling import COMPLETE, FAILED, REFUSED, USAGE, assert_told
from tests.e2e.operating import command_here
from tests.full_disk import no_space
from tests.unit.operate.answering import answering
from tests.unit.operate.stored_crawls import PARTS, make
from tests.unit.prune.written import NOW, names, whole, write
from tests.unit.write.samples import archived


def silent(_done: int, _total: int) -> None:
    return


def test_backups_that_fail_use_no_record_numbers_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    crawl = make(tmp_path / "crawl", parts=PARTS).directory

    def full(*_: object) -> None:
        raise OSError(errno.EFBIG, os.strerror(errno.EFBIG))

    with monkeypatch.context() as patch:
        patch.setattr("crawler.copies.writing.stream", full)
        with pytest.raises(OSError, match="was not made"):
            back_up(crawl, tmp_path / "copy", progress=silent)
    assert read_lineages(crawl).last == LAST_IN_ORDER
    back_up(crawl, tmp_path / "copy-of-part", part=1, progress=silent)  # restored, it gets numbers of its crawl
    assert read_lineages(crawl).last == LAST_IN_ORDER
    back_up(crawl, tmp_path / "copy", progress=silent)
    assert read_lineages(crawl).last < LAST_IN_ORDER


def test_a_crawl_that_has_lost_its_configuration_while_it_runs_is_not_copied_without(tmp_path: Path) -> None:
    crawl = make(tmp_path / "crawl", parts=PARTS)
    with answering(crawl.directory, range(PARTS), together=True):
        configuration = CrawlDirectory(crawl.directory).configuration
        configuration.unlink()
        ended = crawl.do("backup", "--to", str(tmp_path / "copy"))
    assert_told(ended, REFUSED, f"expected {configuration}", "restore it, or run `onceover crawl CONFIG --dir ")


def test_a_backup_waits_for_a_part_that_does_not_run_at_the_moment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    crawl = make(tmp_path / "crawl", parts=PARTS)
    ask, refused = RunningPart.ask, [False]

    async def ask_when_it_runs(self: RunningPart, request: Any, *, wait_s: float) -> Any:
        if isinstance(request, Freeze) and not all(refused):
            refused[0] = True
            return Refusal("it does not run at the moment", FAILED)
        return await ask(self, request, wait_s=wait_s)

    monkeypatch.setattr(RunningPart, "ask", ask_when_it_runs)
    with answering(crawl.directory, range(PARTS), together=True):
        made = back_up(crawl.directory, tmp_path / "copy", progress=silent)
    assert (len(made.parts), refused) == (PARTS, [True])


@pytest.mark.parametrize("parts", [1, PARTS])
def test_what_can_be_made_anew_is_not_copied(tmp_path: Path, parts: int) -> None:
    crawl = make(tmp_path / "crawl", parts=parts).directory
    sink = (crawl if parts == 1 else crawl / "part-0") / "sinks" / "own"
    sink.mkdir(parents=True)
    for folder in (crawl, sink):
        for name in ("search.sqlite", "search.sqlite-wal", "earlier.sqlite"):
            (folder / name).write_bytes(b"no database")
    (crawl / "search.sqlite.mine").touch()
    back_up(crawl, tmp_path / "copy", progress=silent)
    restore(tmp_path / "copy", tmp_path / "again", progress=silent)
    found = {str(path.relative_to(tmp_path / "again")) for path in (tmp_path / "again").rglob("*.sqlite*")}
    kept = str(sink.relative_to(crawl))
    assert found == {f"{kept}/search.sqlite", f"{kept}/earlier.sqlite", "search.sqlite.mine"}


def test_a_link_in_the_directory_is_copied_as_what_it_leads_to(tmp_path: Path) -> None:
    crawl = make(tmp_path / "crawl").directory
    (crawl / "latest.toml").symlink_to("../crawl/crawl.toml")
    (crawl / "nowhere").symlink_to("missing")
    back_up(crawl, tmp_path / "copy", progress=silent)
    restore(tmp_path / "copy", tmp_path / "restored", progress=silent)
    assert (tmp_path / "restored" / "latest.toml").read_bytes() == (crawl / "crawl.toml").read_bytes()


def test_a_frontier_on_another_disk_is_refused_with_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    crawl = make(tmp_path / "crawl").directory

    def elsewhere(*_: object) -> None:
        raise OSError(errno.EXDEV, os.strerror(errno.EXDEV))

    with monkeypatch.context() as patch:
        patch.setattr(Path, "hardlink_to", elsewhere)
        ended = command_here("backup", str(crawl), "--to", str(tmp_path / "copy"))
    assert_told(ended, FAILED, "lies on another disk", "Let the crawl end, then copy its directory")


def test_a_crawl_on_a_full_disk_is_told_apart_from_a_copy_on_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    crawl = make(tmp_path / "crawl").directory
    with monkeypatch.context() as patch:
        patch.setattr(Path, "hardlink_to", no_space)
        ended = command_here("backup", str(crawl), "--to", str(tmp_path / "copy"))
    assert_told(ended, FAILED, f"{crawl} can't be kept as it is", "Free some space on its disk, then try again")


def test_what_is_no_copy_is_not_touched(tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    mine.mkdir()
    for more in (("--check",), ("--to", str(tmp_path / "restored"))):
        assert_told(command_here("restore", str(mine), *more), REFUSED, "there is no whole copy in")
    assert not list(mine.iterdir())
    crawl = make(tmp_path / "crawl").directory
    ended = command_here("backup", str(crawl), "--part", "1", "--to", str(tmp_path / "copy"))
    assert_told(ended, USAGE, "--part 1", "is not in parts")
    assert not (tmp_path / "copy").exists()


def test_a_sink_keeps_its_locks_while_it_is_copied(tmp_path: Path) -> None:
    """If it lost them, the next process that reads its file would delete its write-ahead log."""
    directory = CrawlDirectory(make(tmp_path / "crawl").directory)
    path = directory.sinks / "sqlite" / "pages.sqlite"
    path.parent.mkdir(parents=True)
    (path.parent / "notes.txt").write_text("no database, and longer than the head of one")
    (path.parent / "empty").touch()
    program = (
        f"import sqlite3; d = sqlite3.connect({str(path)!r}); print(d.execute('SELECT count(*) FROM t').fetchone())"
    )
    with closing(sqlite3.connect(path, isolation_level=None)) as sink:
        sink.executescript("PRAGMA journal_mode = WAL; CREATE TABLE t (x); INSERT INTO t VALUES (1)")
        with frozen_folder(directory):
            freezing = Freezing(directory)
            freezing.prepare(link_tables)
            freezing.freeze(link_database)
            frozen = {file.name: Path(file.place) for file in read_frozen(freezing.finish())}
            freezing.close()
            assert frozen["sinks/sqlite/notes.txt"].read_text().startswith("no database")
            assert not frozen["sinks/sqlite/empty"].read_bytes()
            with closing(sqlite3.connect(frozen["sinks/sqlite/pages.sqlite"])) as copy:
                assert copy.execute("SELECT x FROM t").fetchall() == [(1,)]
        for rows in (1, 2):
            counted = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True, text=True)
            assert counted.stdout.strip() == f"({rows},)"
            sink.execute("INSERT INTO t VALUES (2)")


def test_a_database_that_can_not_be_opened_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    directory = CrawlDirectory(make(tmp_path / "crawl").directory)
    path = directory.sinks / "sqlite" / "pages.sqlite"
    path.parent.mkdir(parents=True)
    with closing(sqlite3.connect(path)) as sink:
        sink.execute("CREATE TABLE t (x)")

    def refuse(*_: object, **_more: object) -> None:
        raise sqlite3.OperationalError("unable to open database file")

    monkeypatch.setattr(sqlite3, "connect", refuse)
    with frozen_folder(directory):
        freezing = Freezing(directory)
        freezing.prepare(link_tables)
        with pytest.raises(OSError, match=r"unable to open database file: .*pages\.sqlite"):
            freezing.freeze(link_database)
        freezing.close()


def test_a_folder_that_may_not_be_read_is_not_left_out_of_a_copy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    crawl = make(tmp_path / "crawl").directory
    scan = os.scandir

    def refuse(path: str | Path | int) -> Any:
        if not isinstance(path, int) and Path(path).name == "records":
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
        return scan(path)

    monkeypatch.setattr(os, "scandir", refuse)
    ended = command_here("backup", str(crawl), "--to", str(tmp_path / "copy"))
    assert_told(ended, FAILED, "Permission denied", str(crawl / "records"))
    assert not (tmp_path / "copy" / "copy.json").exists()


def test_a_database_on_a_full_disk_is_told_as_that(tmp_path: Path) -> None:
    with mounted("-o", "size=4m", at=tmp_path / "disk") as disk:
        directory = CrawlDirectory(make(disk / "crawl").directory)
        path = directory.sinks / "sqlite" / "pages.sqlite"
        path.parent.mkdir(parents=True)
        with closing(sqlite3.connect(path, isolation_level=None)) as sink:
            sink.executescript("PRAGMA journal_mode = WAL; CREATE TABLE t (x)")
        with frozen_folder(directory):
            freezing = Freezing(directory)
            freezing.prepare(link_tables)
            ballast = fill(disk)
            os.truncate(ballast, ballast.stat().st_size - 8192)  # the rest of what is frozen has room
            with pytest.raises(OSError, match=r"No space left on device: .*pages\.sqlite"):
                freezing.freeze(link_database)
            freezing.close()


def test_a_restored_crawl_that_shares_a_set_is_told_so(tmp_path: Path) -> None:
    crawl = make(tmp_path / "crawl").directory
    text = (crawl / "crawl.toml").read_text()
    for old, new in (
        ('backend = "exact"', 'backend = "redis-exact"'),
        ("options = {}", 'options = { share = "library" }'),
    ):
        before, section, after = text.partition("[visited]")
        text = before + section + after.replace(old, new, 1)
    (crawl / "crawl.toml").write_text(text)
    back_up(crawl, tmp_path / "copy", progress=silent)
    ended = command_here("restore", str(tmp_path / "copy"), "--to", str(tmp_path / "restored"))
    assert_told(ended, COMPLETE)
    assert "shares the visited set 'library'" in ended.out


def test_a_file_whose_name_is_not_utf_8_is_refused_by_name(tmp_path: Path) -> None:
    crawl = make(tmp_path / "crawl").directory
    named = crawl / "records" / "a\nb"
    named.touch()
    back_up(crawl, tmp_path / "copy", progress=silent)
    assert check_copy(tmp_path / "copy", progress=silent).damaged == []
    named.rename(os.fsdecode(os.fsencode(crawl / "records") + b"/x\xff"))
    with pytest.raises(Refused, match=r"x\\udcff' can't be copied: its name is not UTF-8; rename it"):
        back_up(crawl, tmp_path / "copy", progress=silent)


@pytest.mark.parametrize("copies_again", [False, True])
def test_who_locks_a_folder_that_another_copy_has_just_deleted_touches_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, copies_again: bool
) -> None:
    lock, frozen = fcntl.flock, tmp_path / "copying"

    def end_first(descriptor: int, how: int) -> None:
        frozen.rmdir()
        if copies_again:
            (frozen / "files").mkdir(parents=True)
        lock(descriptor, how)

    monkeypatch.setattr(fcntl, "flock", end_first)
    with pytest.raises(CopyRefused, match=r"has just copied .*: try again"), frozen_folder(CrawlDirectory(tmp_path)):
        raise AssertionError
    assert (frozen / "files").exists() == copies_again


@pytest.mark.parametrize("step", range(8))
def test_what_is_deleted_while_a_crawl_is_frozen_is_in_the_copy_or_in_its_list_and_not_in_both(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: int
) -> None:
    crawl = write(tmp_path / "crawl", [whole(number) for number in range(3)])
    crawl.frontier.mkdir()
    looks, oldest = 0, output_files([crawl])[0]
    real = freezing._files_in

    def look_and_delete(folder: Path, directory: CrawlDirectory) -> list[os.DirEntry[str]]:
        nonlocal looks
        if looks == step:
            delete(crawl, [(oldest, "old")], now=NOW)
        looks += 1
        return real(folder, directory)

    frozen = Freezing(crawl)
    frozen.prepare(lambda _source, _target: None)
    monkeypatch.setattr(freezing, "_files_in", look_and_delete)
    restored = _frozen_and_restored(frozen, tmp_path / "restored")
    assert (restored.path / oldest.name).exists() != PrunedNumbers([restored]).has("records", 0)
    assert PrunedNumbers([restored]).highest == 0


def test_what_was_deleted_and_put_back_is_copied(tmp_path: Path) -> None:
    crawl = write(tmp_path / "crawl", [whole(0), whole(1)])
    crawl.frontier.mkdir()
    oldest = output_files([crawl])[0]
    content = oldest.path.read_bytes()
    delete(crawl, [(oldest, "old")], now=NOW)
    oldest.path.write_bytes(content)
    restored = _frozen_and_restored(Freezing(crawl), tmp_path / "restored")
    assert (restored.path / oldest.name).read_bytes() == content


def test_a_link_to_a_disk_that_is_missing_is_not_left_out(tmp_path: Path) -> None:
    crawl = write(tmp_path / "crawl", [whole(0), whole(1)])
    crawl.frontier.mkdir()
    oldest = archives(crawl.warc)[0]
    oldest.rename(tmp_path / "moved")
    oldest.symlink_to(tmp_path / "moved")
    restored = _frozen_and_restored(Freezing(crawl), tmp_path / "restored")
    assert (restored.warc / oldest.name).read_bytes() == (tmp_path / "moved").read_bytes()
    (tmp_path / "moved").unlink()
    with pytest.raises(OSError, match=rf"{oldest.name} links to what is missing"):
        Freezing(crawl).freeze(lambda _source, _target: {})


def test_a_link_that_is_deleted_while_a_crawl_is_frozen_is_no_trouble(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    crawl = write(tmp_path / "crawl", [whole(0), whole(1)])
    oldest, *others = archives(crawl.warc)
    oldest.rename(tmp_path / "moved")
    oldest.symlink_to(tmp_path / "moved")
    real = os.scandir

    @contextmanager
    def scan_and_delete(folder: Path) -> Iterator[list[os.DirEntry[str]]]:
        with real(folder) as entries:
            found = list(entries)
        oldest.unlink()
        yield found

    monkeypatch.setattr("crawler.copies.freezing.os.scandir", scan_and_delete)
    names = [entry.name for entry in freezing._files_in(crawl.warc, crawl)]
    assert oldest.name not in names
    assert all(each.name in names for each in others)


def test_what_was_archived_before_a_crawl_was_divided_is_copied_also_if_it_is_deleted_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    crawl = make(tmp_path / "crawl", parts=PARTS).directory
    old = write(crawl / "old", [whole(0), whole(1)])
    layout = read_layout(crawl)
    assert layout is not None
    write_layout(crawl, msgspec.structs.replace(layout, earlier=("old",)))
    before = [file.name for file in output_files([old])]

    @contextmanager
    def reach_while_all_is_deleted(place: Path, *, to_change: bool) -> Iterator[ReachedCrawl]:
        with reach(place, to_change=to_change) as reached:
            yield reached
        delete(old, [(file, "old") for file in output_files([old])], now=NOW)

    monkeypatch.setattr(backing_up, "reach", reach_while_all_is_deleted)
    back_up(crawl, tmp_path / "copy", progress=silent)
    assert not output_files([old])
    restore(tmp_path / "copy", tmp_path / "restored", progress=silent)
    restored = CrawlDirectory(tmp_path / "restored" / "old")
    assert [file.name for file in output_files([restored])] == before
    assert not read_pruned(restored).files


def _frozen_and_restored(prepared: Freezing, to: Path) -> CrawlDirectory:
    prepared.freeze(lambda _source, _target: {})
    for file in read_frozen(prepared.finish()):
        (to / file.name).parent.mkdir(parents=True, exist_ok=True)
        (to / file.name).write_bytes(Path(file.place).read_bytes()[: file.bytes])
    prepared.close()
    return CrawlDirectory(to)


@pytest.mark.parametrize(("count", "stay"), [(1, 1), (2, 1), (2, 2), (3, 0)])
def test_archives_that_are_deleted_while_a_crawl_is_frozen_leave_no_revisit_without_its_body(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, count: int, stay: int
) -> None:
    """Before `count` archives are linked, all but the first ones are deleted, which `stay`."""
    body = b"<title>The same</title>" + b"x" * 600
    pages = [msgspec.structs.replace(whole(number, body), url="http://a.test/") for number in range(3)]
    crawl = write(tmp_path / "crawl", pages, revisits=10)
    crawl.frontier.mkdir()
    scan, freeze, seen = os.scandir, Freezing._freeze_file, 0

    @contextmanager
    def scan_newest_first(folder: Path) -> Iterator[list[os.DirEntry[str]]]:
        with scan(folder) as entries:
            yield sorted(entries, key=lambda entry: entry.name, reverse=True)

    def delete_and_freeze(frozen: Freezing, entry: os.DirEntry[str], name: str) -> None:
        nonlocal seen
        if name.endswith(".warc.gz"):
            if seen == count:
                found = [(file, "old") for file in output_files([crawl]) if file.is_archive]
                delete(crawl, found[stay:], now=NOW)
            seen += 1
        freeze(frozen, entry, name)

    frozen = Freezing(crawl)
    frozen.prepare(lambda _source, _target: None)
    with monkeypatch.context() as patch:
        patch.setattr(freezing, "os", SimpleNamespace(scandir=scan_newest_first, walk=os.walk))
        patch.setattr(Freezing, "_freeze_file", delete_and_freeze)
        restored = _frozen_and_restored(frozen, tmp_path / "restored")
    kinds = [each.kind for each in archived(restored.warc) if each.kind in {"response", "revisit"}]
    assert kinds == ["response", "revisit", "revisit"][: stay if count < 3 else None]
    assert names(restored, lambda each: each.warc) == sorted(
        name for path in archives(restored.warc) for name in (path.name, index_of(path).name)
    )


def test_a_list_that_is_replaced_while_a_crawl_is_frozen_is_copied_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    crawl = CrawlDirectory(tmp_path)
    crawl.frontier.mkdir()
    crawl.pruned.write_bytes(b"short")
    frozen, link = Freezing(crawl), Path.hardlink_to

    def replace_and_link(path: Path, source: Path) -> None:
        replace_file(crawl.pruned, b"longer than before")
        link(path, source)

    monkeypatch.setattr(Path, "hardlink_to", replace_and_link)
    frozen.freeze(lambda _source, _target: {})
    [file] = [each for each in read_frozen(frozen.finish()) if each.name == crawl.pruned.name]
    frozen.close()
    assert Path(file.place).read_bytes()[: file.bytes] == b"longer than before"

"""Copies of crawls that do not run: what is in them, and what is refused."""

import asyncio
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from crawler.copies.content import CopyList, Folder
from crawler.copies.folder import CopyRefused, frozen_folder
from crawler.copies.freezing import FrozenFile
from crawler.copies.restoring import restoring
from crawler.copies.writing import CopyWriter
from crawler.disk.directory import CrawlDirectory
from crawler.disk.layout import read_layout
from crawler.disk.lineages import (
    LAST_IN_ORDER,
    NO_LINEAGES,
    Block,
    Lineages,
    draw,
    read_lineages,
    write_lineages,
)
from crawler.operate.opening import stored_configuration
from crawler.operate.upkeep.backing_up import back_up
from crawler.operate.upkeep.restoring import check_copy, restore
from crawler.page import PageRecord
from crawler.wiring.storage import open_state
from crawler.write.records import RecordSink, read_records
from frontier import MAX_LINEAGE, MAX_PARTS, Numbering
from frontier.parts.protocol import lineage_of
from tests.e2e.crawling import COMPLETE, FAILED, REFUSED, USAGE, assert_sound, assert_told, tree
from tests.e2e.operating import command_here
from tests.full_disk import no_space
from tests.unit.operate.stored_crawls import EACH, HOSTS, PARTS, SETTLED, make


def silent(_done: int, _total: int) -> None:
    return


def copied(folder: Path, parts: int = 1) -> tuple[Path, Path]:
    """A crawl and its copy."""
    crawl = make(folder / "crawl", parts=parts).directory
    back_up(crawl, folder / "copy", progress=silent)
    return crawl, folder / "copy"


def list_of(copy: Path) -> CopyList:
    found = Folder(copy).read_list()
    assert found is not None
    return found


def content_of(copy: Path, name: str) -> Path:
    return next(Folder(copy).place_of(file.sha256) for file in list_of(copy).files if file.name.endswith(name))


@pytest.mark.parametrize("parts", [1, PARTS])
def test_a_restored_crawl_has_the_same_urls_and_output(tmp_path: Path, parts: int) -> None:
    crawl, copy = copied(tmp_path, parts)
    before = command_here("frontier", "export", str(crawl)).out
    restored = command_here("restore", str(copy), "--to", str(tmp_path / "restored"), "--json")
    assert_told(restored, COMPLETE)
    again = tmp_path / "restored"
    assert_sound(again)
    notes = command_here("inspect", str(again), "fsck").err.splitlines()
    assert len(notes) == parts
    assert all("it is missing, as in a crawl that was restored" in note and "Errno" not in note for note in notes)
    assert command_here("frontier", "export", str(again)).out == before
    status = command_here("status", str(again), "--json").json()
    frontier = msgspec.convert(status["frontier"], dict[str, object])
    assert frontier["admitted"] == len(HOSTS) * EACH
    for each in [".", *(f"part-{number}" for number in range(parts if parts > 1 else 0))]:
        if (crawl / each / "records").exists():
            assert tree(again / each / "records") == tree(crawl / each / "records")
        assert not (again / each / "visited").exists()
    assert not (again / "restoring").exists()
    assert sum(each["settled"] for each in restored.json()["parts"]) == len(HOSTS) * SETTLED  # type: ignore[attr-defined]


def test_only_what_is_new_is_copied_again(tmp_path: Path) -> None:
    crawl, copy = copied(tmp_path)
    second = back_up(crawl, copy, progress=silent)
    # Opening a LevelDB writes its log and its manifest anew.
    names = {file.name for file in list_of(copy).files if not file.name.startswith("frontier/")}
    assert second.new_files < second.files
    assert second.new_bytes < content_of(copy, ".jsonl").stat().st_size + 100_000
    assert "records/records-00000.jsonl" in names
    kept = content_of(copy, ".jsonl").stat().st_ino
    back_up(crawl, copy, progress=silent)
    assert content_of(copy, ".jsonl").stat().st_ino == kept


def test_output_is_cut_to_its_length_at_that_moment(tmp_path: Path) -> None:
    crawl, copy = copied(tmp_path)
    whole = (crawl / "records" / "records-00000.jsonl").read_bytes()
    asyncio.run(write_record(crawl / "records"))
    restore(copy, tmp_path / "restored", progress=silent)
    assert (tmp_path / "restored" / "records" / "records-00000.jsonl").read_bytes() == whole
    assert 999 not in {record.number for record in read_records(tmp_path / "restored" / "records")}


async def write_record(directory: Path) -> None:
    sink = RecordSink(directory)
    await sink.write(None, PageRecord(number=999, url="http://h/", state="done", depth=0, kind="link"))
    await sink.aclose()


def test_an_interrupted_copy_is_never_taken_for_a_whole_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    crawl, copy = copied(tmp_path)
    before = tree(copy)
    (crawl / "records" / "records-00001.jsonl").write_bytes(
        (crawl / "records" / "records-00000.jsonl").read_bytes()[:-9]
    )
    with monkeypatch.context() as patch:
        patch.setattr(Folder, "write_list", killed)
        patch.setattr("crawler.copies.writing.CopyWriter.give_up", lambda _: None)
        with pytest.raises(Killed):
            back_up(crawl, copy, progress=silent)
    assert tree(copy).items() > before.items()
    restore(copy, tmp_path / "restored", progress=silent)
    assert not (tmp_path / "restored" / "records" / "records-00001.jsonl").exists()
    done = back_up(crawl, copy, progress=silent)
    assert not check_copy(copy, progress=silent).damaged
    assert len([name for name, content in tree(copy).items() if content is not None]) <= done.files + 2


@pytest.mark.parametrize("step", ["list", "old contents"])
def test_a_copy_that_is_interrupted_when_it_replaces_the_last_one_is_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    crawl, copy = copied(tmp_path)
    records = (crawl / "records" / "records-00000.jsonl").read_bytes()
    (crawl / "records" / "records-00001.jsonl").write_bytes(records[:-9])
    with monkeypatch.context() as patch:
        if step == "list":
            patch.setattr(Folder, "write_list", _and_then_killed(Folder.write_list))
        else:
            patch.setattr(CopyWriter, "finish", _and_then_killed(CopyWriter.finish))
        with pytest.raises(Killed):
            back_up(crawl, copy, progress=silent)
    assert "records/records-00001.jsonl" in {file.name for file in list_of(copy).files}
    assert not check_copy(copy, progress=silent).damaged
    back_up(crawl, copy, progress=silent)
    assert not check_copy(copy, progress=silent).damaged


def test_a_copy_that_never_became_whole_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    crawl = make(tmp_path / "crawl").directory
    with monkeypatch.context() as patch:
        patch.setattr(Folder, "write_list", killed)
        with pytest.raises(Killed):
            back_up(crawl, tmp_path / "copy", progress=silent)
    ended = command_here("restore", str(tmp_path / "copy"), "--to", str(tmp_path / "restored"))
    assert_told(ended, REFUSED, "there is no whole copy in", "copy.json")
    assert not (tmp_path / "restored").exists()


def test_a_restore_brings_the_names_of_all_new_folders_onto_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    crawl, _ = copied(tmp_path)
    (crawl / "sinks" / "mine" / "deep").mkdir(parents=True)
    (crawl / "sinks" / "mine" / "deep" / "pages").write_bytes(b"of a plug-in")
    back_up(crawl, tmp_path / "copy", progress=silent)
    synced: set[Path] = set()
    monkeypatch.setattr("crawler.copies.restoring.sync_directory", synced.add)
    again = tmp_path / "restored"
    restore(tmp_path / "copy", again, progress=silent)
    assert synced >= {again, *(each for each in again.rglob("*") if each.is_dir())}


class Killed(BaseException):
    pass


def killed(*_: object) -> None:
    raise Killed


def _and_then_killed(done: Callable[..., object]) -> Callable[..., None]:
    def do(*of: object) -> None:
        done(*of)
        raise Killed

    return do


def test_a_full_disk_leaves_the_last_copy_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    crawl, copy = copied(tmp_path)
    before = tree(copy)
    (crawl / "records" / "records-00001.jsonl").write_bytes(
        (crawl / "records" / "records-00000.jsonl").read_bytes()[:-9]
    )

    with monkeypatch.context() as patch:
        patch.setattr("crawler.copies.writing.stream", no_space)
        ended = command_here("backup", str(crawl), "--to", str(copy))
    assert_told(ended, FAILED, "the copy in", "was not made; a whole one from before is still there. Free")
    assert tree(copy) == before
    assert not (crawl / "copying").exists()


def test_a_full_disk_leaves_nothing_of_a_first_copy_and_claims_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    crawl, copy = make(tmp_path / "crawl").directory, tmp_path / "copy"
    with monkeypatch.context() as patch:
        patch.setattr("crawler.copies.writing.sync_directory", no_space)
        ended = command_here("backup", str(crawl), "--to", str(copy))
    assert_told(ended, FAILED, "the copy in", "was not made. Free some space on its disk")
    assert "from before" not in ended.err
    assert [each.name for each in copy.iterdir()] == ["lock"]


def test_a_restore_onto_a_full_disk_names_the_file_that_did_not_fit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, copy = copied(tmp_path)
    restored = tmp_path / "restored"
    with monkeypatch.context() as patch:
        patch.setattr("crawler.copies.restoring.stream", no_space)
        ended = command_here("restore", str(copy), "--to", str(restored))
    assert_told(ended, FAILED, "the disk is full: free some space", f"(No space left on device: {restored}/")
    assert_told(command_here("restore", str(copy), "--to", str(restored)), COMPLETE)


@pytest.mark.parametrize("damage", ["changed", "cut", "longer", "missing"])
def test_a_damaged_copy_names_what_is_damaged_and_opens_as_no_crawl(tmp_path: Path, damage: str) -> None:
    _, copy = copied(tmp_path)
    place = content_of(copy, "records-00000.jsonl")
    content = place.read_bytes()
    place.unlink()
    if damage != "missing":
        changed = {"changed": b"x" + content[1:], "cut": content[:-1], "longer": content + b"x"}[damage]
        place.write_bytes(changed)
    told = command_here("restore", str(copy), "--check")
    assert_told(told, FAILED)
    assert "records/records-00000.jsonl" in told.out
    assert "1 damaged file" in told.out
    restored = tmp_path / "restored"
    assert_told(
        command_here("restore", str(copy), "--to", str(restored)), REFUSED, "the copy is damaged", "records-00000.jsonl"
    )
    assert_told(command_here("status", str(restored)), REFUSED, "restored in part")
    place.write_bytes(content)
    assert_told(command_here("restore", str(copy), "--to", str(restored)), COMPLETE)
    assert_sound(restored)


@pytest.mark.parametrize("what", ["folder", "broken"])
def test_contents_that_cannot_be_read_are_told_with_all_others_that_are_damaged(tmp_path: Path, what: str) -> None:
    _, copy = copied(tmp_path)
    place, other = content_of(copy, "records-00000.jsonl"), content_of(copy, "crawl.toml")
    for each in (place, other):
        each.unlink()
    if what == "folder":
        place.mkdir()
    else:
        place.symlink_to("/proc/self/mem")  # it can be opened, and no byte of it be read
    told = command_here("restore", str(copy), "--check")
    assert_told(told, FAILED)
    assert f"{place}, the content of records/records-00000.jsonl, can't be read: " in told.out
    assert f"{other} is missing" in told.out
    ended = command_here("restore", str(copy), "--to", str(tmp_path / "restored"))
    assert_told(ended, REFUSED, "the copy is damaged")


def test_a_backup_names_the_file_of_the_crawl_that_it_cannot_read(tmp_path: Path) -> None:
    crawl, copy = copied(tmp_path)
    broken = crawl / "broken"
    broken.symlink_to("/proc/self/mem")
    files = [FrozenFile(name="broken", bytes=10, modified_ns=0, place=str(broken))]
    with Folder(copy).locked(to_write=True), pytest.raises(OSError, match=re.escape(str(broken))):
        CopyWriter(Folder(copy), list_of(copy)).copy(files, progress=silent)


def test_a_list_that_can_t_be_read_is_refused(tmp_path: Path) -> None:
    crawl, copy = copied(tmp_path)
    (copy / "copy.json").write_bytes((copy / "copy.json").read_bytes()[:-100])
    for command in (("restore", str(copy), "--check"), ("backup", str(crawl), "--to", str(copy))):
        assert_told(command_here(*command), REFUSED, "copy.json can't be read", "another one has to be made")
    (copy / "copy.json").write_text('{"version": 9}')
    assert_told(command_here("restore", str(copy), "--check"), REFUSED, "has version 9")


@pytest.mark.parametrize("name", ["../outside", "records/../../outside", "{absolute}", "", ".", "records/\0"])
def test_a_list_with_a_name_outside_the_crawl_is_refused_and_nothing_is_written(tmp_path: Path, name: str) -> None:
    _, copy = copied(tmp_path)
    found = list_of(copy)
    outside = name.format(absolute=tmp_path / "outside")
    first, *others = found.files
    Folder(copy).write_list(
        msgspec.structs.replace(found, files=(msgspec.structs.replace(first, name=outside), *others))
    )
    before = tree(tmp_path)
    ended = command_here("restore", str(copy), "--to", str(tmp_path / "restored"))
    assert_told(ended, REFUSED, "copy.json can't be read", "expected the name of a file below the directory of a crawl")
    assert tree(tmp_path) == before


def test_a_list_with_a_part_outside_the_crawl_is_refused(tmp_path: Path) -> None:
    _, copy = copied(tmp_path, PARTS)
    found = list_of(copy)
    first, *others = found.parts
    Folder(copy).write_list(
        msgspec.structs.replace(found, parts=(msgspec.structs.replace(first, directory="../outside"), *others))
    )
    assert_told(command_here("restore", str(copy), "--check"), REFUSED, "copy.json can't be read", "'../outside'")


def test_what_is_not_there_is_refused(tmp_path: Path) -> None:
    missing, copy = str(tmp_path / "missing"), tmp_path / "copy"
    assert_told(command_here("restore", missing, "--check"), REFUSED, "there is no whole copy in")
    assert_told(command_here("backup", missing, "--to", str(copy)), REFUSED, "there is no crawl in")
    assert not copy.exists()


def test_a_file_where_a_folder_is_expected_is_told(tmp_path: Path) -> None:
    crawl, copy = copied(tmp_path)
    file = tmp_path / "file"
    file.write_text("mine")
    why = f"expected a folder, or a new name for one; found a file: {file}"
    assert_told(command_here("backup", str(crawl), "--to", str(file)), REFUSED, why)
    assert_told(command_here("restore", str(copy), "--to", str(file)), REFUSED, why)
    assert file.read_text() == "mine"


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    crawl, copy = copied(tmp_path)
    taken = tmp_path / "taken"
    taken.mkdir()
    (taken / "mine.txt").write_text("mine")
    for directory in (crawl, taken):
        before = tree(directory)
        ended = command_here("restore", str(copy), "--to", str(directory))
        assert_told(ended, REFUSED, "is not empty, and was not touched")
        assert tree(directory) == before
    assert_told(command_here("backup", str(crawl), "--to", str(taken)), REFUSED, "holds other files")
    assert_told(command_here("backup", str(crawl), "--to", str(crawl / "copy")), REFUSED, "lie in each other")
    other = make(tmp_path / "other").directory
    ended = command_here("backup", str(other), "--to", str(copy))
    assert_told(ended, REFUSED, "a copy of another crawl", str(crawl))
    assert_told(command_here("restore", str(copy)), USAGE, "expected --to DIR, or --check")


def test_two_restores_into_one_directory_do_not_meet(tmp_path: Path) -> None:
    _, copy = copied(tmp_path)
    restored = tmp_path / "restored"
    with restoring(restored):
        (restored / "records").mkdir()
        (restored / "records" / "of-the-first").write_text("restored")
        before = tree(restored)
        ended = command_here("restore", str(copy), "--to", str(restored))
        assert_told(ended, REFUSED, f"another process restores a copy into {restored}: wait until it has ended")
        assert tree(restored) == before
    assert_told(command_here("restore", str(copy), "--to", str(restored)), REFUSED, "is not empty, and was not touched")


def test_a_restore_leaves_what_another_one_has_restored_since_it_looked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    restored = tmp_path / "restored"
    make_directory = Path.mkdir

    def mkdir(path: Path, *args: Any, **more: Any) -> None:
        make_directory(path, *args, **more)
        if path == restored:
            monkeypatch.undo()
            with restoring(restored):
                (restored / "crawl.toml").write_text("restored")

    monkeypatch.setattr(Path, "mkdir", mkdir)
    with pytest.raises(CopyRefused, match="is not empty, and was not touched"), restoring(restored):
        raise AssertionError
    assert tree(restored) == {"crawl.toml": b"restored"}


def test_two_backups_of_one_crawl_do_not_meet(tmp_path: Path) -> None:
    crawl, copy = copied(tmp_path)
    with frozen_folder(CrawlDirectory(crawl)):
        ended = command_here("backup", str(crawl), "--to", str(tmp_path / "second"))
        assert_told(ended, REFUSED, "another process copies")
    with Folder(copy).locked(to_write=True), pytest.raises(CopyRefused, match="another process uses the copy"):
        back_up(crawl, copy, progress=silent)


def test_copies_that_live_on_share_no_record_number(tmp_path: Path) -> None:
    """Whatever is divided and copied again afterwards."""
    crawl, copy = copied(tmp_path, PARTS)
    crawls = [crawl]
    for number in range(2):
        crawls.append(tmp_path / f"restored-{number}")
        restore(copy, crawls[-1], progress=silent)
    back_up(crawls[1], tmp_path / "copy-of-restored", progress=silent)
    crawls.append(tmp_path / "restored-again")
    restore(tmp_path / "copy-of-restored", crawls[-1], progress=silent)
    used: list[int] = []
    for each in crawls:
        layout = read_layout(each)
        assert layout is not None
        used += [place.lineage for place in layout.parts]
        assert_told(command_here("parts", str(each), "--into", "2"), COMPLETE)
        divided = read_layout(each)
        assert divided is not None
        used += [place.lineage for place in divided.parts]
    assert len(used) == len(crawls) * (PARTS + 2)
    assert len(set(used)) == len(used)


def test_restores_of_restored_crawls_never_run_out_of_record_numbers(tmp_path: Path) -> None:
    crawl, copy = copied(tmp_path)
    used = [lineage(crawl)]
    for number in range(6):
        crawl = tmp_path / f"restored-{number}"
        restore(copy, crawl, progress=silent)
        assert_sound(crawl)
        used.append(lineage(crawl))
        copy = tmp_path / f"copy-{number}"
        back_up(crawl, copy, progress=silent)
        assert_told(command_here("parts", str(crawl), "--into", "2"), COMPLETE)
        layout = read_layout(crawl)
        assert layout is not None
        used += [place.lineage for place in layout.parts]
    assert used[-1] > LAST_IN_ORDER
    assert len(set(used)) == len(used) == 1 + 6 * 3


def test_crawls_restored_from_a_copy_without_lineages_have_different_ones(tmp_path: Path) -> None:
    crawl, copy = copied(tmp_path, PARTS)
    write_lineages(crawl, Lineages(crawl=list_of(copy).crawl, first=PARTS + 1, last=PARTS + 4))
    Folder(copy).write_list(msgspec.structs.replace(list_of(copy), lineages=NO_LINEAGES))
    used: list[int] = []
    for number in range(4):
        if number % 2:
            back_up(crawl, copy, progress=silent)  # which keeps what the copy says of the crawls restored from it
        restored = tmp_path / f"restored-{number}"
        restore(copy, restored, progress=silent)
        assert_sound(restored)
        assert len(read_lineages(restored).drawn) == number + 1
        layout = read_layout(restored)
        assert layout is not None
        used += [place.lineage for place in layout.parts]
    assert min(used) > LAST_IN_ORDER
    assert len(set(used)) == len(used)
    assert read_lineages(crawl).last == PARTS + 4
    shutil.rmtree(crawl / "part-1")
    for _ in range(5):
        restore(copy, crawl, part=1, progress=silent)
        shutil.rmtree(crawl / "part-1")
    layout = read_layout(crawl)
    assert layout is not None
    assert layout.parts[1].lineage > LAST_IN_ORDER


def test_a_crawl_draws_no_lineages_that_were_drawn() -> None:
    drawn: list[Block] = []
    while (block := draw(drawn, parts=MAX_PARTS, above=0)) is not None:
        assert len(block) >= MAX_PARTS
        assert block.first > LAST_IN_ORDER
        assert all(block.last < each.first or each.last < block.first for each in drawn)
        drawn.append(block)
    assert len(drawn) > 100
    last = max(each.last for each in drawn)
    for _ in range(20):
        above = draw(drawn, parts=1, above=last)
        assert above is not None
        assert last < above.first <= above.last <= MAX_LINEAGE
    assert draw(drawn, parts=1, above=MAX_LINEAGE) is None


def test_a_crawl_that_was_divided_too_often_says_so(tmp_path: Path) -> None:
    crawl, copy = copied(tmp_path)
    write_lineages(crawl, Lineages(crawl=list_of(copy).crawl, first=MAX_LINEAGE, last=MAX_LINEAGE))
    assert_told(command_here("parts", str(crawl), "--into", "2"), REFUSED, "no record numbers are left: begin a new")
    back_up(crawl, tmp_path / "other", progress=silent)
    with pytest.raises(CopyRefused, match="no record numbers are left"):
        restore(tmp_path / "other", tmp_path / "restored", progress=silent)
    restore(copy, tmp_path / "restored", progress=silent)
    assert_told(command_here("parts", str(tmp_path / "restored"), "--into", "2"), COMPLETE)


@pytest.mark.parametrize("into", ["copy", "new"])
def test_a_restored_crawl_gives_higher_numbers_than_the_copied_one_has_given(tmp_path: Path, into: str) -> None:
    """The number of a visit tells whether it was later than another one."""
    crawl, copy = copied(tmp_path)
    high = MAX_LINEAGE // 2 + 1
    write_lineages(crawl, Lineages(crawl=list_of(copy).crawl, first=high + 1, last=high))
    back_up(crawl, tmp_path / into, progress=silent)
    restore(tmp_path / into, tmp_path / "restored", progress=silent)
    assert lineage(tmp_path / "restored") > high


@pytest.mark.parametrize("command", [["frontier", "rebuild", "--from-records"], ["inspect", "fsck", "--repair"]])
def test_a_restored_crawl_gives_numbers_of_its_own_also_after_its_frontier_was_lost(
    tmp_path: Path, command: list[str]
) -> None:
    """Its output has numbers of the crawl that was copied, and they would be given again."""
    _, copy = copied(tmp_path)
    restored = tmp_path / "restored"
    restore(copy, restored, progress=silent)
    before = lineage(restored)
    assert before
    shutil.rmtree(restored / "frontier")
    (restored / "lock").touch()
    name, *rest = command
    words = [name, str(restored), *rest] if name == "inspect" else [*command, str(restored)]
    assert command_here(*words).code in (COMPLETE, FAILED)  # of some pages, the links are lost
    assert lineage(restored) == before


def test_damage_of_what_says_which_numbers_are_left_hinders_only_who_makes_a_frontier(tmp_path: Path) -> None:
    crawl, _ = copied(tmp_path)
    (crawl / "lineages.json").write_bytes(b"{")
    for command in (["status"], ["report"], ["inspect", "fsck"], ["recrawl"]):
        first, *rest = command
        assert command_here(first, str(crawl), *rest).code == COMPLETE
    rebuilt = command_here("frontier", "rebuild", str(crawl), "--from-records")
    assert_told(rebuilt, REFUSED, "lineages.json can't be read", "restore a copy of that file")
    assert command_here("inspect", str(crawl), "fsck").code == COMPLETE


def lineage(crawl: Path) -> int:
    state = open_state(stored_configuration(crawl).config, CrawlDirectory(crawl))
    assert isinstance(state, Numbering)
    number = state.next_number
    state.close()
    return lineage_of(number)


def test_one_part_is_restored_into_its_crawl(tmp_path: Path) -> None:
    crawl, copy = copied(tmp_path, PARTS)
    before = command_here("frontier", "export", str(crawl)).out
    assert_told(command_here("restore", str(copy), "--to", str(crawl), "--part", "1"), REFUSED, "is not empty")
    for source in (copy, tmp_path / "copy-of-part"):
        if source != copy:
            done = command_here("backup", str(crawl), "--part", "1", "--to", str(source))
            assert_told(done, COMPLETE)
            refused = command_here("restore", str(source), "--to", str(tmp_path / "new"))
            assert_told(refused, REFUSED, "part 1 alone")
        shutil.rmtree(crawl / "part-1")
        assert_told(command_here("restore", str(source), "--to", str(crawl), "--part", "1"), COMPLETE)
        assert_sound(crawl)
        assert command_here("frontier", "export", str(crawl)).out == before
    layout = read_layout(crawl)
    assert layout is not None
    assert [place.lineage for place in layout.parts] == [1, PARTS + 2, 3]
    assert_told(command_here("parts", str(crawl), "--into", "2"), COMPLETE)
    ended = command_here("restore", str(copy), "--to", str(crawl), "--part", "1")
    assert_told(ended, REFUSED, "was divided anew since that copy was made")

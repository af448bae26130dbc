"""Old output is deleted whole and in order, what is still needed stays, and the list tells what is gone."""

import errno
import gzip
import hashlib
import os
import re
import shutil
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from random import Random

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawler.disk import pruned
from crawler.disk.directory import CrawlDirectory, DirectoryRefused
from crawler.disk.layout import Layout, write_layout
from crawler.disk.pruned import Cycle, PrunedNumbers, read_pruned, why_list_is_lost, write_numbers, write_pruned
from crawler.files import replacing
from crawler.page import rfc3339
from crawler.page.number_set import NumberSet
from crawler.prune import finished, following
from crawler.prune.choosing import Keep
from crawler.prune.cycles import Place, renumbered, with_next
from crawler.prune.finished import OutputFile, output_files, read_content
from crawler.prune.needs import Needs
from crawler.prune.pruning import delete, make_plan
from crawler.write.cdxj.making import archives, index_of, lines_of
from crawler.write.cdxj.open_index import open_index_of
from crawler.write.gzip_members import HEAD_BYTES, members
from crawler.write.records import read_records
from crawler.write.warc_opening import is_ours
from crawler.write.warc_records import NUMBER_FIELD
from tests.unit.prune.written import DAY_S, NOW, fetched_at, names, serials, unchanged, whole, write

BODY = b"<title>The same</title>" + b"x" * 600


def prune(crawl: CrawlDirectory, keep: Keep) -> list[tuple[str, int]]:
    plan = make_plan([crawl], keep, now=NOW)
    delete(crawl, list(plan.chosen.items()), now=NOW)
    return serials(list(plan.chosen))


@pytest.mark.parametrize(("seconds", "age"), [(1.0, "1 second"), (90.0, "1.5 minutes"), (DAY_S, "1 day")])
def test_the_reason_tells_the_age_in_words(tmp_path: Path, seconds: float, age: str) -> None:
    crawl = write(tmp_path, [whole(number) for number in range(6)])
    plan = make_plan([crawl], Keep(seconds=seconds), now=NOW)
    assert set(plan.chosen.values()) == {f"older than {age}"}


def test_files_go_whose_last_page_is_too_old_with_their_indexes_and_the_list_tells_what_they_were(
    tmp_path: Path,
) -> None:
    crawl = write(tmp_path, [whole(number) for number in range(6)])
    digests = {each.name: hashlib.sha256(each.path.read_bytes()).hexdigest() for each in output_files([crawl])}
    sizes = {each.name: each.bytes for each in output_files([crawl])}
    gone = prune(crawl, Keep(seconds=6.5 * DAY_S))
    assert gone == [(output, day) for day in range(4) for output in ("records", "warc")]
    assert serials(output_files([crawl])) == [("records", 4), ("records", 5), ("warc", 4), ("warc", 5)]
    assert len(names(crawl, lambda each: each.warc)) == 4  # two archives and their indexes
    listed = read_pruned(crawl).files
    assert [each.digest for each in listed] == [digests[each.name] for each in listed]
    assert [each.bytes for each in listed] == [sizes[each.name] for each in listed]
    assert all(each.is_deleted and each.records == 1 for each in listed)
    assert all(each.reason == "older than 6.5 days" for each in listed)
    assert all(each.first is not None and each.first[:19] == str(each.last)[:19] for each in listed)
    numbers = PrunedNumbers([crawl])
    for output in ("records", "warc"):
        assert [number for number in range(6) if numbers.has(output, number)] == [0, 1, 2, 3]
    assert prune(crawl, Keep(seconds=6.5 * DAY_S)) == []


def test_a_file_whose_name_is_not_utf_8_stays_and_keeps_no_other(tmp_path: Path) -> None:
    crawl = write(tmp_path, [whole(number) for number in range(3)])
    odd = crawl.warc / "x\udce9.warc.gz"
    odd.touch()
    os.utime(odd, (0, 0))
    assert prune(crawl, Keep(seconds=1.0)) != []
    assert archives(crawl.warc)[0] == odd


def test_the_numbers_of_pages_with_long_urls_are_kept(tmp_path: Path) -> None:
    long = [f"http://h1.sim.test/{Random(length).randbytes(length).hex()}" for length in (100, 3_000, 30_000)]
    crawl = write(tmp_path, [msgspec.structs.replace(whole(at), url=url) for at, url in enumerate(long)])
    assert [list(filter(read_content(each).numbers.__contains__, range(9))) for each in output_files([crawl])] == [
        *([0], [1], [2]),
        *([0], [1], [2]),
    ]


def test_the_newest_records_and_an_open_archive_stay_however_old_they_are(tmp_path: Path) -> None:
    crawl = write(tmp_path, [whole(number) for number in range(3)])
    newest = max(crawl.warc.glob("*.warc.gz"))
    newest.rename(newest.with_name(newest.name + ".open"))
    prune(crawl, Keep(seconds=1))
    assert serials(output_files([crawl])) == [("records", 2), ("warc", 2)]


def test_nothing_stays_of_old_output_from_before_the_crawl_was_divided(tmp_path: Path) -> None:
    """A process that was killed leaves an archive open, and a division leaves it as it is."""
    layout = Layout.begin(2)
    write_layout(tmp_path, msgspec.structs.replace(layout, parts=layout.parts[1:], earlier=(".", "part-0")))
    crawls = [write(tmp_path / name, [whole(number) for number in range(3)]) for name in (".", "part-0", "part-1")]
    for crawl in crawls:
        newest = max(crawl.warc.glob("*.warc.gz"))
        index_of(newest).rename(open_index_of(newest))
        newest.rename(newest.with_name(newest.name + ".open"))
        prune(crawl, Keep(seconds=1))
    assert [serials(output_files([crawl])) for crawl in crawls] == [[], [], [("records", 2), ("warc", 2)]]
    assert [len(names(crawl, lambda each: each.warc)) for crawl in crawls] == [0, 0, 2]


def test_the_oldest_go_until_what_is_left_is_small_enough(tmp_path: Path) -> None:
    crawl = write(tmp_path, [whole(number) for number in range(6)])
    files = output_files([crawl])
    newest = [each for each in files if serials([each])[0][1] >= 4]
    room = sum(each.bytes for each in newest)
    prune(crawl, Keep(bytes=room))
    assert serials(output_files([crawl])) == serials(newest)
    prune(crawl, Keep(bytes=room - 1))
    assert serials(output_files([crawl])) == [("records", 5), ("warc", 4), ("warc", 5)]


@pytest.mark.parametrize("later", ["revisit", "not modified"])
def test_an_archive_to_which_a_kept_one_refers_stays_until_that_goes(tmp_path: Path, later: str) -> None:
    referring = whole(0, BODY) if later == "revisit" else unchanged(0, 2)
    crawl = write(tmp_path, [whole(0, BODY), whole(1), referring, whole(3)], revisits=10)
    plan = make_plan([crawl], Keep(seconds=8.5 * DAY_S), now=NOW)
    assert serials(plan.needed) == [("warc", 0)]
    assert prune(crawl, Keep(seconds=8.5 * DAY_S)) == [("records", 0), ("records", 1), ("warc", 1)]
    assert prune(crawl, Keep(seconds=7.5 * DAY_S)) == [("warc", 0), ("records", 2), ("warc", 2)]


@pytest.mark.parametrize(("prefix", "now"), [("news", NOW), ("site", NOW - 3600)], ids=["prefix", "clock"])
def test_an_archive_stays_to_which_a_later_one_refers_whose_name_sorts_before_it(
    tmp_path: Path, prefix: str, now: float
) -> None:
    write(tmp_path, [whole(0), whole(1)], prefix="site")
    crawl = write(tmp_path, [unchanged(0, 2), whole(3)], first=2, prefix=prefix, now=now)
    assert serials(output_files([crawl])[4:]) == [("warc", 0), ("warc", 1), ("warc", 2), ("warc", 3)]
    plan = make_plan([crawl], Keep(seconds=8.5 * DAY_S), now=NOW)
    assert serials(plan.needed) == [("warc", 0)]


def test_an_archive_stays_to_which_one_refers_whose_index_is_damaged(tmp_path: Path) -> None:
    crawl = write(tmp_path, [whole(0, BODY), whole(1), whole(0, BODY), whole(3)], revisits=10)
    index = index_of(archives(crawl.warc)[2])
    index.write_bytes(b"\0" * index.stat().st_size)
    plan = make_plan([crawl], Keep(seconds=8.5 * DAY_S), now=NOW)
    assert serials(plan.needed) == [("warc", 0)]


def test_younger_archives_go_instead_of_one_that_is_needed(tmp_path: Path) -> None:
    pages = [whole(0, BODY), whole(1), whole(2), whole(0, BODY), whole(4)]
    crawl = write(tmp_path, pages, revisits=10)
    shutil.rmtree(crawl.records)
    files = output_files([crawl])
    keep = sum(each.bytes for each in files) - 1
    assert prune(crawl, Keep(bytes=keep)) == [("warc", 1)]


def test_records_stay_for_which_archives_that_go_together_make_room(tmp_path: Path) -> None:
    crawl = write(tmp_path, [whole(number, BODY) for number in range(5)], revisits=10)
    records = [each for each in output_files([crawl]) if not each.is_archive]
    assert prune(crawl, Keep(bytes=sum(each.bytes for each in records) - 1)) == [
        ("records", 0),
        *(("warc", number) for number in range(5)),
    ]


@pytest.mark.parametrize("wanted", [0, 1, 2, 9, 17, 18])
def test_few_passes_over_the_archives_find_the_oldest_that_may_go(tmp_path: Path, wanted: int) -> None:
    bodies = [whole(number, BODY + str(number).encode()) for number in range(20)]
    crawl = write(tmp_path, [*bodies, *map(whole, range(20, 38)), *bodies], revisits=100)
    shutil.rmtree(crawl.records)
    passes = 0

    class Counted(Needs):
        def needed(
            self,
            archives: Sequence[OutputFile],
            chosen: Collection[OutputFile],
            places: Mapping[OutputFile, Place | None],
        ) -> set[OutputFile]:
            nonlocal passes
            passes += 1
            return super().needed(archives, chosen, places)

    files = output_files([crawl])
    room = sum(each.bytes for each in files) - sum(each.bytes for each in files[20 : 20 + wanted])
    plan = make_plan([crawl], Keep(bytes=room), now=NOW, find_needed=Counted().needed)
    assert serials(list(plan.chosen)) == [("warc", number) for number in range(20, 20 + wanted)]
    assert passes <= 12


def _begin_cycles(crawl: CrawlDirectory, *firsts: int) -> None:
    cycles = [Cycle(began=rfc3339(fetched_at(first)), first=first) for first in firsts]
    write_pruned(crawl, msgspec.structs.replace(read_pruned(crawl), cycles=cycles))


def test_the_archives_of_a_cycle_go_together_once_none_is_to_stay(tmp_path: Path) -> None:
    copies = [whole(number, BODY) for number in range(6)]
    crawl = write(tmp_path, [copies[0], copies[1], whole(2), copies[3], copies[4], whole(5)], revisits=10)
    shutil.rmtree(crawl.records)
    _begin_cycles(crawl, 0, 3)
    assert prune(crawl, Keep(seconds=8.5 * DAY_S)) == [("warc", 0), ("warc", 1)]  # what stays refers to nothing
    assert prune(crawl, Keep(seconds=6.5 * DAY_S)) == [("warc", 2)]
    assert prune(crawl, Keep(seconds=5.5 * DAY_S)) == [("warc", 3), ("warc", 4)]
    other = write(tmp_path / "other", [copies[0], whole(1), copies[2], copies[3], whole(4)], revisits=10)
    shutil.rmtree(other.records)
    _begin_cycles(other, 0, 3)
    plan = make_plan([other], Keep(seconds=8.5 * DAY_S), now=NOW)
    assert (plan.chosen, serials(plan.needed)) == ({}, [("warc", 0), ("warc", 1)])
    assert prune(other, Keep(seconds=7.5 * DAY_S)) == [("warc", 0), ("warc", 1), ("warc", 2)]


def test_to_delete_archives_of_cycles_none_is_read_for_what_it_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pages = [whole(number, BODY) for number in range(6)]
    crawl = write(tmp_path, pages, revisits=10)
    shutil.rmtree(crawl.records)
    _begin_cycles(crawl, 0, 2, 4)
    monkeypatch.delattr(following, "needed_by_others")
    sizes = [file.bytes for file in output_files([crawl])]
    assert prune(crawl, Keep(bytes=sum(sizes) - 1)) == [("warc", 0), ("warc", 1)]


def test_archives_of_a_kept_cycle_are_not_read_at_each_look(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    crawl = write(tmp_path, [whole(number, BODY) for number in range(6)], revisits=10)
    shutil.rmtree(crawl.records)
    _begin_cycles(crawl, 0)
    needs = Needs()
    looks = [make_plan([crawl], Keep(seconds=8.5 * DAY_S), now=NOW, find_needed=needs.needed)]
    monkeypatch.delattr(finished, "_index_lines")
    looks.append(make_plan([crawl], Keep(seconds=7.5 * DAY_S), now=NOW, find_needed=needs.needed))
    assert [(look.chosen, serials(look.needed)) for look in looks] == [
        ({}, [("warc", 0), ("warc", 1)]),
        ({}, [("warc", 0), ("warc", 1), ("warc", 2)]),
    ]


def test_an_archive_before_all_cycles_stays_while_one_of_them_refers_to_it(tmp_path: Path) -> None:
    crawl = write(tmp_path, [whole(0, BODY), whole(1), whole(2, BODY), whole(3), whole(4)], revisits=10)
    shutil.rmtree(crawl.records)
    _begin_cycles(crawl, 3)
    assert prune(crawl, Keep(seconds=8.5 * DAY_S)) == [("warc", 1)]
    assert prune(crawl, Keep(seconds=7.5 * DAY_S)) == [("warc", 0), ("warc", 2)]


def test_cycles_of_which_nothing_is_left_are_forgotten() -> None:
    cycles = [Cycle(began=rfc3339(first), first=first) for first in (2, 5, 9)]
    following_one = Cycle(began=rfc3339(12), first=12)
    left = {oldest: [each.first for each in with_next(cycles, following_one, oldest=oldest)] for oldest in range(13)}
    assert left[0] == left[1] == left[2] == left[4] == [2, 5, 9, 12]
    assert left[5] == left[8] == [5, 9, 12]
    assert left[9] == left[12] == [9, 12]


def test_cycles_stay_in_order_if_the_newest_archives_are_gone() -> None:
    cycles = [Cycle(began=rfc3339(first), first=first) for first in (2, 5, 9)]
    later = with_next(cycles, Cycle(began=rfc3339(0), first=0), oldest=6)
    assert [each.first for each in later] == [5, 9, 9]
    for next_number, expected in {12: [2, 5, 9], 9: [2, 5, 9], 8: [2, 5, 8], 5: [2, 5], 1: [1], 0: [0]}.items():
        found = renumbered(cycles, next_number=next_number)
        assert ([each.first for each in found], found[-1].began) == (expected, rfc3339(9))
    assert renumbered([], next_number=3) == []


def test_a_later_whole_copy_is_what_a_kept_archive_refers_to(tmp_path: Path) -> None:
    crawl = write(tmp_path, [whole(0, BODY), whole(0), unchanged(0, 2), whole(3)])
    plan = make_plan([crawl], Keep(seconds=9.5 * DAY_S), now=NOW)
    assert (serials(list(plan.chosen)), plan.needed) == ([("records", 0), ("warc", 0)], [])


@pytest.mark.parametrize("step", range(8))
def test_a_crash_at_any_step_leaves_no_file_that_is_gone_and_not_listed_and_the_next_pass_goes_on(
    tmp_path: Path, step: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    crawl = write(tmp_path, [whole(number) for number in range(4)])
    before = {each.name for each in output_files([crawl])}
    steps = iter(range(100))

    def crashing(name: str, where: object) -> None:
        real = getattr(where, name)

        def do(*arguments: object, **named: object) -> object:
            if next(steps) == step:
                raise KeyboardInterrupt
            return real(*arguments, **named)

        monkeypatch.setattr(where, name, do)

    crashing("replace_file", pruned)
    crashing("unlink", Path)
    with pytest.raises(KeyboardInterrupt):
        prune(crawl, Keep(seconds=6.5 * DAY_S))
    monkeypatch.undo()
    gone = before - {each.name for each in output_files([crawl])}
    assert gone <= {each.name for each in read_pruned(crawl).files}
    prune(crawl, Keep(seconds=6.5 * DAY_S))
    gone = before - {each.name for each in output_files([crawl])}
    assert sorted(gone) == sorted(each.name for each in read_pruned(crawl).files if each.is_deleted)
    assert len(gone) == 7
    assert not [each for each in crawl.warc.glob("*.cdxj") if not each.with_suffix("").exists()]
    assert all(PrunedNumbers([crawl]).has("records", number) for number in range(3))


@pytest.mark.parametrize("damage", [b"-1", b"9" * 30, b"x", b'"'])
def test_a_damaged_index_does_not_keep_its_archive_nor_hide_what_was_in_it(tmp_path: Path, damage: bytes) -> None:
    crawl = write(tmp_path, [whole(number) for number in range(3)])
    index = index_of(archives(crawl.warc)[0])
    modified = index.stat().st_mtime
    index.write_bytes(index.read_bytes().replace(b'"offset": "', b'"offset": "' + damage))
    os.utime(index, (modified, modified))
    assert ("warc", 0) in prune(crawl, Keep(seconds=9.5 * DAY_S))
    assert not index.exists()
    assert PrunedNumbers([crawl]).has("warc", 0)


@pytest.mark.parametrize("number", ["-5", "9" * 30, "9" * 5000, "1e400"])
def test_a_record_with_a_damaged_number_does_not_keep_its_file(tmp_path: Path, number: str) -> None:
    crawl = write(tmp_path, [whole(number) for number in range(3)])
    [records, *_] = output_files([crawl])
    with records.path.open("a") as file:
        file.write(f'{{"number":{number}}}\n')
    os.utime(records.path, (records.written_at, records.written_at))
    assert ("records", 0) in prune(crawl, Keep(seconds=9.5 * DAY_S))
    assert PrunedNumbers([crawl]).of("records").highest == 0


@pytest.mark.parametrize("number", [b"9" * 30, b"9" * 5000])
def test_a_capture_with_a_damaged_number_does_not_keep_its_archive(tmp_path: Path, number: bytes) -> None:
    crawl = write(tmp_path, [whole(0), whole(1)])
    archive = next(file for file in output_files([crawl]) if file.is_archive)
    content, field = archive.path.read_bytes(), NUMBER_FIELD.encode()
    with archive.path.open("rb") as file:
        found = list(members(file, is_ours=is_ours, max_bytes=HEAD_BYTES))
    records = [gzip.decompress(content[each.start : each.end]) for each in found]
    changed = [re.sub(field + rb": \d+", field + b": " + number, each) for each in records]
    assert changed != records
    archive.path.write_bytes(b"".join(map(gzip.compress, changed)))
    index_of(archive.path).unlink()
    os.utime(archive.path, (archive.written_at, archive.written_at))
    assert ("warc", 0) in prune(crawl, Keep(seconds=9.5 * DAY_S))


def test_an_archive_stays_to_which_one_refers_that_is_finished_meanwhile(tmp_path: Path) -> None:
    crawl = write(tmp_path, [whole(0, BODY), whole(1), whole(0, BODY)], revisits=10)
    newest = archives(crawl.warc)[-1]
    opened = newest.rename(newest.with_name(newest.name + ".open"))

    def finish(_: object) -> None:
        opened.rename(newest)

    plan = make_plan([crawl], Keep(seconds=8.5 * DAY_S), now=NOW, before=finish)
    assert serials(plan.needed) == [("warc", 0)]


def test_an_open_archive_is_read_once_for_what_it_has(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    crawl = write(tmp_path, [whole(0)])
    (archive,) = archives(crawl.warc)
    opened = archive.rename(archive.with_name(archive.name + ".open"))
    reads: list[Path] = []

    def counted(path: Path) -> Iterator[bytes]:
        reads.append(path)
        return lines_of(path)

    monkeypatch.setattr(finished, "lines_of", counted)
    assert list(finished.sound_lines(opened)) == index_of(archive).read_bytes().splitlines()
    assert reads == [opened]


def test_what_somebody_has_put_back_is_not_deleted_again(tmp_path: Path) -> None:
    crawl = write(tmp_path, [whole(number) for number in range(3)])
    copy = shutil.copytree(crawl.records, tmp_path / "copy")
    prune(crawl, Keep(seconds=1))
    shutil.copytree(copy, crawl.records, dirs_exist_ok=True)
    assert prune(crawl, Keep(seconds=1)) == []
    assert [record.number for record in read_records(crawl.records)] == [0, 1, 2]
    write(tmp_path, [whole(3)], first=3)
    sizes = {each.name: each.bytes for each in output_files([crawl])}
    assert prune(crawl, Keep(bytes=sum(sizes.values()) - 1)) == [("records", 2)]


def test_a_reader_passes_over_files_that_are_deleted_meanwhile_and_takes_each_last_copy(tmp_path: Path) -> None:
    crawl = write(tmp_path, [whole(number) for number in range(4)])
    oldest = min(crawl.records.iterdir())
    newest = max(crawl.records.iterdir())
    newest.write_bytes(newest.read_bytes() + oldest.read_bytes())
    reading = read_records(crawl.records, last_only=True)
    assert next(reading).number == 1  # the first copy of 0 is not the last one
    min(crawl.records.iterdir()).unlink()
    (crawl.records / "records-00002.jsonl").unlink()
    assert [record.number for record in reading] == [3, 0]


def test_a_list_that_somebody_has_deleted_is_missed_and_not_one_that_was_never_written(tmp_path: Path) -> None:
    crawl = write(tmp_path, [whole(number) for number in range(4)])
    assert why_list_is_lost(crawl) is None
    write_numbers(crawl, "records/records-00000.jsonl", NumberSet())  # before a crash
    assert why_list_is_lost(crawl) is None
    prune(crawl, Keep(seconds=1))
    assert why_list_is_lost(crawl) is None
    crawl.pruned.unlink()
    assert "restore a copy of it, or delete that folder, too" in (why_list_is_lost(crawl) or "")
    shutil.rmtree(crawl.pruned_numbers)
    assert why_list_is_lost(crawl) is None


def test_a_damaged_list_is_refused_with_what_to_do(tmp_path: Path) -> None:
    crawl = write(tmp_path, [whole(number) for number in range(3)])
    prune(crawl, Keep(seconds=1))
    for damaged in (b"Records/", b"records", b"records/../"):
        found = crawl.pruned.read_bytes()
        crawl.pruned.write_bytes(found.replace(b"records/", damaged))
        with pytest.raises(DirectoryRefused, match="restore a copy"):
            PrunedNumbers([crawl])
        crawl.pruned.write_bytes(found)
    next(crawl.pruned_numbers.iterdir()).write_bytes(b"x")
    with pytest.raises(DirectoryRefused, match="restore a copy"):
        PrunedNumbers([crawl])
    crawl.pruned.write_bytes(b"{")
    with pytest.raises(DirectoryRefused, match="restore a copy"):
        read_pruned(crawl)


def numbers_of(numbers: Iterable[int]) -> NumberSet:
    made = NumberSet()
    for number in numbers:
        made.add(number)
    return made


@given(st.sets(st.integers(0, 2**62) | st.integers(0, 200_000)), st.sets(st.integers(0, 200_000)))
def test_a_set_of_numbers_is_what_it_was_when_it_is_loaded_and_joined(some: set[int], others: set[int]) -> None:
    loaded = NumberSet.load(numbers_of(some).dump())
    assert (len(loaded), loaded.highest) == (len(some), max(some, default=0))
    assert loaded.count_without(numbers_of(others)) == len(some - others)
    loaded.add_all(numbers_of(others))
    assert len(loaded) == len(some | others)
    assert all(number in loaded for number in some | others)


def test_nothing_is_remembered_of_archives_that_are_gone_or_have_grown(tmp_path: Path) -> None:
    crawl = write(tmp_path, [whole(number, BODY) for number in range(6)], revisits=10)
    needs = Needs()
    for count in range(2, 5):
        files = [msgspec.structs.replace(each, bytes=count) for each in output_files([crawl]) if each.is_archive]
        needs.needed(files[count:], files[count : count + 1], dict.fromkeys(files[count:]))
        assert 0 < len(needs._has_revisits) <= 6 - count


def test_the_list_stays_short_and_nothing_that_was_deleted_counts_as_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pruned, "_MOST_LISTED", 4)
    crawl = write(tmp_path, [whole(number) for number in range(10)])
    for number in range(9):
        prune(crawl, Keep(seconds=(9.5 - number) * DAY_S))
        listed = read_pruned(crawl)
        assert len(listed.files) <= 4 + 2
        for output in ("records", "warc"):
            total = listed.total(output)
            assert (total.files, total.records) == (number + 1, number + 1)
            assert (total.last or "").removesuffix("Z") in rfc3339(fetched_at(number))
    numbers = PrunedNumbers([crawl])
    assert all(numbers.has("records", number) and numbers.has("warc", number) for number in range(9))
    assert not numbers.has("records", 9)
    assert len(list(crawl.pruned_numbers.iterdir())) <= 10  # those of the list, twice all others, and some older ones


@pytest.mark.parametrize("step", range(4))
def test_a_crash_while_the_list_is_shortened_loses_no_number(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: int
) -> None:
    monkeypatch.setattr(pruned, "_MOST_LISTED", 4)
    crawl = write(tmp_path, [whole(number) for number in range(10)])
    for number in range(5):
        prune(crawl, Keep(seconds=(9.5 - number) * DAY_S))
    real, steps = replacing.replace_file, iter(range(100))

    def crashing(path: Path, content: bytes) -> None:
        if next(steps) == step:
            raise KeyboardInterrupt
        real(path, content)

    monkeypatch.setattr(pruned, "replace_file", crashing)
    with pytest.raises(KeyboardInterrupt):
        prune(crawl, Keep(seconds=4.5 * DAY_S))
    for _ in range(2):
        numbers = PrunedNumbers([crawl])
        assert all(numbers.has("records", number) and numbers.has("warc", number) for number in range(5))
        monkeypatch.setattr(pruned, "replace_file", real)
        prune(crawl, Keep(seconds=3.5 * DAY_S))
    assert read_pruned(crawl).total("records").records == 7


def test_on_a_disk_without_a_free_byte_the_indexes_of_what_is_to_go_make_room_for_the_list(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    crawl = write(tmp_path, [whole(number) for number in range(3)])
    index = index_of(archives(crawl.warc)[0])
    real = replacing.replace_file

    def on_full_disk(path: Path, content: bytes) -> None:
        if index.exists():
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        real(path, content)

    monkeypatch.setattr(pruned, "replace_file", on_full_disk)
    assert prune(crawl, Keep(seconds=9.5 * DAY_S)) == [("records", 0), ("warc", 0)]
    assert all(PrunedNumbers([crawl]).has(output, 0) for output in ("records", "warc"))
    assert len(list(crawl.warc.glob("*.cdxj"))) == 2


@pytest.mark.parametrize("count", range(5))
def test_no_archive_lacks_a_body_if_deleting_is_interrupted(tmp_path: Path, count: int) -> None:
    crawl = write(tmp_path, [whole(0, BODY), whole(1, BODY), unchanged(0, at=2), whole(3)], revisits=10)
    shutil.rmtree(crawl.records)
    plan = make_plan([crawl], Keep(seconds=6.5 * DAY_S), now=NOW)
    assert len(plan.chosen) == 4
    steps = iter(range(10))
    delete(crawl, list(plan.chosen.items()), now=NOW, goes_on=lambda: next(steps) < count)
    assert serials(output_files([crawl])) == [("warc", number) for number in range(4 - count)]

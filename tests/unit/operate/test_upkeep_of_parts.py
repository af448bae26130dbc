"""Checks and repairs of a crawl in parts cover all of them, and name the part that is damaged."""

import shutil
from pathlib import Path

import msgspec
import pytest

from config import Config
from crawler.disk.directory import CrawlDirectory, DirectoryRefused
from crawler.disk.layout import output_directories, part_directories
from crawler.library import opening
from crawler.write.records import read_records
from tests.e2e.crawling import Ended
from tests.e2e.operating import command_here
from tests.unit.operate.stored_crawls import EACH, HOSTS, OWNERSHIP, PARTS, SETTLED, StoredCrawl, make, queue_of, url_of


@pytest.fixture
def crawl(tmp_path: Path) -> StoredCrawl:
    return make(tmp_path / "crawl", parts=PARTS)


def problems_of(ended: Ended) -> list[dict[str, object]]:
    return msgspec.convert(ended.json()["problems"], list[dict[str, object]])


def exported(crawl: StoredCrawl) -> list[tuple[str, object]]:
    ended = command_here("frontier", "export", str(crawl.directory))
    return [(str(each["url"]), each.get("state", "pending")) for each in crawl.lines(ended)]


def test_a_sound_crawl_has_no_problems_and_the_sums_of_its_parts(crawl: StoredCrawl, tmp_path: Path) -> None:
    one = make(tmp_path / "one")
    assert crawl.look("fsck", "--json").json() == one.look("fsck", "--json").json()
    assert crawl.look("fsck").out == one.look("fsck").out


def test_numbers_are_unique_over_the_parts(crawl: StoredCrawl) -> None:
    records = [CrawlDirectory(path).records for path in output_directories(crawl.directory)]
    numbers = [record.number for record in read_records(*records)]
    assert len(numbers) == len(set(numbers)) == len(HOSTS) * SETTLED


@pytest.mark.parametrize("parts", [1, PARTS])
def test_what_was_forgotten_stays_so_when_the_crawl_is_restored_or_divided(tmp_path: Path, parts: int) -> None:
    crawl = make(tmp_path / "crawl", parts=parts)
    assert crawl.do("forget", url_of(HOSTS[0], 0)).code == 0
    assert crawl.do("backup", "--to", str(tmp_path / "copy")).code == 0
    restored = StoredCrawl(tmp_path / "restored")
    assert crawl.run("restore", str(tmp_path / "copy"), "--to", str(restored.directory)).code == 0
    assert problems_of(restored.look("fsck", "--json")) == []
    for number, into in enumerate((2, 1), 1):
        assert restored.do("parts", "--into", str(into)).code == 0
        assert problems_of(restored.look("fsck", "--json")) == []
        assert restored.do("forget", url_of(HOSTS[number], 0)).code == 0
        assert problems_of(restored.look("fsck", "--json")) == []


def test_what_is_missing_in_the_output_of_a_part_is_told_and_fetched_again(crawl: StoredCrawl) -> None:
    records = part_directories(crawl.directory)[1] / "records"
    shutil.rmtree(records)
    mine = [host for host in HOSTS if OWNERSHIP.owner(queue_of(host)) == 1]
    found = problems_of(crawl.look("fsck", "--json"))
    assert len(found) == len(mine) * SETTLED
    assert {each["part"] for each in found} == {1}
    again = crawl.look("fsck", "--refetch")
    assert f"{len(mine) * SETTLED} URLs whose output is missing will be fetched again" in again.err
    states = dict(exported(crawl))
    assert all(states[url_of(host, 0)] == ("pending" if host in mine else "done") for host in HOSTS)


def test_a_part_that_can_t_be_opened_is_named_and_the_others_are_checked(crawl: StoredCrawl) -> None:
    part = part_directories(crawl.directory)[2]
    (part / "frontier" / "CURRENT").write_text("MANIFEST-999999\n")
    for manifest in (part / "frontier").glob("MANIFEST-*"):
        manifest.unlink()
    found = problems_of(crawl.look("fsck", "--json"))
    assert [(each["kind"], each["part"], each["where"]) for each in found] == [("damaged", 2, str(part))]
    # Other commands name it, too. The status tells of the others.
    status = crawl.do("status", "--json").json()
    told = msgspec.convert(status["parts"], list[dict[str, object]])
    assert [each["error"] is None for each in told] == [True, True, False]
    assert str(part) in str(told[2]["error"])
    # So does the list of hosts.
    top = crawl.do("top", "--json").json()
    owners = {host: OWNERSHIP.owner(queue_of(host)) for host in HOSTS}
    listed = msgspec.convert(top["hosts"], list[dict[str, object]])
    assert {str(each["host"]): each["part"] for each in listed} == {
        host: owner for host, owner in owners.items() if owner != 2
    }
    (missing,) = msgspec.convert(top["broken"], list[dict[str, object]])
    assert missing["part"] == 2
    assert str(part) in str(missing["error"])
    shown = crawl.do("top")
    assert shown.code == 0
    assert "part 2" in shown.out
    queues = crawl.look("queues")
    assert queues.code != 0
    assert "part 2" in queues.err
    assert str(part) in queues.err
    # A host of another part can still be looked at.
    other = next(host for host in HOSTS if OWNERSHIP.owner(queue_of(host)) == 0)
    assert crawl.look("next", other).code == 0
    # So does a URL that is added.
    lost = next(host for host in HOSTS if OWNERSHIP.owner(queue_of(host)) == 2)
    added = crawl.do("add", url_of(lost, EACH), url_of(other, EACH), "--force", "--json")
    outcomes = [msgspec.json.decode(line, type=dict[str, object])["outcome"] for line in added.out.splitlines()]
    assert (added.code, outcomes) == (1, ["refused", "added"])


@pytest.mark.parametrize("how", ["repair", "rebuild", "part"])
def test_a_part_whose_frontier_is_lost_is_rebuilt_from_the_output_of_all(crawl: StoredCrawl, how: str) -> None:
    before = exported(crawl)
    part = part_directories(crawl.directory)[1]
    shutil.rmtree(part / "frontier")
    shutil.rmtree(part / "visited", ignore_errors=True)
    broken = problems_of(crawl.look("fsck", "--json"))
    assert [each["part"] for each in broken] == [1]
    advice = f"`onceover inspect {crawl.directory} fsck --repair` rebuilds it from the output"
    assert advice in str(broken[0]["message"])
    with pytest.raises(DirectoryRefused, match=advice):  # when it is to run
        opening._check_output(CrawlDirectory(part), Config())
    match how:
        case "repair":
            assert crawl.look("fsck", "--repair").code == 0
        case "rebuild":
            assert command_here("frontier", "rebuild", str(crawl.directory), "--from-records").code == 0
        case _:
            alone = command_here("inspect", str(part), "fsck", "--repair")
            assert alone.code == 0
            assert f"`onceover inspect {crawl.directory} fsck --repair` mends them with all parts" in alone.err
            assert crawl.look("fsck", "--repair").code == 0
    assert exported(crawl) == before
    assert crawl.look("fsck").code == 0


def test_a_part_whose_directory_is_lost_begins_anew_and_the_others_stay(crawl: StoredCrawl) -> None:
    before = dict(exported(crawl))
    shutil.rmtree(part_directories(crawl.directory)[1])
    assert [each["part"] for each in problems_of(crawl.look("fsck", "--json"))] == [1]
    repaired = crawl.look("fsck", "--repair")
    assert repaired.code == 0, repaired.out
    kept = {url: state for url, state in before.items() if OWNERSHIP.owner(queue_of(url.split("/")[2])) != 1}
    assert dict(exported(crawl)) == kept
    assert crawl.do("status").code == 0


def test_parts_that_do_not_agree_are_told(crawl: StoredCrawl) -> None:
    # Part 1 has the directory of part 2, and the reverse: as after a wrong restore.
    first, second = part_directories(crawl.directory)[1:]
    first.rename(crawl.directory / "aside")
    second.rename(first)
    (crawl.directory / "aside").rename(second)
    found = crawl.look("fsck")
    assert found.code == 1
    assert str(first) in found.out
    assert str(second) in found.out


def test_a_directory_of_a_part_is_checked_without_its_output(crawl: StoredCrawl) -> None:
    part = part_directories(crawl.directory)[0]
    alone = command_here("inspect", str(part), "fsck")
    assert alone.code == 0
    assert "the output is not compared" in alone.err
    assert command_here("inspect", "--part", "0", str(crawl.directory), "fsck").out == alone.out

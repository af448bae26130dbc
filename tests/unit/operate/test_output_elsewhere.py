"""A crawl that was divided and handed out: each machine is checked against the output that it has."""

import shutil
from pathlib import Path

import msgspec
import pytest

from crawler.disk.layout import part_directories, read_layout, write_layout
from crawler.operate.upkeep.verifying import AgreementReport
from tests.e2e.crawling import COMPLETE, FAILED
from tests.unit.operate.stored_crawls import EACH, HOSTS, PARTS, SETTLED, StoredCrawl, make, settle
from tests.unit.operate.test_parts_elsewhere import ON_MACHINES

Machines = tuple[StoredCrawl, StoredCrawl]


@pytest.fixture
def gathered(tmp_path: Path) -> StoredCrawl:
    """The machine where the crawl was divided, with all parts and all output."""
    gathered = make(tmp_path / "gathered", parts=PARTS)
    assert gathered.do("parts", "--into", "2").code == COMPLETE
    layout = read_layout(gathered.directory)
    assert layout is not None
    layout = msgspec.structs.replace(layout, cluster=ON_MACHINES, retired=None)
    write_layout(gathered.directory, layout)
    return gathered


@pytest.fixture
def machines(gathered: StoredCrawl) -> Machines:
    """That one, and another one that got a part."""
    return gathered, hand_out(gathered)


def hand_out(gathered: StoredCrawl) -> StoredCrawl:
    """Move the second part to another machine."""
    layout = read_layout(gathered.directory)
    assert layout is not None
    other = StoredCrawl(gathered.directory.with_name("other"))
    other.directory.mkdir()
    for file in gathered.directory.iterdir():
        if file.name in ("crawl.toml", "public_suffix_list.dat"):
            shutil.copy(file, other.directory)
    shutil.move(layout.directories(gathered.directory)[1], other.directory)
    write_layout(other.directory, msgspec.structs.replace(layout, earlier=(), earlier_lineages={}))
    return other


def count_settled(crawl: StoredCrawl) -> int:
    return sum(each.get("state", "pending") != "pending" for each in crawl.exported())


@pytest.mark.parametrize("options", [(), ("--repair",), ("--refetch",)])
def test_what_other_machines_have_is_no_problem_and_stays_as_it_is(
    machines: Machines, options: tuple[str, ...]
) -> None:
    for crawl in machines:
        settled = crawl.exported()
        assert count_settled(crawl)
        checked = crawl.look("fsck", *options)
        assert checked.code == COMPLETE, checked
        assert "no problems" in checked.out
        assert crawl.exported() == settled


def test_how_many_records_are_on_another_machine_is_told(machines: Machines) -> None:
    gathered, other = machines
    count = count_settled(other)
    assert count + count_settled(gathered) == len(HOSTS) * SETTLED
    notes = [line for line in other.look("fsck").err.splitlines() if "are in the output of lineage" in line]
    assert sum(int(line.partition(": ")[2].rpartition(": ")[2].split()[0]) for line in notes) == count
    assert "in the output of lineage" not in gathered.look("fsck").err
    verified = other.look("verify")
    assert verified.code == COMPLETE, verified
    assert all(note.rpartition(": ")[2] in verified.err for note in notes)
    report = msgspec.json.decode(other.look("verify", "--json").out, type=AgreementReport)
    assert len(report.elsewhere) == len(notes) > 0
    at_home = gathered.look("verify")
    assert at_home.code == COMPLETE
    assert "does not know any more" not in at_home.out


def test_what_is_missing_on_this_machine_is_told_nevertheless(machines: Machines) -> None:
    gathered, other = machines
    for number in range(PARTS):
        for file in (gathered.directory / f"part-{number}" / "records").iterdir():
            whole = file.read_bytes()
            file.write_bytes(whole[: len(whole) // 2])
    checked = gathered.look("fsck")
    assert checked.code == FAILED
    assert "and has no record" in checked.out
    assert other.look("fsck").code == COMPLETE


@pytest.mark.parametrize("look", [("fsck",), ("fsck", "--refetch"), ("verify",)])
def test_a_url_that_waited_while_the_crawl_was_divided_has_its_record_here(
    machines: Machines, look: tuple[str, ...]
) -> None:
    _, other = machines
    before = count_settled(other)
    for crawl in machines:
        (part,) = part_directories(crawl.directory)
        settle(part, EACH - SETTLED)
        settled = crawl.exported()
        looked = crawl.look(*look)
        assert looked.code == COMPLETE, looked
        assert crawl.exported() == settled
    notes = [line for line in other.look("fsck").err.splitlines() if "are in the output of lineage" in line]
    assert sum(int(line.rpartition(": ")[2].split()[0]) for line in notes) == before
    # A record that is lost here is not called one of another machine.
    (part,) = part_directories(other.directory)
    shutil.rmtree(part / "records")
    checked = other.look("fsck")
    assert checked.code == FAILED
    assert checked.out.count("and has no record") == EACH - SETTLED


@pytest.mark.parametrize("how", ["repair", "rebuild"])
def test_a_frontier_that_was_rebuilt_where_the_output_is_knows_which_of_it_stayed_there(
    gathered: StoredCrawl, how: str
) -> None:
    settled = count_settled(gathered)
    if how == "repair":
        shutil.rmtree(part_directories(gathered.directory)[1] / "frontier")
        assert gathered.look("fsck", "--repair").code == COMPLETE
    else:
        assert gathered.run("frontier", "rebuild", "DIR", "--from-records").code == COMPLETE
    assert count_settled(gathered) == settled
    other = hand_out(gathered)
    assert count_settled(other)
    for crawl in (gathered, other):
        checked = crawl.look("fsck")
        assert checked.code == COMPLETE, checked
        assert ("in the output of lineage" in checked.err) is (crawl is other)

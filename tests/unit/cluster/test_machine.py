"""The directory that a machine has of a crawl."""

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from crawler.cluster.machine import MachineDirectory, begin_machine
from crawler.cluster.notes import read_note
from crawler.cluster.values import Cluster, Identity, PartState
from crawler.disk.directory import CrawlDirectory, DirectoryRefused
from crawler.disk.layout import Layout, part_directories, read_layout, write_layout
from crawler.operate.missing import notes_of_missing
from tests.unit.cluster.homes import IDENTITY


@pytest.fixture
def directory(tmp_path: Path) -> Iterator[CrawlDirectory]:
    with CrawlDirectory(tmp_path / "crawl") as locked:
        yield locked


def begin(directory: CrawlDirectory, identity: Identity = IDENTITY) -> MachineDirectory:
    begin_machine(directory, identity, url="redis://127.0.0.1/0", prefix="test")
    return MachineDirectory(directory)


def open_part(directory: CrawlDirectory, name: str) -> None:
    """What opening a part leaves there."""
    with CrawlDirectory(directory.path / name) as part:
        part.frontier.mkdir()
        (part.frontier / "CURRENT").touch()


def cluster_of(identity: Identity, opened: int = 0) -> Cluster:
    parts = tuple(
        PartState(number=number, lineage=lineage, opened=opened, claimed=0, may_be_made=False, lease=None)
        for number, lineage in enumerate(identity.lineages)
    )
    return Cluster(
        identity=identity, is_whole=True, is_first_server=True, parts=parts, coordinator=None, agents={}, now=0.0
    )


def test_a_machine_begins_with_no_part_and_can_write_the_register_again(directory: CrawlDirectory) -> None:
    machine = begin(directory)
    assert machine.identity() == IDENTITY
    assert machine.epochs() == {}
    assert part_directories(directory.path) == []
    layout = read_layout(directory.path)
    assert layout is not None
    assert layout.elsewhere(directory.path) == [0, 1, 2]


def test_a_machine_learns_the_last_lineage_from_a_register_that_tells_no_blocks(directory: CrawlDirectory) -> None:
    """As one that an older version has written. Otherwise the next register would refuse to adopt a part."""
    drawn = msgspec.structs.replace(
        IDENTITY, lineages=(70_001, 70_002, 70_003), next_lineage=70_004, last_lineage=70_255
    )
    assert begin(directory, drawn).identity() == drawn


def test_a_stored_epoch_is_known_to_the_next_process(directory: CrawlDirectory) -> None:
    machine = begin(directory)
    machine.store(1, epoch=4, lineage=2)
    open_part(directory, "part-1")
    machine.store(1, epoch=5, lineage=2)
    assert begin(directory).epochs() == {1: 5}
    assert part_directories(directory.path) == [directory.path / "part-1"]


def test_a_directory_that_was_made_and_never_opened_counts_only_if_redis_has_confirmed_it(
    directory: CrawlDirectory,
) -> None:
    machine = begin(directory)
    machine.store(1, epoch=4, lineage=2)
    assert machine.epochs() == {}
    assert machine.learn(cluster_of(IDENTITY, opened=3)) == {}
    assert machine.learn(cluster_of(IDENTITY, opened=4)) == {1: 4}


def test_a_part_whose_process_is_about_to_make_its_frontier_is_not_missing(directory: CrawlDirectory) -> None:
    begin(directory).store(1, epoch=4, lineage=2)
    assert notes_of_missing(directory.path) == ["without parts 0, 2 of the crawl, on other machines"]
    (directory.path / "part-1" / "claim.json").unlink()
    assert len(notes_of_missing(directory.path)) == 2


def test_a_part_that_was_open_and_has_lost_its_frontier_and_output_is_missing(directory: CrawlDirectory) -> None:
    begin(directory).store(1, epoch=4, lineage=2)
    CrawlDirectory(directory.path / "part-1").write_configuration("")
    assert len(notes_of_missing(directory.path)) == 2


def test_a_part_that_was_moved_away_meanwhile_is_neither_wanted_nor_made_again(directory: CrawlDirectory) -> None:
    machine = begin(directory)
    machine.store(1, epoch=4, lineage=2)
    open_part(directory, "part-1")
    (directory.path / "part-1").rename(directory.path.with_name("elsewhere"))
    assert machine.learn(cluster_of(IDENTITY, opened=4)) == machine.epochs() == {}
    with pytest.raises(DirectoryRefused, match="not here any more"):
        machine.store(1, epoch=5, lineage=2)
    assert not (directory.path / "part-1").exists()


def test_the_directory_of_another_crawl_is_refused(directory: CrawlDirectory) -> None:
    begin(directory)
    with pytest.raises(DirectoryRefused, match="belongs to another crawl"):
        begin(directory, msgspec.structs.replace(IDENTITY, crawl="another"))


def test_a_machine_knows_where_the_server_is_after_it_has_moved(directory: CrawlDirectory) -> None:
    begin(directory)
    begin_machine(directory, IDENTITY, url="redis://elsewhere.test/0", prefix="test")
    layout = read_layout(directory.path)
    assert layout is not None
    assert layout.cluster is not None
    assert layout.cluster.url == "redis://elsewhere.test/0"


def test_a_crawl_on_one_machine_is_no_machine_of_a_crawl_on_many(directory: CrawlDirectory) -> None:
    write_layout(directory.path, Layout.begin(2))
    with pytest.raises(DirectoryRefused, match="on this machine alone"):
        begin(directory)


def test_a_part_that_is_moved_to_the_place_of_another_is_refused(directory: CrawlDirectory) -> None:
    begin(directory).store(0, epoch=1, lineage=1)
    (directory.path / "part-0").rename(directory.path / "part-2")
    with pytest.raises(DirectoryRefused, match="not the part that belongs there: expected part 2"):
        begin(directory)


def test_a_part_without_a_note_is_not_taken_for_a_new_one(directory: CrawlDirectory) -> None:
    begin(directory).store(0, epoch=1, lineage=1)
    with CrawlDirectory(directory.path / "part-0") as part:
        part.claim.unlink()
    open_part(directory, "part-0")
    machine = begin(directory)
    assert machine.epochs() == {}
    with pytest.raises(DirectoryRefused, match=r"expected .*claim\.json"):
        machine.store(0, epoch=2, lineage=1)


def test_a_part_that_another_machine_has_adopted_is_not_this_ones_any_more(directory: CrawlDirectory) -> None:
    machine = begin(directory)
    machine.store(0, epoch=3, lineage=1)
    open_part(directory, "part-0")
    assert machine.epochs() == {0: 3}
    adopted = msgspec.structs.replace(IDENTITY, lineages=(4, 2, 3), next_lineage=5, configuration_version=2)
    machine.learn(cluster_of(adopted))
    assert machine.epochs() == {}
    assert begin(directory, adopted).identity() == adopted


def test_a_part_that_is_adopted_where_it_was_gets_a_new_directory(directory: CrawlDirectory) -> None:
    machine = begin(directory)
    machine.store(0, epoch=3, lineage=1)
    machine.learn(cluster_of(msgspec.structs.replace(IDENTITY, lineages=(4, 2, 3), next_lineage=5)))
    machine.store(0, epoch=5, lineage=4)
    layout = read_layout(directory.path)
    assert layout is not None
    assert (layout.parts[0].directory, layout.earlier) == ("part-0.2", ("part-0",))
    note = read_note(CrawlDirectory(directory.path / "part-0.2"))
    assert note is not None
    assert (note.epoch, note.lineage) == (5, 4)


def test_a_configuration_that_somebody_has_edited_here_is_that_of_redis_again(directory: CrawlDirectory) -> None:
    begin(directory)
    edited = f"{IDENTITY.configuration}[politeness]\nmin_delay_s = 9\n"
    directory.configuration.write_text(edited)
    machine = begin(directory)
    machine.learn(cluster_of(IDENTITY))
    assert directory.configuration.read_text() == machine.identity().configuration == IDENTITY.configuration
    ahead = msgspec.structs.replace(IDENTITY, configuration=edited, configuration_version=7)
    machine.learn(cluster_of(ahead))
    machine.learn(cluster_of(IDENTITY))  # as after Redis was restored from an older copy
    assert machine.identity().configuration == edited


def test_a_configuration_that_is_not_utf_8_is_refused_with_its_file(directory: CrawlDirectory) -> None:
    begin(directory)
    directory.configuration.write_bytes(b"[crawl]\nname = '\xff'\n")
    with pytest.raises(DirectoryRefused, match=r"crawl\.toml is damaged: expected UTF-8"):
        MachineDirectory(directory)

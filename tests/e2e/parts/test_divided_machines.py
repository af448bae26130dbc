"""A crawl on many machines that gets more or fewer parts on its way, as its operators do it."""

import shutil
from collections.abc import Sequence
from pathlib import Path

from crawler.disk.layout import part_directories, record_directories
from crawler.page import PageRecord
from crawler.write.records import read_records
from tests.e2e.crawling import COMPLETE, REFUSED, STOPPED, Ended, assert_sound, assert_told, setting
from tests.e2e.operating import command_here
from tests.e2e.parts.in_parts import HURRIED, UNHURRIED, assert_fetched_once
from tests.e2e.parts.on_machines import LEASE_S, Machine, Machines, on_machines


def stop_all(crawl: Machines) -> None:
    crawl.wait_until_all_crawl()
    assert_told(command_here("cluster", "stop", "--url", crawl.redis.url), COMPLETE)
    for machine in crawl.machines:
        assert_told(machine.wait(), STOPPED)


def gather(machines: Sequence[Machine]) -> Path:
    """Move the directories of all parts to the first machine."""
    first, *others = (machine.directory for machine in machines)
    for other in others:
        for part in part_directories(other):
            shutil.move(part, first / part.name)
    return first


def hand_out(gathered: Path, machines: Sequence[Machine]) -> None:
    """Give each machine but the first one part."""
    for machine, part in zip(machines[1:], reversed(part_directories(gathered)), strict=False):
        machine.directory.mkdir(exist_ok=True)
        shutil.move(part, machine.directory / part.name)


def records_of(machines: Sequence[Machine]) -> list[PageRecord]:
    """All output, old and new."""
    folders = [folder for machine in machines for folder in record_directories(machine.directory)]
    return list(read_records(*folders, last_only=True))


def start(crawl: Machines, directory: Path) -> Ended:
    """A machine that is to run the crawl in a directory."""
    return command_here("crawl", "--cluster", crawl.redis.url, "--dir", str(directory))


def test_a_crawl_is_stopped_gathered_split_and_run_by_machines_again(tmp_path: Path) -> None:
    with on_machines(tmp_path, *UNHURRIED, max_parts=2, parts=2) as crawl:
        for machine in crawl.machines:
            machine.start("--max-parts", "1")
        stop_all(crawl)
        kept = tmp_path / "kept"  # by a careless operator
        shutil.copytree(crawl.machines[1].directory, kept)
        whole = gather(crawl.machines)

        divided = command_here("parts", str(whole), "--into", "3")
        assert_told(divided, COMPLETE)
        assert f"onceover cluster init --from {whole}" in divided.out
        assert_told(start(crawl, kept), REFUSED, "is being divided anew in", str(whole))

        options = [*HURRIED, *setting(f"exchange.lease_s={LEASE_S}")]
        init = ["cluster", "init", "--from", str(whole), "--url", crawl.redis.url, *options]
        assert_told(command_here(*init), COMPLETE)
        assert_told(command_here(*init), COMPLETE)  # it is done
        assert_told(command_here("crawl", "--dir", str(whole)), REFUSED, "onceover crawl --cluster")
        assert_told(start(crawl, kept), REFUSED, "of the crawl as it was before it was divided anew")

        hand_out(whole, crawl.machines)
        assert [len(part_directories(machine.directory)) for machine in crawl.machines[:1]] == [2]
        for machine in crawl.machines:
            machine.start()
        for machine in crawl.machines:
            assert_told(machine.wait(), COMPLETE)
        assert_fetched_once([records_of(crawl.machines)], crawl.web.pages)
        for machine in crawl.machines:
            for part in part_directories(machine.directory):
                assert_sound(part)

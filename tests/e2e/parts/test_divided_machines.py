"""A crawl on many machines that gets more or fewer parts on its way, as its operators do it."""

import shutil
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from random import Random

import pytest

from crawler.disk.layout import part_directories, record_directories
from crawler.page import PageRecord
from crawler.write.records import read_records
from tests.e2e.crawling import COMPLETE, REFUSED, STOPPED, Ended, assert_sound, assert_told, setting, started
from tests.e2e.operating import command_here
from tests.e2e.parts.in_parts import HURRIED, UNHURRIED, assert_fetched_once
from tests.e2e.parts.on_machines import LEASE_S, Machine, Machines, on_machines


def stop_all(crawl: Machines) -> None:
    crawl.wait_until_all_crawl()
    assert_told(command_here("cluster", "stop", "--url", crawl.redis.url), COMPLETE)
    crawl.wait(STOPPED)


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
        crawl.start()
        crawl.wait(COMPLETE)
        assert_fetched_once([records_of(crawl.machines)], crawl.web.pages)
        for machine in crawl.machines:
            for part in part_directories(machine.directory):
                assert_sound(part)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(4))
def test_kills_while_it_is_split_merged_and_registered_lose_nothing(tmp_path: Path, seed: int) -> None:
    """Two machines crawl three parts, then two, then three; each command in between is killed again and again."""
    dice = Random(seed)
    with on_machines(tmp_path, *UNHURRIED, max_parts=2, parts=3) as crawl:
        kills = 0
        for parts in (2, 3):
            crawl.start()
            stop_when_begun(crawl)
            whole = gather(crawl.machines)
            kills += killed_until_done(tmp_path, dice, "parts", str(whole), "--into", str(parts))
            init = ["cluster", "init", "--url", crawl.redis.url, *setting(f"exchange.lease_s={LEASE_S}")]
            init += HURRIED if parts == 3 else []
            kills += killed_until_done(tmp_path, dice, *init, "--from", str(whole))
            assert_sound(whole)
            hand_out(whole, crawl.machines)
        crawl.start()
        crawl.wait(COMPLETE)
        assert kills
        assert_fetched_once([records_of(crawl.machines)], crawl.web.pages)


def stop_when_begun(crawl: Machines) -> None:
    """Stop all machines after they have fetched something."""
    before = len(records_of(crawl.machines))
    crawl.wait_until(lambda: len(records_of(crawl.machines)) > before + 3, "more pages")
    assert_told(command_here("cluster", "stop", "--url", crawl.redis.url), COMPLETE)
    crawl.wait(STOPPED)


def killed_until_done(folder: Path, dice: Random, *command: str) -> int:
    """Run a command, and kill it at ever later moments until it comes to its end. Returns how often it was killed."""
    kills, wait_s = 0, 0.1
    while True:
        with started(*command, cwd=folder) as running:
            with suppress(subprocess.TimeoutExpired):
                assert running.process.wait(wait_s * dice.uniform(0.3, 1.0)) == COMPLETE, running.err
                return kills
            running.process.kill()
            running.process.wait()
        kills, wait_s = kills + 1, wait_s * 1.4

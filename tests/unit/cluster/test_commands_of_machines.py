"""That commands on the directory of a machine speak of the parts that are there, and say which are not."""

from pathlib import Path

import msgspec

from config import render_toml
from crawler.cluster.machine import MachineDirectory, begin_machine
from crawler.disk.directory import CrawlDirectory
from crawler.parts.ownership import Ownership
from crawler.testing.loops import run_in_virtual_time
from crawler.wiring.configuration import load
from crawler.wiring.crawl import open_crawl
from tests.e2e.crawling import COMPLETE, FAILED, REFUSED, assert_told
from tests.e2e.operating import command_here
from tests.unit.cluster.homes import IDENTITY

HOSTS = [f"h{number}.test" for number in range(8)]
HERE = (0, 2)
NOTE = "without part 1 of the crawl, on other machines"


def owner(host: str) -> int:
    return Ownership(3).owner(",".join(reversed(host.split("."))))


async def _open_each(directory: CrawlDirectory) -> None:
    """Let each part that is here know its seeds."""
    for part in HERE:
        path = directory.path / f"part-{part}"
        loaded = load(directory.configuration, options={"crawl.directory": ("a test", str(path))}, environ={})
        with CrawlDirectory(path) as place:
            async with open_crawl(loaded, place):
                pass


def made(folder: Path) -> Path:
    seeds = tuple(f"http://{host}/" for host in HOSTS)
    loaded = load(None, options={"crawl.seeds": ("a test", list(seeds)), "crawl.parts": ("a test", 3)}, environ={})
    identity = msgspec.structs.replace(IDENTITY, configuration=render_toml(loaded.lasting))
    with CrawlDirectory(folder / "crawl") as directory:
        begin_machine(directory, identity, url="redis://127.0.0.1/0", prefix="test")
        machine = MachineDirectory(directory, lambda _cluster, _epochs: ())
        for part in HERE:
            machine.store(part, epoch=1, lineage=part + 1)
        run_in_virtual_time(_open_each(directory))
    return folder / "crawl"


def test_commands_take_the_parts_that_are_here_and_say_which_are_not(tmp_path: Path) -> None:
    directory = str(made(tmp_path))
    here = [host for host in HOSTS if owner(host) in HERE]
    there = next(host for host in HOSTS if owner(host) not in HERE)
    assert 0 < len(here) < len(HOSTS)

    status = command_here("status", directory, "--json")
    assert_told(status, COMPLETE)
    found = status.json()
    assert isinstance(found["parts"], list)
    assert [part["part"] for part in found["parts"]] == [0, 2]
    assert found["frontier"]["pending"] == len(here)  # type: ignore[index]

    for arguments in (["inspect", directory, "queues"], ["top", directory, "--once"], ["inspect", directory, "fsck"]):
        ended = command_here(*arguments)
        assert_told(ended, COMPLETE)
    lines = command_here("inspect", directory, "queues", "--json").out.splitlines()
    assert {msgspec.json.decode(line)["host"] for line in lines} == set(here)

    known = command_here("inspect", directory, "url", f"http://{here[0]}/", "--json")
    assert_told(known, COMPLETE)
    assert_told(command_here("inspect", directory, "url", f"http://{there}/"), FAILED, "part 1 is on another machine")
    added = command_here("add", directory, f"http://{there}/new")
    assert "part 1 is on another machine" in added.out + added.err
    assert_told(command_here("parts", directory, "--into", "2"), REFUSED, "all parts are needed")
    assert_told(command_here("report", directory), COMPLETE, NOTE)

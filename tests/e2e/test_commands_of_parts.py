"""Commands see and steer a crawl in parts as one crawl while it runs, and say the same when it is complete."""

import shutil
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import msgspec
import plyvel

from crawler.disk.layout import part_directories, record_directories
from crawler.parts.ownership import Ownership
from crawler.simweb.process import running
from crawler.write.records import read_records
from frontier.leveldb.database import Database
from frontier.leveldb.format.keys import parcel_key
from frontier.leveldb.outbox import LevelDBOutbox
from tests.e2e.crawling import COMPLETE, FAILED, SMALL, STOPPED, Ended, Running, Web, onceover, setting, started
from tests.e2e.operating import command_here

WORLD = msgspec.structs.replace(SMALL, hosts=8, domain="test", duplicates=0.0, not_found=0.0)
"""Each of its hosts is a registered domain."""
PARTS = 3
OWNERSHIP = Ownership(PARTS)


class Crawl:
    """A crawl of this world in a directory."""

    def __init__(self, folder: Path, name: str, web: Web) -> None:
        self.directory = folder / name
        self._folder = folder
        self._options = ["crawl", *web.options, *setting('scope.within="any"', "output.links=true"), "--dir", name]

    def complete(self, *options: str) -> Ended:
        return onceover(*self._options, *options, cwd=self._folder)

    def resume(self, *options: str) -> Ended:
        return onceover("crawl", "--dir", self.directory.name, *options, cwd=self._folder)

    @contextmanager
    def started(self, *options: str) -> Iterator[Running]:
        with started(*self._options, *options, cwd=self._folder) as process:
            process.wait_until((self.directory / "control").is_socket, "socket")
            yield process

    def do(self, command: str, *arguments: str) -> Ended:
        return command_here(command, str(self.directory), *arguments)

    def look(self, what: str, *arguments: str) -> Ended:
        return command_here("inspect", str(self.directory), what, *arguments)

    def exported(self) -> dict[str, str]:
        lines = command_here("frontier", "export", str(self.directory)).out.splitlines()
        found = [msgspec.json.decode(line) for line in lines]
        assert [each["url"] for each in found] == sorted(each["url"] for each in found)
        return {each["url"]: each.get("state", "pending") for each in found}

    def queues(self) -> list[dict[str, Any]]:
        return [msgspec.json.decode(line) for line in self.look("queues", "--json").out.splitlines()]

    def frontier(self) -> dict[str, object]:
        return msgspec.convert(self.do("status", "--json").json()["frontier"], dict[str, object])

    def is_drained(self) -> bool:
        return self.frontier()["in_process"] == 0


def test_a_crawl_in_three_parts_is_steered_as_one_and_finds_what_one_process_finds(tmp_path: Path) -> None:
    with running(WORLD) as port:
        web = Web(port, WORLD)
        one, parts = Crawl(tmp_path, "one", web), Crawl(tmp_path, "parts", web)
        assert one.complete().code == COMPLETE
        # So it lasts for sixteen seconds and more, and can be met on its way.
        pace = setting("politeness.min_delay_s=2", "politeness.max_delay_s=2")
        with parts.started("--parts", str(PARTS), *pace) as process:
            process.wait_until(lambda: {queue["part"] for queue in parts.queues()} == set(range(PARTS)), "links")
            assert parts.do("pause", "--reason", "night").code == COMPLETE
            process.wait_until(parts.is_drained, "end of what is in flight")
            status = parts.do("status", "--json").json()
            assert (status["running"], status["pid"], status["paused"]) == (True, process.pid, "night")
            told = msgspec.convert(status["parts"], list[dict[str, object]])
            pids = {msgspec.convert(each["status"], dict[str, object])["pid"] for each in told}
            assert len(pids | {process.pid}) == 1 + PARTS
            check_while_paused(parts)
            assert parts.do("resume").code == COMPLETE
            assert parts.do("stop").code == COMPLETE
            assert process.wait().code == STOPPED
        assert parts.look("fsck").code == COMPLETE
        assert parts.resume(*setting("politeness.min_delay_s=0")).code == COMPLETE
        check_same(one, parts)
        check_lost_links(parts)
        # One part loses its frontier.
        shutil.rmtree(part_directories(parts.directory)[1] / "frontier")
        assert parts.look("fsck").code == FAILED
        assert parts.look("fsck", "--repair").code == COMPLETE
        resumed = parts.resume()
        assert resumed.code == COMPLETE, resumed.err
        assert parts.exported() == one.exported()
        assert parts.look("fsck").code == COMPLETE
        assert parts.frontier()["gaps"] == 0


def check_lost_links(parts: Crawl) -> None:
    """One part loses how far it has received the links of the others, and another one a parcel for it."""
    receiver, sender = part_directories(parts.directory)[:2]
    with closing(plyvel.DB(str(receiver / "frontier"))) as database:
        for key in list(database.iterator(prefix=b"S", include_value=False)):
            database.delete(key)
    with closing(Database(sender / "frontier", durability="process")) as database:
        following = LevelDBOutbox(database, count_deleted=lambda *_: None).end(0) + 1
        damaged = database.batch()
        damaged.put(parcel_key(0, following), b"damaged")
        database.write(damaged)
    found = parts.look("fsck")
    assert found.code == FAILED
    assert "part 1 to part 0: parcels up to" in found.out
    assert "parcel" in found.out
    assert parts.look("fsck", "--repair").code == COMPLETE
    assert parts.look("fsck").code == COMPLETE


def check_while_paused(parts: Crawl) -> None:
    queues = parts.queues()
    assert all(each["part"] == OWNERSHIP.owner(each["key"]) for each in queues)
    hosts = msgspec.convert(parts.do("top", "--json").json()["hosts"], list[dict[str, object]])
    assert {each["host"] for each in hosts} >= {each["host"] for each in queues}
    for queue in queues:
        (url,) = parts.look("next", queue["host"], "--limit", "1").out.split()
        assert parts.look("url", url, "--json").json()["part"] == queue["part"]
        added = parts.do("add", url, "--json").json()
        assert (added["url"], added["outcome"]) == (url, "waits")
        assert parts.do("retire", queue["host"], "--json").json()["part"] == queue["part"]
        assert parts.do("unretire", queue["host"]).code == COMPLETE
    assert len(parts.exported()) == parts.frontier()["admitted"]


def check_same(one: Crawl, parts: Crawl) -> None:
    assert parts.exported() == one.exported()
    assert parts.look("fsck", "--json").json() == one.look("fsck", "--json").json()
    assert [line.split("  ") for line in parts.look("refused").out.splitlines()] == [
        line.split("  ") for line in one.look("refused").out.splitlines()
    ]
    visited = [msgspec.convert(each.look("visited", "--json").json()["count"], int) for each in (one, parts)]
    assert visited[0] == visited[1]
    records = [list(read_records(*record_directories(each.directory), last_only=True)) for each in (one, parts)]
    assert sorted(each.url for each in records[0]) == sorted(each.url for each in records[1])
    assert len({each.number for each in records[1]}) == len(records[1])
    assert all((path / "records").is_dir() for path in part_directories(parts.directory))
    for record in records[1][::5]:
        found = parts.look("url", record.url, "--json").json()
        assert (found["number"], found["state"]) == (record.number, record.state)

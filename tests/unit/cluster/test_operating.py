"""What an operator does with a crawl on many machines: make it, look at it, adopt parts that are lost."""

import asyncio
import re
import shutil
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import TypeVar

import msgspec
import pytest
import redis

from crawler.cluster.machine import MachineDirectory, begin_machine
from crawler.cluster.notes import read_note
from crawler.cluster.register import Register, find_generation
from crawler.cluster.values import Agent, Denied, EndingMark, Granted, Identity
from crawler.disk.directory import CrawlDirectory
from crawler.disk.layout import read_layout
from crawler.operate.cluster.advice import advice_of
from crawler.operate.cluster.forms import ClusterAdopted, ClusterMade, ClusterStatus
from crawler.operate.cluster.status import what_is_said
from crawler.operate.opening import open_stored, stored_configuration
from crawler.parts.ownership import Ownership
from crawler.redis.client import connected
from crawler.redis.server import Server
from crawler.wiring.configuration import load
from crawler.wiring.storage import open_state, visited_set
from frontier import CrawlUrl, Damaged, LedgerReads
from tests.e2e.crawling import AWAY, COMPLETE, FAILED, REFUSED, USAGE, Ended, assert_sound, assert_told
from tests.e2e.operating import command_here
from tests.redis_server import RedisServer, running_redis

SITE = """
[crawl]
name = "web"
seed_files = ["seeds.txt"]

[fetch]
user_agent = "onceover/1.0 (+https://example.org/about-our-crawler)"

[exchange]
lease_s = 3600
"""
_Answer = TypeVar("_Answer")

A, B = "host-a:17:cafe", "host-b:18:beef"


class Site:
    """A configuration, and a server to make its crawl at."""

    def __init__(self, server: RedisServer, folder: Path) -> None:
        self.server = server
        self.folder = folder
        self.file = folder / "site.toml"
        self.file.write_text(SITE)
        (folder / "seeds.txt").write_text("http://a.test/\nhttp://b.test/  # the second\n")

    def run(self, *arguments: str) -> Ended:
        return command_here("cluster", *arguments, "--url", self.server.url)

    def init(self, *more: str, parts: int = 3) -> Ended:
        return self.run("init", str(self.file), "--parts", str(parts), *more)

    def status(self) -> ClusterStatus:
        ended = self.run("status", "--json")
        assert_told(ended, COMPLETE)
        return msgspec.json.decode(ended.out, type=ClusterStatus)

    def ask(self, question: Callable[[Register], Awaitable[_Answer]]) -> _Answer:
        """What the register answers."""

        async def answer() -> _Answer:
            async with connected(Server(url=self.server.url)) as client:
                generation = await find_generation(client, "onceover")
                assert generation is not None
                return await question(Register(client, prefix="onceover", generation=generation))

        return asyncio.run(answer())

    def tell(self, holder: str, agent: Agent) -> None:
        """A machine says how it is."""
        self.ask(lambda register: register.tell(holder, agent))

    def identity(self) -> Identity:
        return self.ask(lambda register: register.read()).identity

    def claim(self, part: int, holder: str, *, stored: int = 0) -> Granted | Denied:
        return self.ask(
            lambda register: register.claim(
                part, holder=holder, claim=holder, stored=stored, makes=not stored, lease_s=3600
            )
        )

    def open(self, part: int, holder: str, *, stored: int = 0) -> Granted:
        """Claim a part, as if its waiting time were over."""
        granted = self.claim(part, holder, stored=stored)
        assert isinstance(granted, Granted), granted
        assert self.ask(lambda register: register.confirm(part, claim=holder, epoch=granted.epoch, lease_s=3600))
        return granted

    def release(self, part: int, holder: str) -> None:
        self.ask(lambda register: register.release(part, claim=holder))


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    with running_redis() as server:
        yield Site(server, tmp_path)


def test_a_crawl_is_made_with_all_that_other_machines_need(site: Site) -> None:
    ended = site.init("--set", "exchange.lease_s=7", "--json")
    made = msgspec.json.decode(ended.out, type=ClusterMade)
    identity = site.identity()
    assert (identity.crawl, identity.generation) == (made.crawl, made.generation)
    assert (identity.lineages, identity.next_lineage, identity.lease_s) == ((1, 2, 3), 4, 7.0)
    elsewhere = site.folder / "elsewhere.toml"
    elsewhere.write_text(identity.configuration)
    (site.folder / "seeds.txt").unlink()
    loaded = load(elsewhere, environ={})
    assert [seed.url for seed in loaded.seeds] == ["http://a.test/", "http://b.test/"]
    assert (loaded.config.crawl.parts, loaded.config.exchange.backend) == (3, "redis")
    assert b"co.uk" in identity.suffixes


def test_a_prefix_has_one_crawl_until_that_is_replaced(site: Site) -> None:
    first = msgspec.json.decode(site.init("--json").out, type=ClusterMade)
    assert_told(site.init(), FAILED, "has a crawl with the prefix 'onceover' already", "--fresh")
    assert site.status().crawl == first.crawl
    assert "--set exchange.prefix=other" in site.init("--set", "exchange.prefix=other").out
    second = msgspec.json.decode(site.init("--fresh", "--json", parts=2).out, type=ClusterMade)
    assert second.generation != first.generation
    assert len(site.status().parts) == 2
    with redis.Redis.from_url(site.server.url) as client:
        assert not list(client.scan_iter(f"*{first.generation}*"))


def test_a_crawl_that_somebody_runs_is_not_replaced(site: Site) -> None:
    site.init()
    site.open(1, A)
    ended = site.init("--fresh")
    assert_told(ended, FAILED, f"the crawl that is to be replaced runs: {A}")
    assert (site.status()).parts[1].holder == A


def test_the_status_says_who_runs_what_and_what_to_do(site: Site) -> None:
    site.init()
    found = site.status()
    assert [part.state for part in found.parts] == ["unmade"] * 3
    assert found.advice == [f"no machine runs the crawl: start `onceover crawl --cluster {site.server.url}` on each"]
    site.open(0, A)
    site.claim(1, B)
    site.open(2, B)
    site.release(2, B)
    agent = Agent(host="host-a", pid=17, directory="/srv/crawl", parts={0: "12 pages"})
    site.tell(A, agent)
    found = site.status()
    assert [part.state for part in found.parts] == ["held", "opening", "free"]
    assert found.parts[0].says == "12 pages"
    assert [(machine.host, machine.parts) for machine in found.machines] == [("host-a", [0])]
    assert len(found.advice) == 1
    assert found.advice[0].startswith("part 2 is not run: start `onceover crawl --cluster` on the machine that has its")
    assert B in found.advice[0]
    shown = (site.run("status")).out
    assert re.search(rf"part 0  run by {re.escape(A)} · epoch 1 · lease for 3[56]\d\d s more · 12 pages", shown)
    assert f"part 1  claimed by {B}" in shown
    assert f"part 2  run by nobody · epoch 1 · last by {B}" in shown


def test_the_status_says_how_old_it_is_what_a_silent_machine_has_said_of_a_part(site: Site) -> None:
    site.init()
    for holder, says in ((A, "12 pages in this run"), (B, "waits for its lease")):
        site.tell(holder, Agent(host=holder, pid=17, directory=f"/srv/{holder}", parts={0: says}))
    cluster = site.ask(lambda register: register.read())
    assert what_is_said(cluster, cluster.parts[0]) == "12 pages in this run; waits for its lease"
    now = cluster.agents[A].told_at + 3660
    agents = {**cluster.agents, B: msgspec.structs.replace(cluster.agents[B], told_at=now)}
    later = msgspec.structs.replace(cluster, agents=agents, now=now)
    assert what_is_said(later, later.parts[0]) == "12 pages in this run, as said 1 h 1 min ago; waits for its lease"


def test_a_machine_that_starts_again_takes_the_place_of_its_dead_process(site: Site) -> None:
    site.init()
    for pid, directory in ((17, "/srv/crawl"), (18, "/srv/crawl"), (19, "/srv/other")):
        site.tell(f"host-a:{pid}", Agent(host="host-a", pid=pid, directory=directory, parts={0: "12 pages"}))
    assert [machine.pid for machine in site.status().machines] == [18, 19]


def test_a_dead_machine_whose_parts_others_run_need_not_be_started_again(site: Site) -> None:
    site.init()
    site.open(0, A)
    for holder, parts in ((A, [0]), (B, [0, 99]), ("host-c:19", [0, 1])):
        host, pid = holder.split(":")[:2]
        said = Agent(host=host, pid=int(pid), directory="/srv/crawl", parts=dict.fromkeys(parts, "12 pages"))
        site.tell(holder, said)
    found = site.status()
    machines = [
        msgspec.structs.replace(each, silent_s=0.0 if each.holder == A else 9 * found.lease_s)
        for each in found.machines
    ]
    told = [each for each in advice_of(msgspec.structs.replace(found, machines=machines)) if "has said nothing" in each]
    assert len(told) == 1
    assert told[0].startswith("host-c ")


def test_a_dead_machine_says_nothing_of_a_part_that_another_has_opened_since(site: Site) -> None:
    site.init()
    said = Agent(host="host-a", pid=17, directory="/srv/crawl", parts={0: "waits for its lease", 1: "4 pages"})
    epoch = 0
    for part in said.parts:
        epoch = site.open(part, A).epoch
        site.release(part, A)
    site.tell(A, said)
    assert [machine.parts for machine in site.status().machines] == [[0, 1]]
    site.open(0, B, stored=epoch)  # its directory was moved
    site.release(0, B)
    found = site.status()
    assert [machine.parts for machine in found.machines] == [[1]]
    assert (found.parts[0].says, found.parts[0].last_holder, found.parts[1].says) == (None, B, "4 pages")
    site.open(1, B, stored=epoch)
    site.release(1, B)
    found = site.status()
    silent = [msgspec.structs.replace(each, silent_s=9 * found.lease_s) for each in found.machines]
    assert not any("has said nothing" in each for each in advice_of(msgspec.structs.replace(found, machines=silent)))
    site.tell(A, said)  # it lives, with older copies
    assert site.status().parts[0].says == "waits for its lease"


def test_a_machine_that_keeps_its_leases_and_can_not_say_how_it_is_is_not_called_dead(site: Site) -> None:
    site.init()
    site.open(0, A)
    agent = Agent(host="host-a", pid=17, directory="/srv/crawl", parts={0: "12 pages"})
    site.tell(A, agent)
    found = site.status()
    silent = [msgspec.structs.replace(each, silent_s=9 * found.lease_s) for each in found.machines]
    told = advice_of(msgspec.structs.replace(found, machines=silent))
    assert not any("no machine runs the crawl" in each or "Start it again" in each for each in told)
    assert any("host-a (process 17, /srv/crawl) keeps its leases, but has said nothing" in each for each in told)
    site.release(0, A)
    told = advice_of(msgspec.structs.replace(site.status(), machines=silent))
    assert any("no machine runs the crawl" in each for each in told)
    other = [*silent, msgspec.structs.replace(silent[0], holder=B, host="host-b", parts=[], silent_s=0.0)]
    told = advice_of(msgspec.structs.replace(site.status(), machines=other))
    assert [each for each in told if "part 0" in each] == []  # what is said of the machine is enough
    assert any("host-a (process 17, /srv/crawl) has said nothing" in each for each in told)


def test_the_status_says_how_the_crawl_has_ended(site: Site) -> None:
    site.init()
    site.open(0, A)
    site.ask(lambda register: register.end(EndingMark(mark="m", ending="complete")))
    assert site.status().last_ending is None  # a part still runs
    site.release(0, A)
    found = site.status()
    assert (found.last_ending, found.advice) == ("complete", [])
    assert "ended  nothing was left to fetch" in site.run("status").out
    agent = Agent(host="host-a", pid=17, directory="/srv/crawl", parts={0: "12 pages"})
    site.tell(A, agent)  # the next run
    found = site.status()
    assert found.last_ending is None
    assert found.advice
    site.ask(lambda register: register.end(EndingMark(mark="n", ending="complete")))
    assert site.status().last_ending == "complete"  # that machine died before
    site.tell(A, agent)  # it lives, and is about to leave
    assert site.status().last_ending is None


def test_the_status_says_that_the_server_is_a_replica_rather_than_that_its_machines_are_dead(site: Site) -> None:
    site.init()
    site.open(0, A)
    site.tell(A, Agent(host="host-a", pid=17, directory="/srv/crawl", parts={0: "12 pages"}))
    assert site.status().server_trouble is None
    with redis.Redis.from_url(site.server.url) as client:
        client.replicaof("127.0.0.1", "1")
    found = site.status()
    assert found.server_trouble is not None
    assert "is a replica" in found.server_trouble
    assert found.advice[0] == found.server_trouble
    assert len(found.advice) > 1  # parts that nobody has are named all the same
    parts = [msgspec.structs.replace(part, state="free", holder=None) for part in found.parts]
    later = msgspec.structs.replace(found, parts=parts)
    silent = [msgspec.structs.replace(each, silent_s=9 * found.lease_s) for each in found.machines]
    for machines in (found.machines, silent):
        assert advice_of(msgspec.structs.replace(later, machines=machines)) == [found.server_trouble]


def test_another_server_process_makes_parts_unsure(site: Site) -> None:
    site.server.kill()
    site.server.start("--appendonly", "yes", "--appendfsync", "always")
    site.init()
    site.open(0, A)
    site.server.kill()
    site.server.start("--appendonly", "yes")
    found = site.status()
    assert (found.is_whole, found.is_first_server) == (True, False)
    assert any("each of 2 parts (1 2) may have been made and forgotten" in each for each in found.advice)
    denied = site.claim(1, A)
    assert isinstance(denied, Denied)
    assert "Redis may have forgotten that it was made" in denied.why
    assert_told(site.run("adopt", "1", "--yes"), COMPLETE)
    site.open(1, A)


def test_a_lost_part_is_adopted_once_somebody_has_read_what_that_loses(site: Site) -> None:
    site.init()
    site.open(2, A)
    assert_told(site.run("adopt", "2"), FAILED, f"{A} holds part 2")
    site.release(2, A)
    told = site.run("adopt", "2")
    assert_told(told, USAGE, "begins again with an empty directory", "fetched again", "--yes")
    assert (site.status()).parts[2].lineage == 3
    assert_told(site.run("adopt", "2", "--yes"), COMPLETE)
    part = (site.status()).parts[2]
    assert (part.state, part.lineage) == ("to be made", 4)
    old = site.claim(2, A, stored=1)
    assert isinstance(old, Denied)
    assert "older than the part" in old.why
    granted = site.open(2, B)
    assert (granted.epoch, granted.lineage) == (3, 4)
    assert_told(site.run("adopt", "7"), USAGE, "expected parts 0 to 2, found 7")


def test_an_older_directory_is_told_so_whether_somebody_holds_its_part_or_not(site: Site) -> None:
    site.init()
    site.open(0, A)
    site.release(0, A)
    site.open(0, B, stored=1)
    held = site.claim(0, A, stored=1)
    site.release(0, B)
    assert site.claim(0, A, stored=1) == held
    assert isinstance(held, Denied)
    assert "expected epoch 2, found 1" in held.why


def test_an_older_directory_is_adopted_where_it_is(site: Site) -> None:
    site.init()
    site.open(0, A)
    site.release(0, A)
    site.open(0, B, stored=1)
    site.release(0, B)
    identity = site.identity()
    place = site.folder / "crawl"
    with CrawlDirectory(place) as directory:
        begin_machine(directory, identity, url=site.server.url, prefix="onceover")
        machine = MachineDirectory(directory)
        machine.store(0, epoch=1, lineage=1)
    missing = command_here("cluster", "adopt", "0", "--dir", str(place))
    assert_told(missing, REFUSED, "expected a frontier in")
    asyncio.run(begin_part(place / "part-0"))
    told = command_here("cluster", "adopt", "0", "--dir", str(place))
    assert_told(told, USAGE, "its epoch is 1, and the part is in epoch 2", "links that other parts have sent since")
    done = command_here("cluster", "adopt", "0", "--dir", str(place), "--yes", "--json")
    assert msgspec.json.decode(done.out, type=ClusterAdopted).directory == str(place)
    note = read_note(CrawlDirectory(place / "part-0"))
    assert note is not None
    assert (note.epoch, note.lineage) == (3, 4)
    with open_stored(place / "part-0") as (_, _, state):  # its numbers are of the new lineage
        assert isinstance(state, LedgerReads)
        assert [known.entry.number for known in state.all_known() if not isinstance(known, Damaged)] == [(1 << 40) + 1]
    assert (site.open(0, A, stored=3)).epoch == 4
    found = command_here("cluster", "status", str(place), "--json")
    assert msgspec.json.decode(found.out, type=ClusterStatus).parts[0].holder == A


async def begin_part(directory: Path) -> None:
    """Its frontier, with one URL."""
    with CrawlDirectory(directory) as place:
        loaded = stored_configuration(directory)
        state = open_state(loaded.config, place, may_begin=True)
        frontier = await state.open_frontier(visited_set(loaded.config, place, state.knows_many))
        owner = Ownership(3).owner
        host = next(host for number in range(99) if owner(f"test,{(host := f'h{number}')}") == 0)
        url = f"http://{host}.test/"
        await frontier.add([CrawlUrl(url=url, canonical=url, queue_key=f"test,{host}")])
        await frontier.aclose()


def test_a_part_is_restored_from_a_copy_and_adopted(site: Site) -> None:
    site.init()
    site.open(0, A)
    site.release(0, A)
    place, copy = site.folder / "crawl", site.folder / "copy"
    with CrawlDirectory(place) as directory:
        begin_machine(directory, site.identity(), url=site.server.url, prefix="onceover")
        MachineDirectory(directory).store(0, epoch=1, lineage=1)
    asyncio.run(begin_part(place / "part-0"))
    assert_told(command_here("backup", str(place), "--to", str(copy)), COMPLETE)
    site.open(0, B, stored=1)
    site.release(0, B)
    shutil.rmtree(place / "part-0")
    whole = command_here("restore", str(copy), "--to", str(site.folder / "new"))
    assert_told(whole, REFUSED, "a crawl on many machines", "--part")
    done = command_here("restore", str(copy), "--part", "0", "--to", str(place))
    assert_told(done, COMPLETE)
    assert f"onceover cluster adopt 0 --dir {place}" in done.out
    note = read_note(CrawlDirectory(place / "part-0"))
    assert note is not None
    assert note.epoch == 1
    assert_told(command_here("cluster", "adopt", "0", "--dir", str(place), "--yes"), COMPLETE)
    assert_sound(place / "part-0")
    assert site.open(0, A, stored=3).epoch == 4


def test_what_names_no_crawl_is_refused(site: Site, tmp_path: Path) -> None:
    assert_told(site.run("status"), FAILED, "knows no crawl with the prefix 'onceover'", "onceover cluster init")
    assert_told(command_here("cluster", "status"), USAGE, "name the server by --url")
    assert_told(command_here("cluster", "status", str(tmp_path)), USAGE, "has no crawl on many machines")
    site.server.kill()
    assert_told(site.run("status"), AWAY, "can't be reached")
    site.server.start()


@pytest.mark.parametrize(
    ("key", "bad", "good"),
    [("scope.exclude_places", '["xn--ü.de"]', '["b.de"]'), ("fetch.hosts", '{ "xn--ü.de" = "127.0.0.1" }', "{}")],
)
def test_settings_that_this_version_refuses_are_mended_while_no_machine_runs(
    site: Site, key: str, bad: str, good: str
) -> None:
    site.init()
    name = key.partition(".")[2]
    before = site.identity().configuration
    text = re.sub(rf"^{name} = .*$", f"{name} = {bad}", before, count=1, flags=re.MULTILINE)
    assert site.ask(lambda register: register.replace_configuration(text, 2))
    place = str(site.folder / "crawl")
    start = ("crawl", "--cluster", site.server.url, "--dir", place)
    assert_told(command_here(*start), USAGE, f"{key}: ", f"`onceover set {place} KEY=VALUE` changes them")
    assert_told(command_here("set", place, "limits.pages=7"), USAGE, f"{key}: ")
    site.open(0, A)
    assert_told(command_here("set", place, f"{key}={good}"), FAILED, "nothing was changed", f"did a moment ago: {A}.")
    site.release(0, A)
    dry = command_here("set", place, f"{key}={good}", "--dry-run")
    assert_told(dry, COMPLETE)
    assert site.identity().configuration_version == 2

    told = command_here("set", place, f"{key}={good}", "fetch.concurrency=5")
    assert_told(told, COMPLETE)
    assert key in told.out
    found = site.identity()
    assert found.configuration_version == 3
    assert f"{name} = {good}" in found.configuration
    assert "concurrency = 5" in found.configuration
    file = site.folder / "crawl" / "crawl.toml"
    assert file.read_text() == found.configuration

    assert site.ask(lambda register: register.replace_configuration(text, 4))
    assert_told(command_here(*start), USAGE, f"`onceover reload {place}`")
    file.write_text(before)
    assert_told(command_here("reload", place), COMPLETE)
    assert site.identity().configuration == before


def test_what_somebody_has_written_into_the_settings_of_a_machine_is_not_lost(site: Site) -> None:
    site.init()
    place = site.folder / "crawl"
    with CrawlDirectory(place) as directory:
        begin_machine(directory, site.identity(), url=site.server.url, prefix="onceover")
    file = place / "crawl.toml"
    before = file.read_text()
    written = re.sub(r"^concurrency = .*$", "concurrency = 7", before, count=1, flags=re.MULTILINE)
    assert written != before
    file.write_text(written)
    refused = command_here("set", str(place), "limits.pages=9")
    assert_told(refused, FAILED, "nothing was changed", "has other settings than Redis", f"`onceover reload {place}`")
    assert file.read_text() == written
    told = command_here("reload", str(place))
    assert (told.code, told.out) == (COMPLETE, "fetch.concurrency is 7; it was 64\n")
    assert (site.identity().configuration_version, site.identity().configuration) == (2, file.read_text())

    assert site.ask(lambda register: register.replace_configuration(before, 3))
    file.write_text(f"{written}# of mine\n")
    assert_told(command_here("reload", str(place)), FAILED, "nothing was changed", "Redis has newer settings than")
    assert file.read_text().endswith("# of mine\n")
    assert site.identity().configuration == before


def test_settings_that_redis_has_forgotten_and_a_machine_has_not_keep_no_later_change_from_holding(site: Site) -> None:
    site.init()
    place = site.folder / "crawl"
    older = site.identity()
    with CrawlDirectory(place) as directory:
        begin_machine(directory, older, url=site.server.url, prefix="onceover")
    for number in (7, 8):
        assert_told(command_here("set", str(place), f"fetch.concurrency={number}"), COMPLETE)

    async def forget(register: Register) -> bool:
        assert await register.remove() is None
        return await register.create(older)

    assert site.ask(forget)
    assert_told(command_here("set", str(place), "limits.pages=9"), COMPLETE)
    here = read_layout(place)
    assert here is not None
    assert here.cluster is not None
    found = site.identity()
    assert found.configuration_version == here.cluster.configuration_version > 3
    assert "concurrency = 8" in found.configuration
    assert "pages = 9" in found.configuration
    assert (place / "crawl.toml").read_text() == found.configuration


def test_a_change_on_a_machine_with_newer_settings_does_not_replace_one_that_another_makes_meanwhile(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    site.init()
    place, first = site.folder / "crawl", site.identity()
    ahead = msgspec.structs.replace(first, configuration_version=5)
    with CrawlDirectory(place) as directory:
        begin_machine(directory, ahead, url=site.server.url, prefix="onceover")
    replace = Register.replace_configuration

    async def come_second(register: Register, configuration: str, version: int, **rest: int) -> bool:
        assert await replace(register, f"{first.configuration}# of another\n", 2)
        return await replace(register, configuration, version, **rest)

    monkeypatch.setattr(Register, "replace_configuration", come_second)
    refused = command_here("set", str(place), "limits.pages=9")
    assert_told(refused, FAILED, "others have just changed the settings; repeat the command")
    assert site.identity().configuration.endswith("# of another\n")
    monkeypatch.undo()
    assert_told(command_here("set", str(place), "limits.pages=9"), COMPLETE)
    assert site.identity().configuration_version == 6


def test_a_change_on_a_machine_with_older_settings_keeps_the_newer_ones(site: Site) -> None:
    site.init()
    place = site.folder / "crawl"
    with CrawlDirectory(place) as directory:
        begin_machine(directory, site.identity(), url=site.server.url, prefix="onceover")
    newer = re.sub(r"^concurrency = .*$", "concurrency = 7", (place / "crawl.toml").read_text(), flags=re.MULTILINE)
    assert site.ask(lambda register: register.replace_configuration(newer, 2))
    assert_told(command_here("set", str(place), "limits.pages=9"), COMPLETE)
    assert "concurrency = 7" in site.identity().configuration
    assert "pages = 9" in site.identity().configuration

    file = place / "crawl.toml"
    assert site.ask(lambda register: register.replace_configuration(f"{file.read_text()}\n", 4))
    file.write_text(f"{file.read_text()}# of mine\n")
    refused = command_here("set", str(place), "limits.pages=8")
    assert_told(refused, FAILED, "nothing was changed", "Redis has newer settings than", "Keep your changes elsewhere")
    assert file.read_text().endswith("# of mine\n")
    assert site.identity().configuration_version == 4

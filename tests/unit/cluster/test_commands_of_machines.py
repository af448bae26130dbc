"""That commands on the directory of a machine speak of the parts that are there, and say which are not."""

import asyncio
import shutil
from pathlib import Path

import msgspec
import pytest
import redis

from config import Loaded, render_toml
from crawler.background import in_background
from crawler.cli.operate.pausing import status_lines
from crawler.cluster.keeper import LeaseKeeper
from crawler.cluster.leases import Held
from crawler.cluster.machine import MachineDirectory, begin_machine
from crawler.cluster.values import COORDINATOR, Cluster, Granted, Wanted
from crawler.control.asking import open_channel
from crawler.control.replies import CrawlStatus, Refusal
from crawler.control.requests import GetStatus
from crawler.disk.directory import CrawlDirectory
from crawler.disk.going_on import how_to_go_on, how_to_start_again
from crawler.disk.layout import read_layout, write_layout
from crawler.engine import Ending
from crawler.operate.cluster.reaching import settings_of_machine
from crawler.parts.exchange.redis import RedisExchange
from crawler.parts.line.messages import Progress
from crawler.parts.ownership import Ownership
from crawler.supervise.cluster.agent import CrawlAgent
from crawler.supervise.cluster.coordinator_server import CoordinatorServer
from crawler.supervise.cluster.deciding import Deciding
from crawler.supervise.cluster.joining import join
from crawler.supervise.cluster.messages import WIRE
from crawler.supervise.cluster.operating import answer_operator
from crawler.supervise.coordination.coordinator import RunState
from crawler.supervise.coordination.reporter import Reporter
from crawler.supervise.coordination.watched_part import WatchedPart
from crawler.testing.loops import run_in_virtual_time
from crawler.testing.timeouts import MAX_WAIT_S
from crawler.wiring.configuration import load
from crawler.wiring.crawl import open_crawl
from tests.e2e.crawling import AWAY, COMPLETE, FAILED, REFUSED, USAGE, assert_told
from tests.e2e.operating import command_here
from tests.redis_server import RedisServer, running_redis
from tests.unit.cluster.homes import IDENTITY, MemoryHome
from tests.unit.supervise.test_watching import opened, status

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
        machine = MachineDirectory(directory)
        for part in HERE:
            machine.store(part, epoch=1, lineage=part + 1)
        run_in_virtual_time(_open_each(directory))
    return folder / "crawl"


def test_commands_take_the_parts_that_are_here_and_say_which_are_not(tmp_path: Path) -> None:
    directory = str(made(tmp_path))
    here = [host for host in HOSTS if owner(host) in HERE]
    there = next(host for host in HOSTS if owner(host) not in HERE)
    assert 0 < len(here) < len(HOSTS)

    told = command_here("status", directory, "--json")
    assert_told(told, COMPLETE)
    found = told.json()
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
    for arguments in (["status"], ["checkpoint"], ["report"], ["backup", "--to", str(tmp_path / "copy")]):
        ended = command_here(arguments[0], directory, "--part", "1", *arguments[1:])
        words = f"part 1 of the crawl in {directory} is on another machine: use this command there"
        assert_told(ended, REFUSED, words, f"`onceover cluster status {directory}`")
        assert "--repair" not in ended.err  # which makes nothing of a part that others have
    assert_told(command_here("parts", directory, "--into", "2"), REFUSED, "all parts are needed")
    assert_told(command_here("report", directory), COMPLETE, NOTE)


def test_the_directory_of_a_machine_names_the_server_and_settings_say_how_to_reach_it(tmp_path: Path) -> None:
    directory, missing = made(tmp_path), tmp_path / "no-password"
    assert settings_of_machine(directory).config.exchange.url == "redis://127.0.0.1/0"
    found = settings_of_machine(directory, ["exchange.prefix=other", "exchange.password_env=SECRET"]).config.exchange
    assert (found.url, found.prefix, found.password_env) == ("redis://127.0.0.1/0", "other", "SECRET")
    for command in ("status", "stop"):
        ended = command_here("cluster", command, str(directory), "--set", f"exchange.password_file={missing}")
        assert_told(ended, USAGE, "no-password")


def test_a_crawl_can_be_stopped_and_its_status_read_while_the_memory_of_redis_is_full(tmp_path: Path) -> None:
    site = tmp_path / "site.toml"
    site.write_text('[crawl]\nseeds = ["http://a.test/"]\n')
    with running_redis() as server:
        assert_told(command_here("cluster", "init", str(site), "--parts", "2", "--url", server.url), COMPLETE)
        with redis.Redis.from_url(server.url) as client:
            client.config_set("maxmemory", 1)
        assert "not made yet" in command_here("cluster", "status", "--url", server.url).out
        stopped = command_here("cluster", "stop", "--url", server.url)
        assert_told(stopped, COMPLETE)
        assert "No machine runs a part" in stopped.out
        assert "it was stopped" in command_here("cluster", "status", "--url", server.url).out


def test_who_stops_a_crawl_at_a_replica_is_told_what_to_do(tmp_path: Path) -> None:
    site = tmp_path / "site.toml"
    site.write_text('[crawl]\nseeds = ["http://a.test/"]\n')
    with running_redis() as server, redis.Redis.from_url(server.url) as client:
        assert_told(command_here("cluster", "init", str(site), "--parts", "2", "--url", server.url), COMPLETE)
        client.replicaof("127.0.0.1", "1")
        refused = command_here("cluster", "stop", "--url", server.url)
        assert_told(refused, AWAY, "let it be the master, or name Sentinels")
        assert "script" not in refused.err


def test_who_stops_a_crawl_while_redis_can_not_save_is_told_that_it_takes_no_writes(tmp_path: Path) -> None:
    site = tmp_path / "site.toml"
    site.write_text('[crawl]\nseeds = ["http://a.test/"]\n')
    with running_redis() as server, redis.Redis.from_url(server.url) as client:
        assert_told(command_here("cluster", "init", str(site), "--parts", "2", "--url", server.url), COMPLETE)
        (server.folder / "dump.rdb").mkdir()  # so that it can't be written
        client.config_set("save", "3600 1")
        client.bgsave()
        while client.info("persistence")["rdb_last_bgsave_status"] == "ok":
            pass
        refused = command_here("cluster", "stop", "--url", server.url)
        assert_told(refused, AWAY, "MISCONF")
        assert "can't save its data" in command_here("cluster", "status", "--json", "--url", server.url).out


def test_who_makes_a_crawl_is_told_how_machines_reach_its_server(tmp_path: Path) -> None:
    site, password = tmp_path / "site.toml", tmp_path / "the password"
    site.write_text('[crawl]\nseeds = ["http://a.test/"]\n')
    password.write_text("secret")
    with running_redis() as server, redis.Redis.from_url(server.url) as client:
        client.config_set("requirepass", "secret")
        settings = ["--url", server.url, "--set", f"exchange.password_file={password}"]
        told = command_here("cluster", "init", str(site), "--parts", "2", *settings)
        client.execute_command("AUTH", "secret")
        client.config_set("requirepass", "")
    command = f"onceover crawl --cluster {server.url} --set exchange.password_file='{password}' --dir DIR"
    assert_told(told, COMPLETE)
    assert command in told.out


def test_a_machine_goes_on_with_the_server_and_the_prefix_of_its_crawl(tmp_path: Path) -> None:
    directory = made(tmp_path)
    go_on = f"onceover crawl --cluster redis://127.0.0.1/0 --set exchange.prefix=test --dir {directory}"
    assert how_to_go_on(directory) == go_on
    assert " ".join(command_here("status", str(directory)).out.split()).startswith(
        f"{directory} does not run. To go on: {go_on}"
    )
    assert_told(command_here("crawl", "--dir", str(directory)), REFUSED, go_on)
    assert how_to_go_on(tmp_path) == f"onceover crawl --dir {tmp_path}"
    # `onceover stop` would leave the other machines running.
    assert how_to_start_again(directory).startswith(f"onceover cluster stop {directory}, then on each machine ")
    assert how_to_start_again(directory).endswith(f"here {go_on}")
    assert how_to_start_again(tmp_path) == f"onceover stop {tmp_path}, then onceover crawl --dir {tmp_path}"


def test_a_machine_goes_on_with_all_that_it_needed_to_reach_the_server(tmp_path: Path) -> None:
    directory = made(tmp_path)
    settings = CrawlDirectory(directory).configuration
    reaching = {"exchange.url": "rediss://127.0.0.1/0", "exchange.backend": "redis", "exchange.tls_ca": "the ca.pem"}
    options = {key: ("a test", value) for key, value in reaching.items()}
    settings.write_text(render_toml(load(settings, options=options, environ={}).lasting))
    assert how_to_go_on(directory).endswith(f" --set exchange.tls_ca='the ca.pem' --dir {directory}")
    settings.write_text("[exchange]\ntls_ca = 7\n")
    assert how_to_go_on(directory).endswith(f"prefix=test --dir {directory}")
    settings.write_bytes(b"\xff[")
    assert how_to_go_on(directory).endswith(f"prefix=test --dir {directory}")


def _reached(url: str) -> Loaded:
    options = {
        "exchange.url": ("a test", url),
        "exchange.prefix": ("a test", "test"),
        "exchange.backend": ("a test", "redis"),
    }
    return load(None, options=options, environ={}, require_seeds=False)


async def _tell_of_parts(directory: Path, url: str, until: str, listed: str) -> tuple[list[str], Cluster]:
    """What a machine that runs one part says until `until`, and then until Redis lists it with `listed`."""
    told = list[str]()
    told_enough = asyncio.Event()

    def tell(text: str) -> None:
        told.append(text)
        if until in text:
            told_enough.set()

    async with join(_reached(url), directory, on_wait=tell) as joined:
        exchange = await RedisExchange.begin(joined.server, "agent", prefix=joined.exchange_prefix, wire=WIRE)
        agent = CrawlAgent(joined, exchange, max_parts=1, tell=tell)
        running = asyncio.create_task(agent.run())
        async with asyncio.timeout(MAX_WAIT_S):
            await told_enough.wait()
            while listed not in str((cluster := await joined.register.read()).agents):  # noqa: ASYNC110
                await asyncio.sleep(0.1)
        agent.stop(Ending.SIGNAL)
        await running
        await exchange.aclose()
    return told, cluster


def test_a_machine_says_what_redis_has_forgotten_and_which_parts_it_has_no_room_for(
    tmp_path: Path, server: RedisServer
) -> None:
    told, cluster = asyncio.run(_tell_of_parts(made(tmp_path), server.url, "--max-parts", "--max-parts"))
    assert "has no register of this crawl" in told[0]
    assert told[1:] == ["part 2 waits: this machine runs no more than 1 part (--max-parts)."]
    [agent] = cluster.agents.values()
    assert agent.parts == {0: "waits for its lease", 2: "this machine runs no more than 1 part (--max-parts)"}


async def _take_over(directory: Path, url: str) -> list[int | None]:
    """The limits of pages that a machine works with: first, as another has changed it, and as another has changed it
    who did not know of that, because a failover of Redis had lost it."""

    def with_pages(pages: int) -> str:
        seeds = [f"http://{HOSTS[0]}/"]
        changed = {"crawl.seeds": seeds, "crawl.parts": 3, "limits.pages": pages}
        options = {key: ("a test", value) for key, value in changed.items()}
        return render_toml(load(None, options=options, environ={}).lasting)

    async with join(_reached(url), directory, on_wait=lambda _: None) as joined:
        known = joined.cluster.identity
        found = [joined.plan.loaded.config.limits.pages]

        async def learn() -> None:
            cluster = await joined.register.read()
            joined.home.learn(cluster)
            joined.learn(cluster)
            found.append(joined.plan.loaded.config.limits.pages)

        await joined.register.replace_configuration(with_pages(7), known.configuration_version + 1)
        await learn()
        with redis.Redis.from_url(url) as client:
            place = f"{{test:{known.generation}:cluster}}:register"
            client.hset(place, "configuration_version", known.configuration_version)
        await joined.register.replace_configuration(with_pages(8), known.configuration_version + 1)
        await learn()
    return found


def test_a_machine_takes_over_what_redis_says_now_of_a_version_that_it_knew(
    tmp_path: Path, server: RedisServer
) -> None:
    assert asyncio.run(_take_over(made(tmp_path), server.url)) == [None, 7, 8]


async def _run_a_part_while_no_exchange_begins(directory: Path, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    begins, runs = asyncio.Event(), asyncio.Event()

    async def hang(*_: object, **__: object) -> None:
        begins.set()
        await asyncio.Event().wait()

    async with join(_reached(url), directory, on_wait=lambda _: None) as joined:
        exchange = await RedisExchange.begin(joined.server, "agent", prefix=joined.exchange_prefix, wire=WIRE)
        agent = CrawlAgent(joined, exchange, max_parts=1, tell=lambda _: None)
        monkeypatch.setattr(RedisExchange, "begin", hang)
        monkeypatch.setattr(agent.here, "run", lambda _: runs.set())
        running = asyncio.create_task(agent.run())
        async with asyncio.timeout(MAX_WAIT_S):
            await begins.wait()
            await runs.wait()
        agent.stop(Ending.SIGNAL)
        await running
        await exchange.aclose()


def test_a_machine_that_is_about_to_decide_follows_its_leases_meanwhile(
    tmp_path: Path, server: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Redis may answer those that are connected, and nobody else, as when it has no room for more connections."""
    asyncio.run(_run_a_part_while_no_exchange_begins(made(tmp_path), server.url, monkeypatch))


async def _decide_twice(directory: Path, url: str, monkeypatch: pytest.MonkeyPatch) -> list[list[int]]:
    """The parts that are taken for ones without a process by a machine that decides, then does not for long, and then
    decides again."""
    now, found = 100.0, list[list[int]]()
    monkeypatch.setattr("crawler.supervise.cluster.deciding.boottime", lambda: now)
    monkeypatch.setattr(CoordinatorServer, "look", lambda _, parts: found.append(parts))
    async with join(_reached(url), directory, on_wait=lambda _: None) as joined:
        home = MemoryHome()
        keeper = LeaseKeeper(joined.register, home, "a", choose=lambda *_: [Wanted(part=COORDINATOR)], lease_s=1.0)
        deciding = Deciding(joined, keeper, on_failure=lambda _: None)
        async with in_background(keeper.run()), asyncio.timeout(MAX_WAIT_S):
            while not isinstance(await keeper.next_change(), Held):
                pass
            for _ in range(2):
                deciding.begin(run=RunState(), after="")
                looked = len(found)
                while len(found) == looked:
                    await asyncio.sleep(0.01)
                    deciding.look(await joined.register.read())
                await deciding.end()
                now += 1000.0
    return found


def test_a_machine_that_decides_again_does_not_trust_what_it_saw_when_it_last_did(
    tmp_path: Path, server: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert asyncio.run(_decide_twice(made(tmp_path), server.url, monkeypatch)) == [[], []]


async def _ask_status(directory: Path, url: str, *, ran: WatchedPart | None) -> CrawlStatus | Refusal:
    """What a machine answers that has a part which `ran` and runs none now."""
    async with join(_reached(url), directory, on_wait=lambda _: None) as joined:
        exchange = await RedisExchange.begin(joined.server, "agent", prefix=joined.exchange_prefix, wire=WIRE)
        agent = CrawlAgent(joined, exchange, max_parts=1, tell=lambda _: None)
        agent.here.watched.update({} if ran is None else {0: ran})
        async with in_background(answer_operator(agent, stop=lambda _: None)), asyncio.timeout(MAX_WAIT_S):
            while not (directory / "control").exists():  # noqa: ASYNC110
                await asyncio.sleep(0.01)
            async with open_channel(directory) as channel:
                assert channel is not None
                reply = await channel.ask(GetStatus())
        await exchange.aclose()
    return reply


def test_a_machine_that_has_no_part_yet_names_no_reason_of_parts(tmp_path: Path, server: RedisServer) -> None:
    directory = made(tmp_path)
    for part in HERE:
        shutil.rmtree(directory / f"part-{part}")
    refusal = asyncio.run(_ask_status(directory, server.url, ran=None))
    assert isinstance(refusal, Refusal)
    assert "no part of the crawl runs on this machine now; `onceover cluster" in refusal.message


def test_a_machine_that_runs_no_part_says_why_and_what_it_has_done(tmp_path: Path, server: RedisServer) -> None:
    directory = made(tmp_path)
    refusal = asyncio.run(_ask_status(directory, server.url, ran=None))
    assert isinstance(refusal, Refusal)
    assert "no part of the crawl runs on this machine now (waits for its lease); `onceover cluster" in refusal.message
    ran = WatchedPart()
    ran.begin(lambda _: None, pid=None)
    ran.open(opened())
    Reporter(lambda _: None).take(0, ran, Progress(status=status(pages=5), is_idle=True, paused="rain"))
    ran.end("its lease was lost: Redis is away")
    found = asyncio.run(_ask_status(directory, server.url, ran=ran))
    assert isinstance(found, CrawlStatus)
    assert found.run is not None
    assert (found.running, found.paused, found.run.pages) == (True, "rain", 5)
    assert found.run.waiting == "the part does not run: its lease was lost: Redis is away"
    errors = [(each.part, each.error) for each in found.parts or ()]
    assert errors == [(0, "its lease was lost: Redis is away"), (2, "waits for its lease")]
    text = "\n".join(status_lines(found, directory))
    assert "part 0  its lease was lost: Redis is away" in text


async def _wait_until_nothing_is_left(directory: Path, url: str, ran: WatchedPart) -> CrawlAgent:
    """A machine on which `ran` was part 0 before another machine has opened it."""
    async with join(_reached(url), directory, on_wait=lambda _: None) as joined:
        other = await joined.register.claim(0, holder="b", claim="b", stored=1, makes=False, lease_s=3600)
        assert isinstance(other, Granted)
        assert await joined.register.confirm(0, claim="b", epoch=other.epoch, lease_s=3600)
        exchange = await RedisExchange.begin(joined.server, "agent", prefix=joined.exchange_prefix, wire=WIRE)
        agent = CrawlAgent(joined, exchange, max_parts=0, tell=lambda _: None)
        agent.here.watched[0] = ran
        running = asyncio.create_task(agent.run())
        async with asyncio.timeout(MAX_WAIT_S):
            while (found := agent.status()) is None or found.frontier.admitted:  # noqa: ASYNC110
                await asyncio.sleep(0.01)
        agent.stop(Ending.SIGNAL)
        await running
        await exchange.aclose()
    return agent


def test_a_machine_counts_nothing_that_is_left_of_a_part_which_another_has_opened(
    tmp_path: Path, server: RedisServer
) -> None:
    ran = WatchedPart()
    ran.begin(lambda _: None, pid=None)
    ran.open(opened())
    ran.note(status(pages=5))
    ran.end("its lease was lost: Redis is away")
    agent = asyncio.run(_wait_until_nothing_is_left(made(tmp_path), server.url, ran))
    found = agent.status()
    assert found is not None
    assert found.pages == 5


async def _join(directory: Path, url: str) -> list[str]:
    """What a machine says when it joins its crawl."""
    told = list[str]()
    async with join(_reached(url), directory, on_wait=told.append):
        return told


def test_a_machine_says_that_redis_has_other_settings_than_it_had_alone(tmp_path: Path, server: RedisServer) -> None:
    directory = made(tmp_path)
    asyncio.run(_join(directory, server.url))
    file = directory / "crawl.toml"
    before = file.read_text()
    file.write_text(f"{before}\n[limits]\nseconds = 9\n")
    [told] = asyncio.run(_join(directory, server.url))
    assert told.startswith(f"{file} had other settings than Redis has for all machines, and has these now. ")
    assert file.read_text() == before
    assert asyncio.run(_join(directory, server.url)) == []


def test_a_machine_says_which_of_its_directories_were_replaced_by_adopting_their_part(
    tmp_path: Path, server: RedisServer
) -> None:
    directory = made(tmp_path)
    layout = read_layout(directory)
    assert layout is not None
    adopted = msgspec.structs.replace(layout.parts[0], lineage=4)
    write_layout(directory, msgspec.structs.replace(layout, parts=(adopted, *layout.parts[1:]), next_lineage=5))
    told, cluster = asyncio.run(_tell_of_parts(directory, server.url, "was adopted", "waits for its lease"))
    assert told[1] == f"part 0 was adopted: {directory / 'part-0'} can't be opened any more, only read."
    [agent] = cluster.agents.values()
    assert list(agent.parts) == [2]
    stopped = " ".join(command_here("status", str(directory)).out.split())
    assert "which has lineage 4 now, as after `onceover cluster adopt`" in stopped

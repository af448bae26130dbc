"""Crawls that share a set on a real server, which forgets all, or a part: each URL is fetched by one of them."""

import asyncio
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import redis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from crawler.testing.visited.making import domain_of, host_of
from crawler.wiring.components.remembering import connect_redis
from frontier.memory.store import MemoryStore
from frontier.snapshots.filling import fill
from frontier.store import Store
from tests.redis_server import RedisServer, running_redis
from visited import Crawl, Forgotten, Incomplete
from visited.backends import descriptor
from visited.descriptor import Parameters
from visited.making import make_set
from visited.redis.joining import Joining
from visited.redis.redis_set import RedisSet

URLS = 24
ACTIONS = ("ask", "ask", "ask", "ask", "stop", "start", "crash", "die", "flush", "restart", "copy", "lag")
HISTORIES = st.lists(
    st.tuples(st.sampled_from(ACTIONS), st.integers(0, 3), st.sets(st.integers(0, URLS - 1), min_size=1, max_size=4)),
    min_size=4,
    max_size=40,
)
FORMS: list[tuple[str, dict[str, object]]] = [
    ("redis-exact", {}),
    ("redis-dsbf", {"leaf_bits": 8192}),
    ("redis-set", {}),
    ("redis-keys", {}),
]


@pytest.fixture(scope="module")
def server() -> Iterator[RedisServer]:
    with running_redis("--appendonly", "yes") as running:
        yield running


def url(number: int) -> str:
    return f"http://a.example/{number}"


class Sharing:
    """A crawl, as far as it concerns the set."""

    def __init__(self, world: "World", directory: Path) -> None:
        self._world = world
        self.directory = directory
        self.store: Store = MemoryStore()
        self.ledger: set[str] = set()
        self.claims: list[str] = []
        self.visited: RedisSet | None = None

    async def start(self) -> None:
        if self.visited is None:
            self.visited = self._world.made(self.directory)
            await self._fill(self.visited)
            await self.visited.fill(self.claims)
            self._admit(self.claims)
            self.claims = []

    async def _fill(self, visited: RedisSet) -> None:
        self.store.reads.ledger = lambda: iter(sorted(self.ledger))  # type: ignore[method-assign]
        await fill(self.store, visited)

    def _admit(self, urls: list[str]) -> None:
        self.ledger |= set(urls)

    async def stop(self) -> None:
        if self.visited is not None:
            await self.visited.aclose()
            self.visited = None

    async def ask(self, urls: list[str], *, crashes: bool = False) -> bool:
        """Ask, and if it `crashes`, admit nothing. Returns whether there was an answer, or it has to wait."""
        await self.start()
        assert self.visited is not None
        for _ in range(2):
            try:
                answers = await self.visited.add_many(urls)
            except Forgotten:
                await self._fill(self.visited)
            except Incomplete:
                return False
            else:
                if crashes:
                    self.claims = urls
                    self._world.claimed |= set(urls)
                    await self.visited._channel.aclose()
                    self.visited = None
                else:
                    self._admit([each for each, is_new in zip(urls, answers, strict=True) if is_new])
                return True
        raise AssertionError("it has forgotten twice")


class World:
    """A server, and the crawls that share a set there."""

    def __init__(self, folder: Path, server: RedisServer, form: tuple[str, dict[str, object]]) -> None:
        self._folder = folder
        self._server = server
        self._name, self._options = form
        self._client = redis.Redis.from_url(server.url)
        self._client.flushall()
        self._copy: dict[Any, Any] = {}
        self._restarts = 0
        self.crawls: dict[int, Sharing] = {}
        self.dead: list[Path] = []
        self.shown: set[str] = set()
        self.claimed: set[str] = set()
        self.buried: set[str] = set()
        """What crawls have fetched that are gone."""

    def made(self, directory: Path) -> RedisSet:
        parameters = Parameters(
            capacity=300,
            error_rate=1e-9,
            directory=directory,
            site_of=host_of,
            domain_of=domain_of,
            connect=connect_redis,
            crawl=Crawl(directory=directory, host="here", meeting=self._folder / "pace.crawls"),
        )
        options = {"url": self._server.url, "share": "test", **self._options}
        made = make_set(descriptor(self._name), parameters, options)
        assert isinstance(made, RedisSet)
        channel = made._channel
        connect = channel.connect

        async def connect_to_life() -> str:
            return f"{await connect()}-{self._restarts}"

        channel.connect = connect_to_life  # type: ignore[method-assign]
        return made

    async def do(self, action: str, number: int, urls: list[str]) -> None:
        if action in ("ask", "crash", "start"):
            crawl = self.crawls.setdefault(number, Sharing(self, self._folder / f"{number}-{len(self.dead)}"))
            if action == "start":
                await crawl.start()
            elif await crawl.ask(urls, crashes=action == "crash"):
                self.shown |= set(urls)
        elif action == "stop" and number in self.crawls:
            await self.crawls[number].stop()
        elif action == "die" and number in self.crawls:
            crawl = self.crawls.pop(number)
            await crawl.stop()
            self.dead.append(crawl.directory)
            self.buried |= crawl.ledger | set(crawl.claims)
            await self.say_gone()
        elif action == "flush":
            self._client.flushall()
        elif action == "restart":
            await self._end_connections()
        elif action == "copy":
            self._copy = {key: self._client.dump(key) for key in self._client.keys()}  # noqa: SIM118
        elif action == "lag":
            self._client.flushall()
            for key, content in self._copy.items():
                self._client.restore(key, 0, content)
            await self._end_connections()

    async def say_gone(self) -> None:
        gone = [(next(directory.rglob("me"))).read_text() for directory in self.dead if [*directory.rglob("me")]]
        asking = self.made(self._folder / "operator")
        await asking.sharers(gone=gone)
        await asking.aclose()

    async def _end_connections(self) -> None:
        self._restarts += 1
        for crawl in self.crawls.values():
            if crawl.visited is not None:
                await crawl.visited._channel.aclose()

    async def settle(self) -> None:
        """Let all go on until none has to wait."""
        await self.say_gone()
        for crawl in self.crawls.values():
            await crawl.start()
        for crawl in self.crawls.values():
            await crawl.ask([url(URLS)])
        for crawl in self.crawls.values():
            assert await crawl.ask([url(URLS)])

    def check(self) -> None:
        ledgers = Counter(each for crawl in self.crawls.values() for each in crawl.ledger)
        assert self.shown <= set(ledgers) | self.buried
        assert {each for each, times in ledgers.items() if times > 1} <= self.claimed

    async def close(self) -> None:
        for crawl in self.crawls.values():
            await crawl.stop()
        self._client.close()


async def live(
    server: RedisServer, form: tuple[str, dict[str, object]], history: list[tuple[str, int, set[int]]]
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        world = World(Path(folder), server, form)
        try:
            for action, number, urls in history:
                await world.do(action, number, [url(each) for each in sorted(urls)])
            await world.settle()
            world.check()
        finally:
            await world.close()


@pytest.mark.parametrize("form", FORMS)
@settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    derandomize=True,
    database=None,
    phases=(Phase.generate,),
)
@given(history=HISTORIES)
def test_a_url_is_fetched_by_one_crawl_whatever_the_server_forgets(
    server: RedisServer, form: tuple[str, dict[str, object]], history: list[tuple[str, int, set[int]]]
) -> None:
    asyncio.run(live(server, form, history))


@pytest.mark.long
@pytest.mark.parametrize("form", FORMS)
@settings(max_examples=500, deadline=None, suppress_health_check=list(HealthCheck), database=None)
@given(history=HISTORIES)
def test_a_url_is_fetched_by_one_crawl_in_many_histories(
    server: RedisServer, form: tuple[str, dict[str, object]], history: list[tuple[str, int, set[int]]]
) -> None:
    asyncio.run(live(server, form, history))


async def test_without_the_rule_a_url_is_fetched_twice(server: RedisServer, monkeypatch: pytest.MonkeyPatch) -> None:
    history: list[tuple[str, int, set[int]]] = [
        ("ask", 0, {1, 2}),
        ("ask", 1, {3, 4}),
        ("flush", 0, set()),
        ("ask", 0, {4, 5}),
        ("ask", 1, {1, 5}),
    ]
    await live(server, FORMS[0], history)

    async def ask_at_once(_: Joining) -> None:
        return

    monkeypatch.setattr(Joining, "check_holders", ask_at_once)
    with pytest.raises(AssertionError):
        await live(server, FORMS[0], history)


async def test_a_crawl_waits_for_those_who_joined_while_it_did_not_run(tmp_path: Path, server: RedisServer) -> None:
    """On one machine they leave word in its directory, so it knows them even if the server has lost all."""
    world = World(tmp_path, server, FORMS[0])
    for action, number in (("ask", 0), ("stop", 0), ("ask", 1), ("stop", 1), ("flush", 0)):
        await world.do(action, number, [url(number)])
    first, second = world.crawls[0], world.crawls[1]
    assert not await first.ask([url(1)])
    assert first.visited is not None
    with pytest.raises(
        Incomplete, match=rf"the crawl in .*/1-0 on here \(id [0-9a-f]+\) has not added.*{second.directory} --refill"
    ):
        await first.visited.add_many([url(1)])
    assert await second.ask([url(0)])
    assert await first.ask([url(1), url(2)])
    assert (first.ledger, second.ledger) == ({url(0), url(2)}, {url(1)})
    await world.close()


async def test_who_is_said_to_be_gone_and_comes_again_is_waited_for_again(tmp_path: Path, server: RedisServer) -> None:
    world = World(tmp_path, server, FORMS[0])
    for action, number in (("ask", 0), ("ask", 1), ("stop", 1), ("flush", 0)):
        await world.do(action, number, [url(number)])
    first, second = world.crawls[0], world.crawls[1]
    assert not await first.ask([url(2)])
    assert first.visited is not None
    [waits] = [each for each in await first.visited.sharers() if not each.is_added]
    assert waits.directory == str(second.directory)
    await first.visited.sharers(gone=[waits.id])
    assert await first.ask([url(2)])
    assert await second.ask([url(2), url(3)])
    assert {each.id for each in await first.visited.sharers() if each.is_gone} == {waits.id}
    await second.stop()
    await world.do("flush", 0, [])
    assert not await first.ask([url(4)])
    assert await second.ask([url(4)])
    assert await first.ask([url(5)])
    await world.close()


async def test_a_crawl_that_has_ended_is_waited_for_only_if_its_urls_may_be_lost(
    tmp_path: Path, server: RedisServer
) -> None:
    world = World(tmp_path, server, FORMS[0])
    for action, number in (("ask", 0), ("ask", 1), ("stop", 1), ("copy", 0), ("restart", 0)):
        await world.do(action, number, [url(number)])
    first, second = world.crawls[0], world.crawls[1]
    assert await first.ask([url(1), url(2)])  # what a server loses at a restart was written last
    await second.ask([url(3)])
    await second.stop()
    await world.do("lag", 0, [])  # the copy still has what the second crawl wrote when it was stopped first
    assert not await first.ask([url(3)])
    assert await second.ask([url(2)])
    assert await first.ask([url(3), url(4)])
    assert (first.ledger, second.ledger) == ({url(0), url(2), url(4)}, {url(1), url(3)})
    await world.close()


async def test_a_killed_crawl_is_waited_for_after_a_restart(tmp_path: Path, server: RedisServer) -> None:
    world = World(tmp_path, server, FORMS[0])
    for action, number in (("ask", 0), ("crash", 1), ("restart", 0)):
        await world.do(action, number, [url(number)])
    assert not await world.crawls[0].ask([url(2)])
    await world.crawls[1].start()
    assert await world.crawls[1].ask([url(2)])
    assert await world.crawls[0].ask([url(2)])
    await world.close()

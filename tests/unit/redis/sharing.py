"""Crawls that share a set on a real server, which forgets all, or a part of it."""

import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import redis

from crawler.testing.visited.making import domain_of, host_of
from crawler.wiring.components.visited_servers import connect_redis
from frontier.memory.store import MemoryStore
from frontier.snapshots.restoring import fill
from frontier.store import Store
from tests.redis_server import RedisServer
from visited import Crawl, Forgotten, Incomplete
from visited.backends import descriptor
from visited.descriptor import Parameters
from visited.making import make_set
from visited.redis.redis_set import RedisSet

URLS = 24
History = list[tuple[str, int, set[int]]]
FORMS: list[tuple[str, dict[str, object]]] = [
    ("redis-exact", {}),
    ("redis-dsbf", {"leaf_bits": 8192}),
    ("redis-set", {}),
    ("redis-keys", {}),
]


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

        async def connect_to_life(*, also_full: bool = False) -> str:
            return f"{await connect(also_full=also_full)}-{self._restarts}"

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


async def live(server: RedisServer, form: tuple[str, dict[str, object]], history: History) -> None:
    with tempfile.TemporaryDirectory() as folder:
        world = World(Path(folder), server, form)
        try:
            for action, number, urls in history:
                await world.do(action, number, [url(each) for each in sorted(urls)])
            await world.settle()
            world.check()
        finally:
            await world.close()

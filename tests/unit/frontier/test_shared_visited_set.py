"""A frontier whose visited set lies on a server: what is asked is neither lost nor fetched twice, whatever fails."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
import redis

from crawler.testing.frontier.crawls import entry_of
from crawler.testing.timeouts import MAX_WAIT_S
from crawler.testing.visited.making import domain_of, host_of
from crawler.wiring.components.visited_servers import connect_redis
from frontier.leveldb.store import LevelDBStore
from frontier.shell import QueueFrontier
from frontier.snapshots.saving import Snapshots
from frontier.terms import Terms
from frontier.values import CrawlUrl, StoreFailed, StoreFull
from tests.redis_server import RedisServer, running_redis
from visited import Crawl, LocalSet, Unanswered
from visited.backends import descriptor
from visited.descriptor import Parameters
from visited.digests.exact import ExactSet
from visited.making import make_set
from visited.redis.redis_set import RedisSet


@pytest.fixture
def server() -> Iterator[RedisServer]:
    with running_redis("--appendonly", "yes") as running:
        yield running


def pages(*numbers: int) -> list[CrawlUrl]:
    return [
        CrawlUrl(url=f"http://a.example/{number}", canonical=f"http://a.example/{number}", queue_key="example,a")
        for number in numbers
    ]


def shared(
    server: RedisServer, *, directory: Path | None = None, backend: str = "redis-exact", **more: object
) -> RedisSet:
    """The set that all share; for the crawl in a directory, or for nobody who has a ledger."""
    parameters = Parameters(
        capacity=300,
        error_rate=1e-9,
        directory=None if directory is None else directory / "visited" / "redis",
        site_of=host_of,
        domain_of=domain_of,
        connect=connect_redis,
        recent=10,
        crawl=None if directory is None else Crawl(directory=directory, host="here"),
    )
    made: LocalSet = make_set(descriptor(backend), parameters, {"url": server.url, "share": "test", **more})
    assert isinstance(made, RedisSet)
    return made


class Crawler:
    """One crawl. `die` ends it as a killed process ends: nothing more is written."""

    def __init__(self, directory: Path, server: RedisServer, **options: object) -> None:
        self.directory = directory
        self.visited = shared(server, directory=directory, **options)  # type: ignore[arg-type]

    async def open(self, visited: LocalSet | None = None) -> QueueFrontier:
        self.directory.mkdir(exist_ok=True)
        self.store = LevelDBStore(self.directory / "frontier", Terms(identity={}))
        self.frontier = await QueueFrontier.open(
            self.store, visited or self.visited, snapshots=Snapshots(self.directory / "visited", every=10)
        )
        return self.frontier

    async def die(self) -> None:
        self.store.close()
        await self.visited.aclose()

    async def close(self) -> None:
        await self.frontier.aclose()
        await self.visited.aclose()

    @property
    def ledger(self) -> list[str]:
        return [canonical.rpartition("/")[2] for canonical in self.store.reads.ledger()]


async def test_crawls_that_share_a_set_divide_the_urls(tmp_path: Path, server: RedisServer) -> None:
    first, second = Crawler(tmp_path / "1", server), Crawler(tmp_path / "2", server)
    assert await (await first.open()).add(pages(1, 2, 3)) == 3
    assert await (await second.open()).add(pages(2, 3, 4)) == 1
    assert (first.ledger, second.ledger) == (["1", "2", "3"], ["4"])
    assert not first.store.claims.is_open
    assert not second.store.claims.is_open
    for each in (first, second):
        await each.close()


async def test_a_url_that_was_asked_before_a_crash_is_admitted_afterwards(tmp_path: Path, server: RedisServer) -> None:
    first = Crawler(tmp_path / "1", server)
    frontier = await first.open()
    await frontier.add(pages(1))
    # The crash comes between the answer of the server and the batch of the frontier.
    first.store.claims.put(pages(1, 2, 3))
    assert await first.visited.add_many([page.canonical for page in pages(1, 2, 3)]) == [False, True, True]
    await first.die()
    again = Crawler(tmp_path / "1", server)
    await again.open()
    assert again.ledger == ["1", "2", "3"]
    assert not again.store.claims.is_open
    second = Crawler(tmp_path / "2", server)
    assert await (await second.open()).add(pages(1, 2, 3)) == 0
    for each in (again, second):
        await each.close()


async def test_claims_are_admitted_also_if_the_set_is_a_local_one_by_then(tmp_path: Path, server: RedisServer) -> None:
    first = Crawler(tmp_path / "1", server)
    await (await first.open()).add(pages(1))
    first.store.claims.put(pages(1, 2))
    await first.die()
    again = Crawler(tmp_path / "1", server)
    frontier = await again.open(ExactSet())
    assert again.ledger == ["1", "2"]
    assert await frontier.add(pages(3)) == 1
    await frontier.aclose()
    # The server was not told of it, and is now.
    once_more = Crawler(tmp_path / "1", server)
    await once_more.open()
    assert await shared_answers(server, 1, 2, 3, 4) == [False, False, False, True]
    await once_more.close()


async def shared_answers(server: RedisServer, *numbers: int, **options: object) -> list[bool]:
    visited = shared(server, **options)  # type: ignore[arg-type]
    try:
        return await visited.add_many([page.canonical for page in pages(*numbers)])
    finally:
        await visited.aclose()


async def test_what_was_asked_when_the_answer_was_lost_is_fetched_here(tmp_path: Path, server: RedisServer) -> None:
    """The script ran, and the connection died: to ask again would call each URL known."""
    first = Crawler(tmp_path / "1", server)
    frontier = await first.open()
    run, channel = first.visited._channel.run, first.visited._channel
    lost: list[object] = []

    async def run_and_lose(step: object) -> object:
        if not lost:
            lost.append(await run(step))  # type: ignore[arg-type]
            raise Unanswered("the connection died")
        return await run(step)  # type: ignore[arg-type]

    channel.run = run_and_lose  # type: ignore[method-assign]
    assert await frontier.add(pages(1, 2, 1)) == 2
    assert lost
    assert first.ledger == ["1", "2"]
    assert await frontier.add(pages(1, 2, 3)) == 1
    await first.close()


async def test_a_whole_set_is_not_filled_again_and_one_that_forgot_is(tmp_path: Path, server: RedisServer) -> None:
    first = Crawler(tmp_path / "1", server)
    await (await first.open()).add(pages(*range(30)))
    await first.close()
    commands = _commands(server)
    again = Crawler(tmp_path / "1", server)
    frontier = await again.open()
    assert _commands(server) == commands  # nothing was added
    with redis.Redis.from_url(server.url) as client:
        client.flushall()
    assert await frontier.add(pages(*range(32))) == 2
    assert await shared_answers(server, *range(33)) == [False] * 32 + [True]
    await again.close()


async def reason_to_wait(frontier: QueueFrontier) -> str:
    paused = asyncio.Event()
    pause = frontier.pauses.pause

    def note(reason: str, /, *, by: str) -> None:
        pause(reason, by=by)
        paused.set()

    frontier.pauses.pause = note  # type: ignore[method-assign]
    if frontier.pauses.reason is None:
        async with asyncio.timeout(MAX_WAIT_S):
            await paused.wait()
    reason = frontier.pauses.reason
    assert reason is not None
    return reason


def _commands(server: RedisServer) -> int:
    with redis.Redis.from_url(server.url) as client:
        stats = client.info("commandstats")
        return int(stats.get("cmdstat_sadd", {}).get("calls", 0))


async def test_a_crawl_waits_while_the_server_is_gone_and_says_so(tmp_path: Path, server: RedisServer) -> None:
    first = Crawler(tmp_path / "1", server)
    frontier = await first.open()
    await frontier.add(pages(1))
    server.kill()
    adding = asyncio.create_task(frontier.add(pages(1, 2)))
    assert "the visited set can't be asked: Redis" in await reason_to_wait(frontier)
    assert not adding.done()
    await asyncio.to_thread(server.start, "--appendonly", "yes")
    async with asyncio.timeout(MAX_WAIT_S):
        assert await adding == 1
    assert frontier.pauses.reason is None
    assert first.ledger == ["1", "2"]
    await first.close()


async def test_who_is_cancelled_behind_a_crawl_that_waits_ends_only_its_own_wait(
    tmp_path: Path, server: RedisServer
) -> None:
    first = Crawler(tmp_path / "1", server)
    frontier = await first.open()
    server.kill()
    adding = asyncio.create_task(frontier.add(pages(1)))
    await reason_to_wait(frontier)
    behind = asyncio.create_task(frontier.add(pages(2)))
    await asyncio.sleep(0)
    behind.cancel()
    with pytest.raises(asyncio.CancelledError):
        await behind
    await asyncio.to_thread(server.start, "--appendonly", "yes")
    async with asyncio.timeout(MAX_WAIT_S):
        assert await adding == 1
    assert await frontier.add(pages(3)) == 1
    assert first.ledger == ["1", "3"]
    await first.close()


async def test_a_crawl_that_is_stopped_while_it_waits_ends_and_loses_nothing(
    tmp_path: Path, server: RedisServer
) -> None:
    first = Crawler(tmp_path / "1", server)
    frontier = await first.open()
    await frontier.add(pages(1))
    server.kill()
    adding = asyncio.create_task(frontier.add(pages(2)))
    await reason_to_wait(frontier)
    frontier.stop()
    with pytest.raises(StoreFull):
        await adding
    await first.close()
    await asyncio.to_thread(server.start, "--appendonly", "yes")
    again = Crawler(tmp_path / "1", server)
    await (await again.open()).add(pages(2))
    assert again.ledger == ["1", "2"]
    await again.close()


async def test_a_crawl_whose_answer_is_lost_after_the_stop_asks_nothing_more_and_loses_nothing(
    tmp_path: Path, server: RedisServer
) -> None:
    first = Crawler(tmp_path / "1", server)
    frontier = await first.open()
    await frontier.add(pages(1))
    await frontier.add(pages(1))
    run, channel = first.visited._channel.run, first.visited._channel
    asked: list[object] = []

    async def run_and_lose(step: object) -> object:
        asked.append(await run(step))  # type: ignore[arg-type]
        frontier.stop()
        server.kill()
        raise Unanswered("the connection died")

    channel.run = run_and_lose  # type: ignore[method-assign]
    channel.connect = run_and_lose  # type: ignore[method-assign, assignment]
    outcomes = await asyncio.gather(
        frontier.add(pages(2, 3)), frontier.add(pages(4)), frontier.forget(["1"]), return_exceptions=True
    )
    assert [type(each) for each in outcomes] == [StoreFull, StoreFailed, StoreFailed]
    assert len(asked) == 1
    await first.close()
    await asyncio.to_thread(server.start, "--appendonly", "yes")
    again = Crawler(tmp_path / "1", server)
    frontier = await again.open()
    assert again.ledger == ["1", "2", "3"]
    entry = await entry_of(frontier, pages(1)[0].canonical)
    assert entry.hit_count == 2
    assert await shared_answers(server, 2, 3, 4) == [False, False, True]
    await again.close()


async def test_who_asks_after_a_stop_behind_one_that_got_no_answer_does_not_wait_for_the_server_again(
    tmp_path: Path, server: RedisServer
) -> None:
    first = Crawler(tmp_path / "1", server)
    frontier = await first.open()
    server.kill()
    adding = asyncio.create_task(frontier.add(pages(1)))
    await reason_to_wait(frontier)
    frontier.stop()
    connected: list[None] = []

    async def connect(**_options: object) -> str:
        connected.append(None)
        raise Unanswered("it hangs")

    with pytest.raises(StoreFull):
        await adding
    first.visited._channel.connect = connect  # type: ignore[method-assign]
    with pytest.raises(StoreFull):
        await frontier.add(pages(2))
    assert not connected
    assert not first.store.claims.is_open
    await first.close()


async def test_forgotten_urls_are_new_to_all(tmp_path: Path, server: RedisServer) -> None:
    first, second = Crawler(tmp_path / "1", server), Crawler(tmp_path / "2", server)
    frontier, other = await first.open(), await second.open()
    assert await frontier.add(pages(1)) == 1
    assert await frontier.forget([pages(1)[0].canonical]) == 0  # it waits
    assert await other.add(pages(1)) == 0
    for each in (first, second):
        await each.close()


async def test_damaged_claims_stop_the_opening(tmp_path: Path, server: RedisServer) -> None:
    first = Crawler(tmp_path / "1", server)
    await (await first.open()).add(pages(1))
    first.store.database._db.put(b"Mclaims", b"\xc1")
    await first.die()
    again = Crawler(tmp_path / "1", server)
    with pytest.raises(StoreFailed, match=r"is damaged: what it has asked the visited set.*--repair"):
        await again.open()
    await again.die()


async def test_a_set_that_can_not_be_used_any_more_ends_the_crawl_with_what_to_do_and_loses_nothing(
    tmp_path: Path, server: RedisServer
) -> None:
    first = Crawler(tmp_path / "1", server)
    frontier = await first.open()
    await frontier.add(pages(1))
    with redis.Redis.from_url(server.url) as client:
        client.set("{onceover:visited:test}:set", "of another program")
        with pytest.raises(StoreFailed, match=r"something else in .*choose another set, and start the crawl again"):
            await frontier.add(pages(2, 3))
        await first.die()
        client.delete("{onceover:visited:test}:set")
    again = Crawler(tmp_path / "1", server)
    await again.open()
    assert again.ledger == ["1", "2", "3"]
    await again.close()

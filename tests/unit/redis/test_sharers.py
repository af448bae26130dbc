"""Crawls that share a set on a real server, which forgets all, or a part: each URL is fetched by one of them."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
import redis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from crawler.testing.timeouts import MAX_WAIT_S
from tests.redis_server import RedisServer, running_redis
from tests.unit.frontier.test_shared_visited_set import Crawler, pages, reason_to_wait
from tests.unit.redis.sharing import FORMS, URLS, History, World, live, url
from visited import Incomplete
from visited.redis.joining import Joining

ACTIONS = ("ask", "ask", "ask", "ask", "stop", "start", "crash", "die", "flush", "restart", "copy", "lag")
HISTORIES = st.lists(
    st.tuples(st.sampled_from(ACTIONS), st.integers(0, 3), st.sets(st.integers(0, URLS - 1), min_size=1, max_size=4)),
    min_size=4,
    max_size=40,
)


@pytest.fixture(scope="module")
def server() -> Iterator[RedisServer]:
    with running_redis("--appendonly", "yes") as running:
        yield running


@pytest.mark.parametrize("form", FORMS)
@settings(
    max_examples=12,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    derandomize=True,
    database=None,
    phases=(Phase.generate,),
)
@given(history=HISTORIES)
def test_a_url_is_fetched_by_one_crawl_whatever_the_server_forgets(
    server: RedisServer, form: tuple[str, dict[str, object]], history: History
) -> None:
    asyncio.run(live(server, form, history))


@pytest.mark.long
@pytest.mark.parametrize("form", FORMS)
@settings(max_examples=500, deadline=None, suppress_health_check=list(HealthCheck), database=None)
@given(history=HISTORIES)
def test_a_url_is_fetched_by_one_crawl_in_many_histories(
    server: RedisServer, form: tuple[str, dict[str, object]], history: History
) -> None:
    asyncio.run(live(server, form, history))


async def test_without_the_rule_a_url_is_fetched_twice(server: RedisServer, monkeypatch: pytest.MonkeyPatch) -> None:
    history: History = [
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


async def test_others_go_on_after_a_crawl_was_tended_that_asks_nothing(tmp_path: Path, server: RedisServer) -> None:
    with redis.Redis.from_url(server.url) as client:
        client.flushall()
        asking, idle = Crawler(tmp_path / "asking", server), Crawler(tmp_path / "idle", server)
        await (await asking.open()).add(pages(1))
        frontier = await idle.open()
        await frontier.add(pages(2))
        await asking.frontier.add(pages(3))  # so both know each other
        client.flushall()
        adding = asyncio.create_task(asking.frontier.add(pages(2, 4)))
        assert f"onceover sharing {idle.directory} --refill" in await reason_to_wait(asking.frontier)
        await frontier.tend()
        async with asyncio.timeout(MAX_WAIT_S):
            assert await adding == 1
        await frontier.tend()  # nothing is to be done
    assert (asking.ledger, idle.ledger) == (["1", "3", "4"], ["2"])
    for each in (asking, idle):
        await each.close()


async def test_who_is_tended_notices_that_the_server_was_a_replica_meanwhile(
    tmp_path: Path, server: RedisServer
) -> None:
    """Which begins another history of its data, and ends no connection."""
    with redis.Redis.from_url(server.url) as client:
        client.flushall()
        idle, killed = Crawler(tmp_path / "idle", server), Crawler(tmp_path / "killed", server)
        await (await idle.open()).add(pages(1))
        await (await killed.open()).add(pages(2))
        client.replicaof("127.0.0.1", 1)
        client.replicaof("NO", "ONE")
    await killed.die()
    again = Crawler(tmp_path / "killed", server)
    frontier = await again.open()
    adding = asyncio.create_task(frontier.add(pages(1, 3)))
    assert f"onceover sharing {idle.directory} --refill" in await reason_to_wait(frontier)
    await idle.frontier.tend()
    async with asyncio.timeout(MAX_WAIT_S):
        assert await adding == 1
    for each in (idle, again):
        await each.close()


async def test_tending_neither_ends_nor_pauses_a_crawl_whose_server_is_gone(tmp_path: Path) -> None:
    with running_redis("--appendonly", "yes") as server:
        crawler = Crawler(tmp_path, server)
        frontier = await crawler.open()
        await frontier.add(pages(1))
        server.kill()
        await frontier.tend()
        assert frontier.pauses.reason is None
        await asyncio.to_thread(server.start, "--appendonly", "yes")
        await frontier.tend()
        assert await frontier.add(pages(1, 2)) == 1
        await crawler.close()

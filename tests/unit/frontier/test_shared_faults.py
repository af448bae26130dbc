"""Crawls that share a visited set on a real server, while both fail in every way they can: no URL is lost to all."""

import asyncio
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest
import redis
from redis.crc import key_slot

from crawler.redis.checks import permissions
from crawler.testing.timeouts import MAX_WAIT_S
from tests.redis_nodes import running_nodes
from tests.redis_server import RedisServer, running_redis
from tests.unit.frontier.test_shared_visited_set import Crawler, pages, shared, shared_answers
from visited import Member, Unavailable

FAULTS = ("flush", "restart", "hold", "full", "replica", "crash", "crash")
PERSISTENT = ("--appendonly", "yes")
FORMS: list[dict[str, object]] = [{}, {"backend": "redis-dsbf", "leaf_bits": 8192}]
"""The exact set, and leaves so small that they split often."""


@pytest.fixture
def server() -> Iterator[RedisServer]:
    with running_redis(*PERSISTENT) as running:
        yield running


async def fail(server: RedisServer, fault: str) -> None:
    """Let the server fail until crawls have had their turns."""
    if fault == "restart":
        server.kill()
        await _turns()
        await asyncio.to_thread(server.start, *PERSISTENT)
    elif fault == "hold":
        server.hold()
        await _turns()
        server.go_on()
    else:
        with redis.Redis.from_url(server.url) as client:
            if fault == "flush":
                client.flushall()
            elif fault == "full":
                client.config_set("maxmemory", 1)
                await _turns()
                client.config_set("maxmemory", 0)
            else:
                client.replicaof("127.0.0.1", 1)
                await _turns()
                client.replicaof("NO", "ONE")


async def _turns() -> None:
    for _ in range(50):
        await asyncio.sleep(0.001)


async def storm(folder: Path, server: RedisServer, form: dict[str, object], *, seed: int, faults: int) -> None:
    dice = Random(seed)
    crawlers = [Crawler(folder / str(number), server, **form) for number in range(3)]
    frontiers = [await each.open() for each in crawlers]
    shown: set[int] = set()

    async def show(number: int) -> None:
        batch = [dice.randrange(40 * faults) for _ in range(dice.randint(1, 12))]
        shown.update(batch)
        await frontiers[number].add(pages(*batch))

    def showing() -> list[asyncio.Task[None]]:
        return [asyncio.create_task(show(number)) for number in range(3)]

    async def end(tasks: list[asyncio.Task[None]]) -> None:
        """Others may wait for those that have ended, which are tended as crawls are that ask nothing."""
        while (await asyncio.wait(tasks, timeout=0.1))[1]:
            for task, frontier in zip(tasks, frontiers, strict=True):
                if task.done():
                    await frontier.tend()
        await asyncio.gather(*tasks)

    for _ in range(faults):
        async with asyncio.timeout(MAX_WAIT_S):
            for _ in range(dice.randint(1, 4)):
                await end(showing())
            fault = dice.choice(FAULTS)
            if fault != "crash":
                adding = showing()
                await fail(server, fault)
                await end(adding)
                continue
            victim = dice.randrange(3)
            batch = [dice.randrange(40 * faults) for _ in range(5)]
            shown.update(batch)
            # It dies between the answer of the server and the batch of its frontier.
            crawlers[victim].store.claims.put(pages(*batch))
            await crawlers[victim].visited.fill([page.canonical for page in pages(*batch)])
            await crawlers[victim].die()
            crawlers[victim] = Crawler(folder / str(victim), server, **form)
            frontiers[victim] = await crawlers[victim].open()
    ledgers = Counter(int(url) for each in crawlers for url in each.ledger)
    assert set(ledgers) == shown
    assert not any(each.store.claims.is_open for each in crawlers)
    for each in crawlers:
        counters = each.store.counters
        assert counters.admitted == len(each.ledger)
        await each.close()
    # At the end the server has all of them again.
    for number in range(3):
        crawlers[number] = Crawler(folder / str(number), server, **form)
        await crawlers[number].open()
        await crawlers[number].close()
    assert not any(await shared_answers(server, *sorted(shown), **form))


@pytest.mark.parametrize("form", FORMS)
async def test_no_url_is_lost_whatever_fails(tmp_path: Path, server: RedisServer, form: dict[str, object]) -> None:
    await storm(tmp_path, server, form, seed=3, faults=14)


@pytest.mark.long
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("seed", range(12))
async def test_no_url_is_lost_in_a_storm(
    tmp_path: Path, server: RedisServer, form: dict[str, object], seed: int
) -> None:
    await storm(tmp_path, server, form, seed=seed, faults=120)


@pytest.mark.parametrize("form", FORMS)
async def test_without_a_fault_no_url_is_admitted_twice(
    tmp_path: Path, server: RedisServer, form: dict[str, object]
) -> None:
    dice = Random(1)
    crawlers = [Crawler(tmp_path / str(number), server, **form) for number in range(3)]
    frontiers = [await each.open() for each in crawlers]
    for _ in range(30):
        batches = [[dice.randrange(300) for _ in range(20)] for _ in range(3)]
        await asyncio.gather(*(frontier.add(pages(*batch)) for frontier, batch in zip(frontiers, batches, strict=True)))
    assert max(Counter(url for each in crawlers for url in each.ledger).values()) == 1
    for each in crawlers:
        await each.close()


async def test_a_user_with_the_permissions_that_a_refusal_names_can_use_it(
    server: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    with redis.Redis.from_url(server.url) as client:
        client.execute_command(*permissions("onceover").replace("PASSWORD", "secret").split())
        client.execute_command("ACL", "SETUSER", "default", "off")
    monkeypatch.setenv("ONCEOVER_TEST_PASSWORD", "secret")
    server.url = server.url.replace("unix://", "unix://onceover@")
    visited = shared(server, password_env="ONCEOVER_TEST_PASSWORD")
    assert await visited.add_many(["http://a.example/1"] * 2) == [True, False]
    await visited.enter(Member(id="1", name="this", paces=()))
    await visited.leave()
    await visited.aclose()
    denied = shared(server)
    with pytest.raises(Unavailable, match=r"password|NOAUTH|uthentication"):
        await denied.add_many(["http://a.example/1"])
    await denied.aclose()


@pytest.mark.long
@pytest.mark.parametrize("form", FORMS)
async def test_a_cluster_has_the_set_on_one_node_and_a_moved_slot_loses_nothing(
    tmp_path: Path, form: dict[str, object]
) -> None:
    with running_nodes() as nodes:
        for node in nodes.all:
            node.ask("CONFIG", "SET", "appendonly", "yes")
        crawler = Crawler(tmp_path, nodes, **form)  # type: ignore[arg-type]
        frontier = await crawler.open()
        slot = key_slot(b"onceover:visited:test")
        for turn in range(4):
            assert await frontier.add(pages(*range(turn * 100, turn * 100 + 150))) == (150 if turn == 0 else 100)
            source = nodes.owner_of(slot)
            target = nodes.masters[(nodes.masters.index(source) + 1) % 3]
            await asyncio.to_thread(nodes.move, slot, source, target)
        assert await frontier.add(pages(*range(451))) == 1
        await crawler.close()

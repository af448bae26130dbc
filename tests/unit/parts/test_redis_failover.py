"""Links that travel by several servers of Redis: a cluster, Sentinels, and replicas that take over."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import pytest
from redis.crc import key_slot

from crawler.testing.loops import in_event_loop
from tests.ports import free_port
from tests.redis_nodes import Node, running_nodes, running_sentinel, wait_until
from tests.redis_server import running_redis
from tests.tcp_proxy import proxied, to_port
from tests.unit.parts.carrying import Crawl, wait_for_end
from tests.unit.parts.model import World
from tests.unit.parts.test_carrier import check_complete

pytestmark = pytest.mark.long
PARTS = 3


@asynccontextmanager
async def crawling(directory: Path, url: str, *, seed: int) -> AsyncIterator[Crawl]:
    """A crawl over Redis. It is complete at the end of the block."""
    crawl = Crawl(directory, World(seed, pages=2000, parts=PARTS))
    crawl.redis = url
    async with AsyncExitStack() as stack:
        parts = {number: await stack.enter_async_context(crawl.running(number)) for number in range(PARTS)}
        yield crawl
        await wait_for_end(parts)
        await check_complete(crawl, parts)


def slot_of(crawl: Crawl, number: int) -> int:
    return key_slot(crawl.tag_of(number).encode())


@in_event_loop
async def test_slots_that_move_with_the_streams_of_parts_lose_no_link(tmp_path: Path) -> None:
    with running_nodes() as nodes:
        async with crawling(tmp_path, nodes.url, seed=1) as crawl:
            for turn in range(6):
                slot = slot_of(crawl, turn % PARTS)
                source = nodes.owner_of(slot)
                target = nodes.masters[(nodes.masters.index(source) + 1) % 3]
                await asyncio.to_thread(nodes.move, slot, source, target)


@in_event_loop
async def test_a_node_that_dies_is_followed_by_its_replica_and_no_link_is_lost(tmp_path: Path) -> None:
    with running_nodes(replicas=True) as nodes:
        async with crawling(tmp_path, nodes.url, seed=2) as crawl:
            for number in range(2):
                dies = nodes.owner_of(slot_of(crawl, number))
                replica = nodes.replica_of(dies)
                dies.kill()
                await asyncio.to_thread(wait_until, replica.is_master)
                await asyncio.to_thread(wait_until, lambda: nodes.owner_of(slot_of(crawl, number)) is replica)  # noqa: B023 - called now
                dies.restart()
                await asyncio.to_thread(wait_until, dies.follows)


@in_event_loop
async def test_a_replica_that_lags_behind_takes_over_and_no_link_is_lost(tmp_path: Path) -> None:
    async with AsyncExitStack() as stack:
        port, other = free_port(), free_port()
        first, second = (stack.enter_context(running_redis(port=each)) for each in (port, other))
        way, front = (stack.enter_context(proxied(to_port(port))) for _ in range(2))
        servers = {port: Node(first, port, ()), other: Node(second, other, ())}
        master, replica = servers[port], servers[other]
        async with crawling(tmp_path, f"redis://127.0.0.1:{front.port}", seed=3):
            for _ in range(4):
                way.dial = to_port(master.port)
                replica.ask("REPLICAOF", "127.0.0.1", way.port)
                await asyncio.to_thread(wait_until, replica.follows)
                way.hold()
                lacks = master.offset + 1
                await asyncio.to_thread(wait_until, lambda: master.offset > lacks)  # noqa: B023 - called now
                master.kill()
                way.cut()
                replica.ask("REPLICAOF", "NO", "ONE")
                front.dial = to_port(replica.port)
                front.cut_once()
                way.heal()
                master.restart()
                master, replica = replica, master


@in_event_loop
async def test_sentinels_say_who_is_the_master_after_a_failover(tmp_path: Path) -> None:
    with running_sentinel() as watched:
        async with crawling(tmp_path, watched.url, seed=4):
            for _ in range(2):
                before = watched.master()
                before.kill()
                await asyncio.to_thread(wait_until, lambda: watched.master() is not before)  # noqa: B023 - called now
                before.restart()
                await asyncio.to_thread(wait_until, watched.may_fail_over)

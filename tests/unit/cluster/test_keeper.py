"""Leases that are kept in a real Redis."""

import asyncio
import errno
import logging
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, TypeVar

import pytest
import redis
from redis.exceptions import RedisClusterException

from crawler.cluster.boottime import boottime
from crawler.cluster.keeper import LeaseKeeper
from crawler.cluster.leases import Held, Lost, Refused, Renewed
from crawler.cluster.register import Register
from crawler.cluster.values import Cluster, EndingMark, Wanted
from crawler.redis.client import connected
from crawler.redis.server import Server
from crawler.testing.loops import in_event_loop
from crawler.testing.timeouts import MAX_WAIT_S
from tests.ports import free_port
from tests.redis_nodes import Node, wait_until
from tests.redis_server import RedisServer, running_redis
from tests.tcp_proxy import proxied, to_port
from tests.unit.cluster.homes import IDENTITY, MemoryHome

LEASE_S = 2.0

_Change = TypeVar("_Change", Held, Renewed, Lost, Refused)


@pytest.fixture
def server() -> Iterator[RedisServer]:
    """One of the test's own, which it may kill."""
    with running_redis() as running:
        yield running


@asynccontextmanager
async def open_register(server: RedisServer, kind: type[Register] = Register) -> AsyncIterator[Register]:
    async with connected(Server(url=server.url)) as client:
        yield kind(client, prefix="test", generation=IDENTITY.generation)


@asynccontextmanager
async def crawl_of(server: RedisServer) -> AsyncIterator[Register]:
    """The register of a crawl that was made. A keeper that finds none would write it again, as one that was lost."""
    async with open_register(server) as register:
        assert await register.create(IDENTITY)
        yield register


@asynccontextmanager
async def kept(
    server: RedisServer, home: MemoryHome, name: str, kind: type[Register] = Register
) -> AsyncIterator[LeaseKeeper]:
    """A keeper that works. It gives nothing up in the end, as after a crash. If it fails, so does the test."""
    async with open_register(server, kind) as register, asyncio.TaskGroup() as group:
        keeper = LeaseKeeper(register, home, name, choose=home.choose, lease_s=LEASE_S)
        work = group.create_task(keeper.run())
        try:
            yield keeper
        finally:
            work.cancel()


async def change_of(keeper: LeaseKeeper, kind: type[_Change]) -> _Change:
    async with asyncio.timeout(MAX_WAIT_S):
        while True:
            change = await keeper.next_change()
            if isinstance(change, kind):
                return change


async def lost_because(keeper: LeaseKeeper, why: str) -> None:
    """Wait until a part is lost for this reason. On a slow machine it may be lost for want of time before."""
    while why not in (await change_of(keeper, Lost)).why:
        pass


@in_event_loop
async def test_a_part_is_held_once_its_epoch_is_stored_and_confirmed(server: RedisServer) -> None:
    home = MemoryHome(makes=[1])
    async with crawl_of(server) as register, kept(server, home, "a") as keeper:
        held = await change_of(keeper, Held)
        assert held.part == 1
        assert home.stored[1] >= held.epoch >= 1
        state = (await register.read()).parts[1]
        assert state.opened >= held.epoch
        while (await change_of(keeper, Renewed)).until <= held.until:
            pass  # it is told of the first one, too


@in_event_loop
async def test_a_part_moves_when_its_holder_gives_it_up(server: RedisServer) -> None:
    home = MemoryHome(makes=[0])
    async with crawl_of(server), kept(server, home, "a") as first:
        await change_of(first, Held)
        async with kept(server, MemoryHome({0: 1}), "b") as second:
            refused = await change_of(second, Refused)
            assert first.holder in refused.why
            home.stored.clear()
            home.makes.clear()
            await first.release(0)
            held = await change_of(second, Held)
            assert held.epoch >= 2


@in_event_loop
async def test_a_flush_takes_parts_from_their_holders_who_claim_them_again(server: RedisServer) -> None:
    home = MemoryHome(makes=[0])
    async with crawl_of(server) as register, kept(server, home, "a") as keeper:
        before = await change_of(keeper, Held)
        with redis.Redis.from_url(server.url) as client:
            client.flushall()
        await lost_because(keeper, "Redis has lost it")
        held = await change_of(keeper, Held)
        assert held.epoch > before.epoch
        cluster = await register.read()
        assert cluster.identity == IDENTITY
        assert not cluster.is_whole
        assert not cluster.may_make(1)


@in_event_loop
async def test_a_lease_ends_by_the_clock_of_its_holder_when_redis_is_gone(server: RedisServer) -> None:
    async with crawl_of(server), kept(server, MemoryHome(makes=[0]), "a") as keeper:
        await change_of(keeper, Held)
        server.kill()
        await lost_because(keeper, "could not be renewed in time")
        assert keeper.until(0) == float("-inf")


@in_event_loop
async def test_a_lease_that_ends_because_redis_is_silent_says_so(server: RedisServer) -> None:
    async with crawl_of(server), kept(server, MemoryHome(makes=[0]), "a") as keeper:
        await change_of(keeper, Held)
        server.hold()
        try:
            await lost_because(
                keeper, "could not be renewed in time (Redis can't be used: it has not answered for 1 s)"
            )
        finally:
            server.go_on()


@in_event_loop
async def test_an_outage_of_redis_is_told_once_and_its_end_too(
    server: RedisServer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "crawler.cluster.keeper")
    async with crawl_of(server), kept(server, MemoryHome(makes=[0]), "a") as keeper:
        await change_of(keeper, Held)
        server.kill()
        await lost_because(keeper, "could not be renewed in time")
        await asyncio.sleep(LEASE_S)  # without a lease, it has nothing to renew
        assert [each.levelname for each in caplog.records] == ["WARNING"]
        server.start()
        await change_of(keeper, Held)
    told = [each.getMessage() for each in caplog.records if "forgotten" not in each.getMessage()]
    assert len(told) == 2, told
    assert "because Redis can't be used" in told[0]
    assert told[1] == "leases can be renewed and claimed again"


@in_event_loop
async def test_a_machine_does_not_name_itself_as_the_other_one_that_holds_its_part(server: RedisServer) -> None:
    """Redis keeps a lease longer than its holder, as after a failover to a server whose clock is behind."""
    async with crawl_of(server), kept(server, MemoryHome(makes=[0]), "a") as keeper:
        await change_of(keeper, Held)
        # One step: a renewal in between would let the lease expire.
        with redis.Redis.from_url(server.url) as client, client.pipeline() as step:
            step.persist(f"{{test:{IDENTITY.generation}:cluster}}:lease:0")
            step.execute_command("CLIENT", "PAUSE", int(2000 * LEASE_S), "WRITE")
            step.execute()
        await change_of(keeper, Lost)
        refused = await change_of(keeper, Refused)
        assert refused.why == "its lease that was lost here lasts a little longer in Redis"
        await change_of(keeper, Held)


class FullHome(MemoryHome):
    """On a disk that is full from some moment on."""

    is_full = False
    heard: Cluster | None = None

    def learn(self, cluster: Cluster) -> Mapping[int, int]:
        if self.is_full:
            raise OSError(errno.ENOSPC, "No space left on device", "crawl.toml")
        return super().learn(cluster)

    def choose(self, cluster: Cluster, here: Mapping[int, int]) -> Iterable[Wanted]:
        self.heard = cluster
        return super().choose(cluster, here)


@in_event_loop
async def test_a_machine_whose_disk_is_full_keeps_its_part_and_hears_that_the_run_ends(
    server: RedisServer, caplog: pytest.LogCaptureFixture
) -> None:
    home = FullHome(makes=[0])
    async with crawl_of(server) as register, kept(server, home, "a") as keeper:
        await change_of(keeper, Held)
        home.is_full = True
        assert await register.replace_configuration("a = 1", IDENTITY.configuration_version + 1)
        await register.end(EndingMark(mark="m", ending="signal"))
        async with asyncio.timeout(MAX_WAIT_S):
            while home.heard is None or home.heard.ending is None:
                await keeper.next_change()
        # It can't work with what it has not stored.
        assert home.heard.identity.configuration_version == IDENTITY.configuration_version
        assert keeper.claim_of(0) is not None
        told = [each.getMessage() for each in caplog.records]
        assert len(told) == 1, told
        assert "No space left on device: 'crawl.toml'" in told[0]
        assert "Redis" not in told[0]
        home.is_full = False
        async with asyncio.timeout(MAX_WAIT_S):
            while home.heard.identity.configuration_version == IDENTITY.configuration_version:
                await keeper.next_change()


class WithoutNodes(Register):
    """Reaches a cluster of nodes whose slots nobody serves at first."""

    failures = 2

    async def read(self) -> Cluster:
        if self.failures > 0:
            self.failures -= 1
            raise RedisClusterException("slots are not covered")
        return await super().read()


@in_event_loop
async def test_a_cluster_of_nodes_that_can_not_be_used_is_asked_again(server: RedisServer) -> None:
    async with crawl_of(server), kept(server, MemoryHome(makes=[0]), "a", WithoutNodes) as keeper:
        assert (await change_of(keeper, Held)).part == 0


class Flushed(Register):
    """Redis is flushed once, right after it has answered `during`."""

    during = "read"
    was_flushed = False

    async def read(self) -> Cluster:
        cluster = await super().read()
        await self._flush_once("read")
        return cluster

    async def _flush_once(self, during: str) -> None:
        if during == self.during and not self.was_flushed:
            self.was_flushed = True
            await self._client.flushall()


@in_event_loop
async def test_a_flush_right_before_a_claim_does_not_end_the_keeper(server: RedisServer) -> None:
    async with crawl_of(server), kept(server, MemoryHome({0: 1}), "a", Flushed) as keeper:
        assert (await change_of(keeper, Held)).part == 0


class FlushedInTurn(Flushed):
    """The flush is noticed by a renewal before the first claim hears that it stands."""

    during = "confirm"

    def __init__(self, client: Any, *, prefix: str, generation: str) -> None:
        super().__init__(client, prefix=prefix, generation=generation)
        self._is_noticed = asyncio.Event()

    async def confirm(self, part: int, *, claim: str, epoch: int, lease_s: float) -> bool:
        stands = await super().confirm(part, claim=claim, epoch=epoch, lease_s=lease_s)
        await self._flush_once("confirm")
        await self._is_noticed.wait()
        return stands

    async def renew(self, claims: Mapping[int, str], *, lease_s: float) -> Sequence[bool]:
        answers = await super().renew(claims, lease_s=lease_s)
        if not all(answers):
            self._is_noticed.set()
        return answers


@in_event_loop
async def test_claims_that_are_lost_while_another_one_is_confirmed_are_made_again(server: RedisServer) -> None:
    async with crawl_of(server), kept(server, MemoryHome({0: 1, 1: 1}), "a", FlushedInTurn) as keeper:
        held = {(await change_of(keeper, Held)).part for _ in range(2)}
        assert held == {0, 1}


@in_event_loop
async def test_leases_go_on_after_a_failover_that_leaves_the_server_before_as_a_replica() -> None:
    """It ends no connection, and refuses writes."""
    ports = [free_port(), free_port()]
    with (
        running_redis(port=ports[0]) as first,
        running_redis(port=ports[1]) as second,
        proxied(to_port(ports[0])) as front,
    ):
        before, after = (Node(each, port, ()) for each, port in zip((first, second), ports, strict=True))
        after.ask("REPLICAOF", "127.0.0.1", ports[0])
        await asyncio.to_thread(wait_until, after.follows)
        first.url = f"redis://127.0.0.1:{front.port}"
        async with crawl_of(first), kept(first, MemoryHome(makes=[1]), "a") as keeper:
            await change_of(keeper, Held)
            front.dial = to_port(ports[1])
            after.ask("REPLICAOF", "NO", "ONE")
            before.ask("REPLICAOF", "127.0.0.1", ports[1])
            failed_at = boottime()
            async with asyncio.timeout(MAX_WAIT_S):
                while keeper.until(1) <= failed_at + LEASE_S:
                    await keeper.next_change()

"""The promises of visited sets on a server, kept by ours on a real Redis."""

import os
import secrets
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
import redis

from crawler.testing.loops import in_event_loop
from crawler.testing.visited.answers import AnswerTests
from crawler.testing.visited.making import domain_of, host_of
from crawler.testing.visited.random_calls import RandomCallTests
from crawler.testing.visited.suite import urls_of
from crawler.wiring.components.visited_servers import connect_redis
from tests.contracts.sharing import SharingTests
from tests.redis_server import RedisServer, running_redis
from visited import CannotForget, Forgotten, LocalSet, SharedSet, Unanswered, Unavailable, Unreachable
from visited.backends import REMOTE, descriptor
from visited.descriptor import Parameters
from visited.making import make_set

ANYWHERE = [name for name in REMOTE if name != "redis-bloom"]
"""The sets that need nothing but a Redis."""


@pytest.fixture(scope="module")
def shared_server() -> Iterator[RedisServer]:
    with running_redis("--appendonly", "yes") as running:
        yield running


def has_bloom_filters(client: redis.Redis) -> bool:
    try:
        client.eval("return redis.call('BF.EXISTS', KEYS[1], '')", 1, "{onceover:probe}")
    except redis.ResponseError:
        return False
    return True


@pytest.fixture(scope="module")
def bloom_url() -> str:
    """A server that has Bloom filters."""
    url = os.environ.get("ONCEOVER_REDIS_URL")
    if url is None:
        pytest.skip("ONCEOVER_REDIS_URL names no server that has BF.*, such as Redis 8")
    with redis.Redis.from_url(url) as client:
        if not has_bloom_filters(client):
            pytest.skip(f"the server at {url}, which ONCEOVER_REDIS_URL names, has no BF.*")
    return url


def make(name: str, url: str, options: Mapping[str, object], *, recent: int = 0) -> LocalSet:
    parameters = Parameters(
        capacity=300, error_rate=1e-9, site_of=host_of, domain_of=domain_of, connect=connect_redis, recent=recent
    )
    small = {"leaf_bits": 8192} if name == "redis-dsbf" else {}  # so that leaves split often
    return make_set(descriptor(name), parameters, {"url": url, **small, **options})


class TestRemote(SharingTests, AnswerTests, RandomCallTests):
    @pytest.fixture(autouse=True, params=REMOTE)
    def _choose(self, request: pytest.FixtureRequest, shared_server: RedisServer) -> Iterator[None]:
        self.name: str = request.param
        self.url: str = shared_server.url if self.name in ANYWHERE else request.getfixturevalue("bloom_url")
        self.share = secrets.token_hex(4)
        yield
        self.lose_memory()  # it may be a server that others use, too

    def make_set(self, _directory: Path) -> LocalSet:
        return make(self.name, self.url, {}, recent=16)

    def make_sharing(self) -> LocalSet:
        return make(self.name, self.url, {"share": self.share}, recent=16)

    def lose_memory(self) -> None:
        with redis.Redis.from_url(self.url) as client:
            keys = list(client.scan_iter(f"{{onceover:visited:{self.share}}}:*", count=1000))
            if keys:
                client.delete(*keys)

    @in_event_loop
    async def test_it_tells_what_it_knows_without_remembering(self) -> None:
        visited = self.make_sharing()
        await visited.add_many(urls_of(0, 1_000))
        assert visited.has_many(urls_of(990, 1_010)) == [True] * 10 + [False] * 10
        assert visited.describe().shared == f"{{onceover:visited:{self.share}}}"
        assert await visited.add_many(urls_of(1_000, 1_002)) == [True] * 2
        await visited.aclose()


async def test_a_set_that_belongs_to_nobody_leaves_nothing(shared_server: RedisServer) -> None:
    with redis.Redis.from_url(shared_server.url) as client:
        client.flushall()
        for name in ANYWHERE:
            visited = make(name, shared_server.url, {})
            await visited.add_many(urls_of(0, 3_000))
            per_url = visited.describe().server_bytes / 3_000
            assert visited.describe().shared is None
            low, high = {"redis-exact": (9, 14), "redis-dsbf": (14, 30)}.get(
                name, (45, 140)
            )  # Valkey 9 packs hash tables more tightly
            assert low < per_url < high, name
            await visited.aclose()
        assert not list(client.scan_iter("*visited*"))


async def test_the_exact_set_grows_in_small_sets_of_integers(shared_server: RedisServer) -> None:
    with redis.Redis.from_url(shared_server.url) as client:
        visited = make("redis-exact", shared_server.url, {"share": "growing"})
        urls = [f"http://h{number % 50}.example/{number}" for number in range(60_000)]
        for start in range(0, len(urls), 500):
            assert all(await visited.add_many(urls[start : start + 500]))
        leaves = [key for key in client.scan_iter("{onceover:visited:growing}:*", count=1000) if b":set" not in key]
        assert sum(client.scard(key) for key in leaves) == len(visited) == len(urls)
        assert 190 <= len(urls) / len(leaves) <= 201
        assert {client.object("encoding", key) for key in leaves} == {b"intset"}
        assert not any(await visited.add_many(urls))
        await visited.aclose()


async def test_the_set_of_another_form_is_not_used(shared_server: RedisServer) -> None:
    first = make("redis-exact", shared_server.url, {"share": "one"})
    await first.add_many(urls_of(0, 3))
    second = make("redis-set", shared_server.url, {"share": "one"})
    with pytest.raises(Unavailable, match=r"expected a set of redis-set .*found one of redis-exact; give it another"):
        await second.add_many(urls_of(0, 3))
    for each in (first, second):
        await each.aclose()


async def test_a_server_that_forgets_at_a_restart_is_not_shared_but_may_have_a_set_of_one_crawl() -> None:
    with running_redis() as server:
        shared = make("redis-exact", server.url, {"share": "one"})
        with pytest.raises(Unavailable, match="appendonly yes"):
            await shared.add_many(urls_of(0, 3))
        await shared.aclose()
        alone = make("redis-exact", server.url, {})
        assert await alone.add_many(urls_of(0, 3)) == [True] * 3
        await alone.aclose()


async def test_a_full_server_has_remembered_nothing_and_can_be_asked_again(shared_server: RedisServer) -> None:
    for name in ANYWHERE:
        visited = make(name, shared_server.url, {"share": f"full-{name}"})
        await visited.add_many(urls_of(0, 700))
        with redis.Redis.from_url(shared_server.url) as client:
            client.config_set("maxmemory", 1)
            with pytest.raises(Unreachable, match="takes no writes"):
                await visited.add_many(urls_of(600, 720))
            client.config_set("maxmemory", 0)
        assert await visited.add_many(urls_of(600, 720)) == [False] * 100 + [True] * 20
        await visited.aclose()


async def test_a_server_that_restarts_has_another_memory_also_if_nobody_asked_meanwhile() -> None:
    # Otherwise the server answers while what it would save waits for the disk.
    saving = ("--appendonly", "yes", "--appendfsync", "always")
    with running_redis(*saving) as server:
        visited = make("redis-exact", server.url, {"share": "one"})
        assert isinstance(visited, SharedSet)
        before = await visited.connect()
        assert await visited.add_many(urls_of(0, 30)) == [True] * 30
        server.kill()
        server.start(*saving)
        with pytest.raises(Unanswered, match=r".+"):
            await visited.add_many(urls_of(30, 31))
        assert await visited.connect() != before
        assert await visited.add_many(urls_of(0, 31)) == [False] * 30 + [True]
        await visited.aclose()


async def test_a_bloom_filter_of_the_server_keeps_its_rate_beyond_its_capacity_and_is_not_made_anew(
    bloom_url: str,
) -> None:
    parameters = Parameters(
        capacity=1_000, error_rate=0.01, site_of=host_of, domain_of=domain_of, connect=connect_redis
    )
    share = secrets.token_hex(8)
    visited = make_set(descriptor("redis-bloom"), parameters, {"url": bloom_url, "share": share})
    assert isinstance(visited, SharedSet)
    lost = (await visited.add_many(urls_of(0, 5_000))).count(False)
    assert len(visited) == 5_000 - lost
    assert lost <= 90  # 50 expected at most; more than 90 once in 10^6 times
    assert not any(await visited.add_many(urls_of(0, 5_000)))
    assert visited.describe().false_positive_rate == 0.01
    with pytest.raises(CannotForget, match="use redis-exact"):
        await visited.forget_many(urls_of(0, 1))
    visited.trust(await visited.connect())
    key = f"{{onceover:visited:{share}}}:bloom"
    with redis.Redis.from_url(bloom_url) as client:
        client.delete(key)
        with pytest.raises(Forgotten, match="deleted"):
            await visited.add_many(urls_of(5_000, 5_001))
        assert not client.exists(key)
        await visited.connect()
        await visited.fill(urls_of(0, 10))
        assert client.exists(key)
        client.delete(key, f"{{onceover:visited:{share}}}:set")
    await visited.aclose()


async def test_a_server_without_bloom_filters_is_refused_with_what_to_do(shared_server: RedisServer) -> None:
    with redis.Redis.from_url(shared_server.url) as client:
        if has_bloom_filters(client):
            pytest.skip("this Redis has Bloom filters")
        visited = make("redis-bloom", shared_server.url, {"share": "none"})
        with pytest.raises(Unavailable, match=r"BF\.INSERT.*does not have.*use Redis 8.*or choose redis-exact"):
            await visited.add_many(urls_of(0, 3))
        await visited.aclose()
        assert not client.exists("{onceover:visited:none}:set")

"""The splitting filter on a server: its tree, while several clients add and split at once."""

import asyncio
from collections import Counter
from collections.abc import Coroutine, Generator, Iterator
from typing import Any

import numpy as np
import pytest
import redis
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from crawler.testing.visited.random_calls import some_urls
from crawler.testing.visited.suite import urls_of
from tests.contracts.test_shared_set import make
from tests.redis_server import RedisServer, running_redis
from tests.unit.visited.kernels import available_kernels
from visited import CannotForget, Forgotten, LocalSet, SharedSet
from visited.redis.dsbf import DsbfForm
from visited.redis.form import Place
from visited.redis.redis_set import RedisSet
from visited.redis.server import Step
from visited.redis.tree import Tree
from visited.sizing import leaf_shape
from visited.splitting.splitting_set import SplittingSet

LEAF_BITS = 8192


@pytest.fixture(scope="module")
def server() -> Iterator[RedisServer]:
    with running_redis("--appendonly", "yes") as running:
        yield running


@pytest.fixture
def client(server: RedisServer) -> Iterator[redis.Redis]:
    with redis.Redis.from_url(server.url) as found:
        found.flushall()
        yield found


def shared(server: RedisServer, **options: object) -> LocalSet:
    return make("redis-dsbf", server.url, {"share": "s", **options})


class Stored:
    """What the server has of a set. Checks that its parts agree."""

    def __init__(self, client: Any) -> None:
        tag = "{onceover:visited:s}"
        head = {name.decode(): value for name, value in client.hgetall(f"{tag}:set").items()}
        self.head = {name: float(value) for name, value in head.items() if name not in ("id", "form")}
        self.tree = Tree(int(self.head["first_leaves"]))
        self.tree.split(map(int, client.lrange(f"{tag}:splits", 0, -1)))
        counts = {name.decode(): int(value) for name, value in client.hgetall(f"{tag}:leaves").items()}
        self.ones = {int(name): ones for name, ones in counts.items() if ":" not in name}
        self.bits = {node: client.get(f"{tag}:b:{node}") for node in self.ones}
        self.lists = {node: b"".join(client.lrange(f"{tag}:l:{node}", 0, -1)) for node in self.ones}
        assert set(self.ones) <= set(self.tree.leaves())
        assert {node: len(each) // 8 for node, each in self.lists.items()} == {
            node: counts.get(f"{node}:listed", 0) for node in self.ones
        }
        assert {node: client.bitcount(f"{tag}:b:{node}") for node in self.ones} == self.ones
        assert len(client.keys(f"{tag}:[bl]:*")) == sum(1 + bool(self.lists[node]) for node in self.ones)
        assert sum(self.ones.values()) == self.head["ones"]
        hashes = leaf_shape(1, LEAF_BITS, 1e-9).hashes
        rate = sum(self.tree.share(node) * (ones / LEAF_BITS) ** hashes for node, ones in self.ones.items())
        assert self.head["rate"] == pytest.approx(rate, rel=1e-6, abs=1e-22)


async def test_its_leaves_have_the_bits_of_the_local_filter(server: RedisServer, client: Any) -> None:
    visited = shared(server)
    local = SplittingSet(capacity=300, error_rate=1e-9, leaf_bits=LEAF_BITS, split_at="count")
    assert await visited.add_many(urls_of(0, 300)) == await local.add_many(urls_of(0, 300))
    bits = Stored(client).bits
    assert [bits[node] for node in sorted(bits)] == [bytes(memoryview(each)) for each in local._leaves.bits]
    for start in range(300, 3_000, 450):
        await visited.add_many(urls_of(start, start + 450))
    stored = Stored(client)
    assert stored.head["count"] == sum(len(each) // 8 for each in stored.lists.values())
    assert len(stored.bits) == len(stored.tree.leaves()) > 15
    for kernel in available_kernels():
        for node, found in stored.bits.items():
            leaf, counts = bytearray(LEAF_BITS // 8), np.zeros((1, 2), dtype=np.int64)
            run = np.sort(np.frombuffer(stored.lists[node], dtype="<u8").astype(np.uint64))
            low, _, last = stored.tree.bounds(node)
            hashes = leaf_shape(1, LEAF_BITS, 1e-9).hashes
            kernel.leaves_fill([run], np.array([low], dtype=np.uint64), last, [leaf], counts, hashes)
            assert bytes(leaf) == found
    stats = visited.describe()
    assert stats.details["leaves"] == len(stored.bits)
    assert 0 < stats.false_positive_rate < 1e-9
    assert 0 < stats.expected_lost < 3_000 * 1e-9
    assert stats.fill == pytest.approx(sum(stored.ones.values()) / (len(stored.bits) * LEAF_BITS))
    with pytest.raises(CannotForget, match="use redis-exact"):
        await visited.forget_many(urls_of(0, 1))
    for each in (visited, local):
        await each.aclose()


async def test_it_keeps_its_rate_at_any_size(server: RedisServer, client: Any) -> None:
    form = DsbfForm(Place(tag="{onceover:visited:r}"), capacity=10, error_rate=0.02, leaf_bits=LEAF_BITS)
    visited = RedisSet(form, Turns(client), Place(tag="{onceover:visited:r}"))
    lost = 0
    for start in range(0, 10_000, 500):
        lost += (await visited.add_many(urls_of(start, start + 500))).count(False)
    stats = visited.describe()
    assert stats.false_positive_rate < 0.02
    expected = stats.expected_lost
    assert abs(lost - expected) < 6 * expected**0.5
    wrong = visited.has_many(urls_of(100_000, 110_000)).count(True)
    assert abs(wrong - 10_000 * stats.false_positive_rate) < 6 * (10_000 * stats.false_positive_rate) ** 0.5
    await visited.aclose()


async def test_what_is_filled_in_is_known_also_after_splits_and_repeats_do_not_gather(
    server: RedisServer, client: Any
) -> None:
    """A filter that took a URL for known would forget it when its leaf splits."""
    place = Place(tag="{onceover:visited:f}")
    form = DsbfForm(place, capacity=10, error_rate=0.25, leaf_bits=LEAF_BITS)
    visited = RedisSet(form, Turns(client), place)
    for start in range(0, 4_000, 500):
        await visited.fill(urls_of(start, start + 500))
        assert all(visited.has_many(urls_of(0, start + 500)))
    assert len(visited) < 3_980  # the rest was taken for known
    for _ in range(4):
        await visited.fill(urls_of(0, 4_000))
    assert all(visited.has_many(urls_of(0, 4_000)))
    listed = sum(len(b"".join(client.lrange(key, 0, -1))) for key in client.keys("{onceover:visited:f}:l:*")) / 8
    assert 4_000 <= listed <= 1.6 * form.accuracy(0).details["leaves"] * form.accuracy(0).details["leaf_capacity"]  # type: ignore[operator]
    await visited.aclose()


async def test_whoever_finds_a_part_of_the_keys_takes_it_for_no_set(server: RedisServer, client: Any) -> None:
    for part in ("b:4", "splits"):
        visited = shared(server)
        assert isinstance(visited, SharedSet)
        visited.trust(await visited.connect())
        await visited.add_many(urls_of(0, 600))
        assert client.delete(f"{{onceover:visited:s}}:{part}") == 1
        with pytest.raises(Forgotten, match="deleted"):
            await visited.add_many(urls_of(0, 600))
        assert not client.exists("{onceover:visited:s}:set")
        await visited.aclose()
        client.flushall()


@pytest.mark.parametrize("part", ["b:4", "leaves", "splits", "set"])
async def test_a_set_that_was_lost_in_part_is_filled_anew(server: RedisServer, client: Any, part: str) -> None:
    visited = shared(server)
    await visited.add_many(urls_of(0, 600))
    assert client.delete(f"{{onceover:visited:s}}:{part}") == 1
    await visited.add_many(urls_of(0, 600))
    assert await visited.add_many(urls_of(0, 600)) == [False] * 600
    assert await visited.add_many(urls_of(600, 1200)) == [True] * 600
    await visited.aclose()
    if part != "set":  # without the head alone, the figures of all URLs before are lost
        Stored(client)


class Turn:
    """Lets somebody else go first."""

    def __await__(self) -> Generator[None, None, None]:
        yield


class Turns:
    """A channel whose scripts run one at a time, in the order in which their callers are given turns."""

    is_connected = True

    def __init__(self, client: Any, *, waits: bool = False) -> None:
        self._client = client
        self._waits = waits

    async def connect(self, *, also_full: bool = False) -> str:
        return "memory"

    async def run(self, step: Step, /) -> Any:
        if self._waits:
            await Turn()
        return self.run_alone(step)

    def run_alone(self, step: Step, /) -> Any:
        return self._client.eval(step.script, len(step.keys), *step.keys, *step.arguments)

    async def cpu_s(self) -> float:
        return 0.0

    async def delete(self, start: str, /) -> None:
        pass

    async def aclose(self) -> None:
        pass


class Clients(RuleBasedStateMachine):
    """Three clients. Whichever call of the server comes next, each URL is new to one of them."""

    client: Any

    def __init__(self) -> None:
        super().__init__()
        self.client.flushall()
        self.sets = [self.make() for _ in range(3)]
        self.calls: dict[int, tuple[list[str], Coroutine[Any, Any, list[bool]]]] = {}
        self.shown: set[str] = set()
        self.uncertain: set[str] = set()
        self.new: Counter[str] = Counter()

    def make(self) -> RedisSet:
        place = Place(tag="{onceover:visited:s}")
        form = DsbfForm(place, capacity=10, error_rate=1e-9, leaf_bits=LEAF_BITS)
        return RedisSet(form, Turns(self.client, waits=True), place)

    @rule(number=st.integers(0, 2), start=st.integers(0, 900), length=st.integers(1, 250))
    def ask(self, number: int, start: int, length: int) -> None:
        if number not in self.calls:
            urls = some_urls(start, length)
            self.shown.update(urls)
            self.calls[number] = urls, self.sets[number].add_many(urls)

    @rule(number=st.integers(0, 2), turns=st.integers(1, 4))
    def give_turns(self, number: int, turns: int) -> None:
        for _ in range(turns):
            if number in self.calls:
                urls, call = self.calls[number]
                try:
                    call.send(None)
                except StopIteration as ended:
                    self.new.update(url for url, is_new in zip(urls, ended.value, strict=True) if is_new)
                    del self.calls[number]

    @rule(number=st.integers(0, 2))
    def die(self, number: int) -> None:
        if number in self.calls:
            urls, call = self.calls.pop(number)
            call.close()
            self.uncertain.update(urls)
        self.sets[number] = self.make()

    @invariant()
    def the_parts_of_the_set_agree(self) -> None:
        if self.client.exists("{onceover:visited:s}:set"):
            stored = Stored(self.client)
            full = leaf_shape(1, LEAF_BITS, 1e-9).split_fill * LEAF_BITS
            assert all(ones <= full for ones in stored.ones.values())
            assert all(count == 1 for count in self.new.values())

    def teardown(self) -> None:
        for number in range(3):
            while number in self.calls:
                self.give_turns(number, 1)
        assert all(self.new[url] == 1 for url in self.shown - self.uncertain)
        assert all(count == 1 for count in self.new.values())
        if self.shown:
            last = self.make()
            call = last.add_many(sorted(self.shown - self.uncertain))
            assert not any(_finished(call))
            self.the_parts_of_the_set_agree()


def _finished(call: Coroutine[Any, Any, list[bool]]) -> list[bool]:
    while True:
        try:
            call.send(None)
        except StopIteration as ended:
            found: list[bool] = ended.value
            return found


def run(client: Any, *, examples: int, steps: int) -> None:
    chosen = settings(
        max_examples=examples,
        stateful_step_count=steps,
        deadline=None,
        derandomize=True,
        database=None,
        suppress_health_check=list(HealthCheck),
        phases=(Phase.generate,),
    )
    run_state_machine_as_test(type("Machine", (Clients,), {"client": client}), settings=chosen)


def test_each_url_is_new_to_one_of_several_clients_whoever_comes_first(client: Any) -> None:
    run(client, examples=6, steps=30)


@pytest.mark.long
def test_each_url_is_new_to_one_of_several_clients_in_many_orders(client: Any) -> None:
    run(client, examples=200, steps=80)


async def test_several_clients_divide_urls_while_leaves_split(server: RedisServer, client: Any) -> None:
    sets = [shared(server) for _ in range(4)]
    for start in range(0, 3_000, 300):
        found = await asyncio.gather(*(each.add_many(urls_of(start, start + 400)) for each in sets))
        assert all(sum(verdicts) <= 1 for verdicts in zip(*found, strict=True))
    assert len(sets[0]) <= 3_100
    assert not any(await sets[3].add_many(urls_of(0, 3_100)))
    stored = Stored(client)
    assert stored.head["count"] == 3_100
    for each in sets:
        await each.aclose()

"""What visited sets in Redis cost the server: `python -m tests.bench.redis_sets [--quick] [--json]`.

Each form gets the same URLs over one connection: first all of them as new ones, then all again. The server tells its
processor time (INFO cpu) and memory (INFO memory), so a figure holds whatever else the machine does. Batches are of 512
links; `exact_of_40` is the exact form with batches of 40, the links of one page.

In the same table is what others do: scrapy-redis sends one SADD of 40 letters (SHA-1) for each request, `bloom_native`
is `BF.MADD`, where the server that ONCEOVER_REDIS_URL names has it, and HyperLogLog counts without telling which.
"""

import asyncio
import hashlib
import os
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager

import msgspec
import redis

from crawler.testing.visited.making import domain_of, host_of
from crawler.wiring.components.visited_servers import connect_redis
from tests.bench.report import emit, options, tell
from tests.redis_server import running_redis
from visited import LocalSet
from visited.backends import REMOTE, descriptor
from visited.descriptor import Parameters
from visited.making import make_set

Ask = Callable[[Sequence[str]], Awaitable[object]]
BATCH = 512
ERROR_RATE = 1e-4
MEANINGS = {
    "exact_bytes_per_url": "redis-exact; memory of the server for each URL, at most 10",
    "links_per_server_s": "redis-exact, half of the links new, for each second of the server's processor",
}


class Cost(msgspec.Struct, frozen=True):
    """What a form costs the server."""

    bytes_per_url: float
    new_us: float
    known_us: float

    @property
    def links_per_s(self) -> float:
        return 2e6 / (self.new_us + self.known_us)


def urls_of(count: int) -> list[str]:
    return [f"http://h{number % 997}.example.org/section/{number % 31}/page-{number}.html" for number in range(count)]


async def cost(client: redis.Redis, ask: Ask, urls: Sequence[str], *, batch: int = BATCH) -> Cost:
    client.flushall()
    client.memory_purge()
    empty = _memory_bytes(client)
    spent_s = []
    for _ in ("new", "known"):
        before = _cpu_s(client)
        for start in range(0, len(urls), batch):
            await ask(urls[start : start + batch])
        spent_s.append(_cpu_s(client) - before)
    used = _memory_bytes(client) - empty
    return Cost(used / len(urls), *(each / len(urls) * 1e6 for each in spent_s))


def _memory_bytes(client: redis.Redis) -> int:
    """What the data takes, with the tables of its keys, but without buffers of connections."""
    found = client.info("memory")
    return int(found["used_memory"] - found["mem_clients_normal"] - found.get("used_memory_scripts", 0))


def _cpu_s(client: redis.Redis) -> float:
    found = client.info("cpu")
    return float(found["used_cpu_user"] + found["used_cpu_sys"])


@contextmanager
def sets(url: str, capacity: int) -> Iterator[Callable[[str], LocalSet]]:
    parameters = Parameters(
        capacity=capacity, error_rate=ERROR_RATE, site_of=host_of, domain_of=domain_of, connect=connect_redis
    )
    yield lambda name: make_set(descriptor(name), parameters, {"url": url})


async def forms(url: str, urls: Sequence[str]) -> dict[str, Cost]:
    found: dict[str, Cost] = {}
    with redis.Redis.from_url(url) as client, sets(url, len(urls)) as make:
        warming = make("redis-exact")  # the server's first buffers stay, and would count for the first set
        await warming.add_many(urls[: 8 * BATCH])
        await warming.aclose()
        for name, batch in [*((name, BATCH) for name in REMOTE if name != "redis-bloom"), ("redis-exact", 40)]:
            visited = make(name)
            label = name.removeprefix("redis-") + ("" if batch == BATCH else f"_of_{batch}")
            found[label] = await cost(client, visited.add_many, urls, batch=batch)
            tell(f"{label}: {found[label]}")
            await visited.aclose()

        async def scrapy(batch: Sequence[str]) -> None:
            for each in batch:
                client.sadd("dupefilter", hashlib.sha1(each.encode(), usedforsecurity=False).hexdigest())

        async def count(batch: Sequence[str]) -> None:
            client.pfadd("count", *batch)

        found["scrapy_redis"] = await cost(client, scrapy, urls[: len(urls) // 4])
        found["hyperloglog"] = await cost(client, count, urls)
    return found


async def native(url: str, urls: Sequence[str]) -> Cost | None:
    """`BF.MADD`; None if the server has no such command."""
    with redis.Redis.from_url(url) as client:
        try:
            client.execute_command("BF.RESERVE", "onceover-bench", ERROR_RATE, len(urls))
        except redis.ResponseError:
            return None

        async def add(batch: Sequence[str]) -> None:
            client.execute_command("BF.MADD", "onceover-bench", *batch)

        spent_s = []
        for _ in ("new", "known"):
            before = _cpu_s(client)
            for start in range(0, len(urls), BATCH):
                await add(urls[start : start + BATCH])
            spent_s.append(_cpu_s(client) - before)
        used = client.memory_usage("onceover-bench", samples=0)
        client.delete("onceover-bench")
        return Cost(used / len(urls), *(each / len(urls) * 1e6 for each in spent_s))


def main() -> None:
    asked = options(__doc__ or "")
    urls = urls_of(60_000 if asked.quick else 1_000_000)
    with running_redis() as server:
        found = asyncio.run(forms(server.url, urls))
    named = os.environ.get("ONCEOVER_REDIS_URL")
    if named is None:
        tell("bloom_native: not measured, because ONCEOVER_REDIS_URL names no server")
    elif (bloom := asyncio.run(native(named, urls))) is None:
        tell(f"bloom_native: not measured, because the server at {named} has no BF.RESERVE")
    else:
        found["bloom_native"] = bloom
    figures = {
        "exact_bytes_per_url": found["exact"].bytes_per_url,
        "links_per_server_s": found["exact"].links_per_s,
    }
    for name, each in found.items():
        figures |= {
            f"{name}_bytes_per_url": each.bytes_per_url,
            f"{name}_new_us": each.new_us,
            f"{name}_known_us": each.known_us,
        }
    emit(figures, asked=asked, packages=["redis", "hiredis"], meanings=MEANINGS)


if __name__ == "__main__":
    main()

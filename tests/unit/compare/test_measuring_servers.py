"""Sets on a server, in a comparison."""

import asyncio
from pathlib import Path

import redis

from crawler.compare.measure.competitor import Competitor
from crawler.compare.measure.meter import reported_bytes
from crawler.wiring.comparing.worker import make_set
from tests.redis_server import running_redis
from visited import LocalSet


def test_a_set_on_a_server_is_compared_by_the_memory_of_the_server_and_leaves_nothing_there(tmp_path: Path) -> None:
    with running_redis() as server:
        competitor = Competitor(name="remote", backend="redis-exact", options={"url": server.url})
        visited = make_set(competitor, 5_000, tmp_path)
        urls = [f"http://h{number % 9}.example/{number}" for number in range(5_000)]
        asyncio.run(_fill(visited, urls))
        assert 8 < visited.describe().server_bytes / 5_000 < 14
        assert reported_bytes(visited.describe()) == visited.describe().server_bytes + visited.describe().memory_bytes
        with redis.Redis.from_url(server.url) as client:
            assert not list(client.scan_iter("*visited*"))


async def _fill(visited: LocalSet, urls: list[str]) -> None:
    assert await visited.add_many(urls) == [True] * len(urls)
    await visited.aclose()

"""Sets on a server, in a comparison."""

import asyncio
import sys
from pathlib import Path

import redis

from crawler.compare.measure.meter import reported_bytes
from crawler.compare.measure.running import run_in_process
from crawler.compare.measure.timing import measure_time
from crawler.compare.measure.trial import Competitor, Effort, Failed, Trial
from crawler.testing.timeouts import MAX_WAIT_S
from crawler.wiring.comparing.worker import make_set
from tests.redis_server import running_redis
from tests.unit.compare.making import work
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


async def test_what_a_killed_comparison_leaves_on_a_server_can_be_told_from_the_sets_of_crawls(tmp_path: Path) -> None:
    with running_redis() as server:
        visited = make_set(Competitor(name="remote", backend="redis-exact", options={"url": server.url}), 10, tmp_path)
        assert await visited.add_many(["http://h.example/"]) == [True]
        with redis.Redis.from_url(server.url) as client:
            left = len(list(client.scan_iter("{onceover:visited:tmp-*")))
            assert left == len(list(client.scan_iter("*visited*"))) > 0
        await visited.aclose()


async def test_the_processor_time_of_the_server_is_measured_for_each_link(tmp_path: Path) -> None:
    with running_redis() as server:
        competitor = Competitor(name="remote", backend="redis-exact", options={"url": server.url})
        trial = Trial(kind="time", work=work(3_000), competitor=competitor, effort=Effort(looks=2, known=100))
        with redis.Redis.from_url(server.url) as client:
            before = client.info("cpu")
            found = await measure_time(trial, make_set, tmp_path, lambda _share: None)
            after = client.info("cpu")
        spent_s = sum(after[name] - before[name] for name in ("used_cpu_user", "used_cpu_sys"))
        assert found.server_cpu_s is not None
        assert 0 < found.server_cpu_s * trial.work.survey.links < spent_s
        assert found.server_bytes is not None
        local = Trial(kind="time", work=work(300), competitor=Competitor(name="exact", backend="exact"))
        found = await measure_time(local, make_set, tmp_path, lambda _share: None)
        assert (found.server_bytes, found.server_cpu_s) == (None, None)


async def test_a_server_that_is_gone_is_told_in_words(tmp_path: Path) -> None:
    with running_redis() as server:
        server.kill()
        competitor = Competitor(name="remote", backend="redis-exact", options={"url": server.url})
        trial = Trial(kind="time", work=work(300), competitor=competitor)
        command = (sys.executable, "-P", "-m", "crawler.wiring.comparing.worker")
        found = await run_in_process(
            trial, lambda _share: None, command=command, scratch=tmp_path, timeout_s=MAX_WAIT_S
        )
        assert isinstance(found, Failed)
        assert "Unreachable" not in found.reason
        assert found.reason.startswith(
            f"expected a server of redis-exact that answers, found none: Redis at {server.url} can't be reached: "
        )
        assert "start it, or correct the URL. Then compare again" in found.reason


async def _fill(visited: LocalSet, urls: list[str]) -> None:
    assert await visited.add_many(urls) == [True] * len(urls)
    await visited.aclose()

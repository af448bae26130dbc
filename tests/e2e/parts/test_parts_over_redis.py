"""That a crawl whose parts send their links through Redis finds what any crawl finds, whatever Redis does."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random

import msgspec
import pytest

from crawler.disk.layout import part_directories
from tests.e2e.crawling import AWAY, COMPLETE, Running, assert_sound, assert_told, onceover
from tests.e2e.killing import Lines, growth
from tests.e2e.parts.in_parts import HURRIED, UNHURRIED, WORLD, PartsOfWeb, assert_fetched_once, crossed, in_parts
from tests.e2e.parts.redis_storm import FAULTS, PART_FAULTS, Storm
from tests.redis_server import RedisServer, running_redis
from tests.tcp_proxy import Proxy, proxied, to_path

LASTING = msgspec.structs.replace(WORLD, pages_per_host=30)
"""Of so many pages some are left for the end, however long all the events take."""


@contextmanager
def over_redis(folder: Path, *settings: str, parts: int) -> Iterator[tuple[PartsOfWeb, RedisServer, Proxy]]:
    with running_redis() as server, proxied(to_path(str(server.socket))) as proxy:
        chosen = ('exchange.backend="redis"', f'exchange.url="redis://127.0.0.1:{proxy.port}"')
        with in_parts(folder, *settings, *chosen, parts=parts, params=LASTING) as crawl:
            yield crawl, server, proxy


def check_whole(crawl: PartsOfWeb) -> None:
    records = crawl.records()
    assert_fetched_once(records, crawl.web.pages)
    assert crossed(records) > 0
    for path in part_directories(crawl.directory):
        assert_sound(path)


def test_whatever_redis_does_costs_nothing_and_is_told(tmp_path: Path) -> None:
    events = ["older", "kill", "stop part", "full", "cut", "half", "deaf", "late", "older", "kill part"]
    with over_redis(tmp_path, *UNHURRIED, parts=2) as (crawl, server, proxy):
        storm = Storm(crawl.pids, server, [proxy], Random(1))
        with crawl.started() as supervisor:
            crawl.wait_until_all_crawl(supervisor)
            for event in events:
                storm.strike(event)
            server.kill()
            supervisor.wait_until(
                lambda: "Redis can't be used" in str(onceover("status", "crawl", cwd=tmp_path)), "why links wait"
            )
            server.start()
            supervisor.process.terminate()
            supervisor.wait()
        with crawl.started(*HURRIED) as supervisor:
            assert_told(supervisor.wait(), COMPLETE)
        check_whole(crawl)
        server.kill()
        with crawl.started(*HURRIED) as supervisor:
            supervisor.wait_until(lambda: "Links between parts wait until Redis" in supervisor.err, "message")
            server.start()
            assert_told(supervisor.wait(), COMPLETE)
        server.kill()
        with crawl.started(*HURRIED, "--fresh") as supervisor:
            assert_told(supervisor.wait(), AWAY, "exchange.url", "can't be reached")


@pytest.mark.long
@pytest.mark.parametrize("seed", range(30))
def test_ten_more_events_cost_nothing(tmp_path: Path, seed: int) -> None:
    random = Random(seed)
    events = random.choices([*FAULTS, *PART_FAULTS, *PART_FAULTS, "kill all"], k=10)
    with over_redis(tmp_path, *UNHURRIED, parts=3) as (crawl, server, proxy):
        storm, left = Storm(crawl.pids, server, [proxy], random), events
        while left:
            with crawl.started() as supervisor:
                left = live_through(left, crawl, supervisor, storm, random)
                if supervisor.process.poll() is not None and supervisor.process.returncode == COMPLETE:
                    break
        with crawl.started(*HURRIED) as supervisor:
            assert_told(supervisor.wait(), COMPLETE)
        check_whole(crawl)


def live_through(events: list[str], crawl: PartsOfWeb, supervisor: Running, storm: Storm, random: Random) -> list[str]:
    """Let events happen, each after some more requests, until the supervisor has ended. Returns those that are left."""
    lines = Lines(crawl.log)
    for number, event in enumerate(events):
        moment = growth(lines, by=random.randint(1, 6))
        while not moment():
            if supervisor.process.poll() is not None:
                return events[number:]
            time.sleep(0.01)
        if event == "kill all":
            supervisor.process.kill()
            supervisor.process.wait()
            return events[number + 1 :]
        storm.strike(event)
    return []

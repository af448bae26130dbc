"""That a crawl whose parts send their links through Redis finds what any crawl finds, also when Redis dies."""

import time
from pathlib import Path

from crawler.disk.layout import part_directories
from tests.e2e.crawling import COMPLETE, USAGE, assert_sound, assert_told
from tests.e2e.parts.in_parts import HURRIED, UNHURRIED, assert_fetched_once, crossed, in_parts
from tests.redis_server import running_redis
from tests.timeouts import MAX_WAIT_S


def test_a_server_that_dies_in_the_middle_costs_nothing(tmp_path: Path) -> None:
    with running_redis() as server:
        chosen = ('exchange.backend="redis"', f'exchange.url="{server.url}"')
        with in_parts(tmp_path, *UNHURRIED, *chosen, parts=3) as crawl:
            with crawl.started() as supervisor:
                give_up_at = time.monotonic() + MAX_WAIT_S
                while len(crawl.pids()) < 3 or not crawl.log.exists() or crawl.log.stat().st_size == 0:
                    assert time.monotonic() < give_up_at, supervisor.process.poll()
                    time.sleep(0.02)
                server.kill()
                time.sleep(0.5)
                server.start()
                supervisor.process.terminate()
                supervisor.wait()
            with crawl.started(*HURRIED) as supervisor:
                assert_told(supervisor.wait(), COMPLETE)
            records = crawl.records()
            assert_fetched_once(records, crawl.web.pages)
            assert crossed(records) > 0
            for path in part_directories(crawl.directory):
                assert_sound(path)
            server.kill()
            with crawl.started(*HURRIED) as supervisor:
                assert_told(supervisor.wait(), USAGE, "exchange.url", "can't be reached")

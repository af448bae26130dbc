"""Crawls that share a visited set in a real Redis, which forgets everything while one of them does not run."""

from pathlib import Path

import msgspec
import redis

from crawler.codes.exit_codes import COMPLETE, LIMIT
from crawler.simweb.process import running
from tests.e2e.crawling import SMALL, Web, assert_sound, onceover
from tests.e2e.test_shared_visited_set import Crawls, wait_until
from tests.redis_server import running_redis


def test_crawls_wait_for_the_urls_of_a_stopped_one_after_the_server_has_lost_all(tmp_path: Path) -> None:
    params = msgspec.structs.replace(SMALL, slow=0.9, duplicates=0.0, delay_s=0.1, robots_rules=0.0)
    with running_redis("--appendonly", "yes") as server, running(params) as port:
        pages = Web(port, params).pages
        crawls = Crawls(tmp_path, port, params, server)
        try:
            crawls.start(2, "--max-pages", "4")
            assert crawls.ended(2) == LIMIT
            crawls.start(0)
            wait_until(lambda: sum(crawls.fetched().values()) > 8)
            with redis.Redis.from_url(server.url) as client:
                client.flushall()
            wait_until(lambda: "crawl-2 --refill" in said_by_status(crawls.directory(0)))
            assert states(crawls.directory(0)) == {"crawl-0": "added", "crawl-2": "not added"}
            assert states(crawls.directory(2), "--refill") == {"crawl-0": "added", "crawl-2": "added"}
            crawls.start(2)
            crawls.wait()
        finally:
            crawls.stop()
        assert crawls.fetched() == dict.fromkeys(pages, 1)
        for number in (0, 2):
            assert_sound(crawls.directory(number))


def said_by_status(directory: Path) -> str:
    found = onceover("status", directory, cwd=directory)
    assert found.code == COMPLETE, found.err
    return found.out


def states(directory: Path, *options: str) -> dict[str, str]:
    """What `onceover sharing` lists."""
    found = onceover("sharing", directory, *options, cwd=directory)
    assert found.code == COMPLETE, found.err
    lines = [line.split("  ", 2) for line in found.out.splitlines()]
    return {Path(name.split()[3]).name: state.strip() for _, state, name in lines}

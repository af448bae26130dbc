"""Crawls whose visited set lies in a real Redis."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from crawler.cli.codes import COMPLETE, LIMIT, USAGE
from tests.e2e.crawling import Web, assert_sound, assert_told, fetched, onceover, setting
from tests.redis_server import RedisServer, running_redis


@pytest.fixture
def server() -> Iterator[RedisServer]:
    with running_redis("--appendonly", "yes") as running:
        yield running


def settings(server: RedisServer, **options: str) -> list[str]:
    shown = ", ".join(f"{name}='{value}'" for name, value in {"url": server.url, **options}.items())
    return setting("visited.backend=redis-exact", "visited.capacity=1000", f"visited.options={{{shown}}}")


def test_a_crawl_that_is_stopped_and_resumed_is_complete_with_a_set_of_its_own(
    tmp_path: Path, web: Web, server: RedisServer
) -> None:
    options = [*web.options, "--dir", "crawl", *settings(server)]
    assert onceover("crawl", *options, "--max-pages", "15", cwd=tmp_path).code == LIMIT
    assert_sound(tmp_path / "crawl")
    server.kill()
    refused = onceover("crawl", *options, cwd=tmp_path)
    assert_told(refused, USAGE, "visited.backend: Redis at unix:", "be reached", "start it")
    server.start("--appendonly", "yes")
    ended = onceover("crawl", *options, cwd=tmp_path)
    assert_told(ended, COMPLETE, "Resuming: ")
    assert fetched(tmp_path / "crawl") == dict.fromkeys(web.pages, 1)
    assert_sound(tmp_path / "crawl")


def test_what_can_not_be_is_refused_with_what_to_do(tmp_path: Path, web: Web, server: RedisServer) -> None:
    memory = onceover("crawl", *web.options, *settings(server), *setting("frontier.backend=memory"), cwd=tmp_path)
    assert_told(memory, USAGE, "memory can't keep what it asks a server, as redis-exact needs")
    listed = onceover(
        "crawl", *web.options, *settings(server), *setting('visited.white_list=["http://a/"]'), cwd=tmp_path
    )
    assert_told(listed, USAGE, "visited.white_list: expected none")
    secret = setting("visited.backend=redis-exact", "visited.options.url=redis://me:secret@127.0.0.1:1/0")
    assert_told(onceover("crawl", *web.options, *secret, cwd=tmp_path), USAGE, "expected a URL without a password")
    lacking = settings(server, password_env="ONCEOVER_NO_SUCH_VARIABLE")
    assert_told(
        onceover("crawl", *web.options, *lacking, cwd=tmp_path), USAGE, "no variable 'ONCEOVER_NO_SUCH_VARIABLE'"
    )

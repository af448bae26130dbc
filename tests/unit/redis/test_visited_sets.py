"""Visited sets on servers of every kind: over TLS, in a cluster, and behind Sentinels."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
from redis import Redis

from crawler.testing.loops import in_event_loop
from crawler.testing.timeouts import MAX_WAIT_S
from crawler.testing.visited.suite import urls_of
from tests.contracts.test_shared_set import ANYWHERE, make
from tests.redis_nodes import Nodes, running_nodes, running_sentinel, wait_until
from tests.redis_server import running_redis
from tests.unit.frontier.test_shared_faults import FORMS
from tests.unit.frontier.test_shared_visited_set import Crawler, pages
from tests.unit.redis.test_checks import Secure
from visited import SharedSet, Unavailable


@in_event_loop
async def test_every_set_works_over_tls_with_certificates_of_its_own(tmp_path: Path) -> None:
    secure = Secure(tmp_path)
    files = {"tls_ca": str(secure.ca), "tls_cert": str(secure.cert), "tls_key": str(secure.key)}
    with running_redis(*secure.options):
        for name in ANYWHERE:
            visited = make(name, secure.url, files)
            assert await visited.add_many(urls_of(0, 600)) == [True] * 600
            assert await visited.add_many(urls_of(500, 601)) == [False] * 100 + [True]
            await visited.aclose()


FOREIGN = (
    r"something else in .*\{onceover:visited:foreign\}:.*; choose another name \(visited\.options\.share or prefix\)"
)


@in_event_loop
async def test_a_key_of_another_program_at_the_name_of_a_set_is_named() -> None:
    with running_redis("--appendonly", "yes") as server, Redis.from_url(server.url, decode_responses=True) as client:
        for name in ANYWHERE:
            visited = make(name, server.url, {"share": "foreign"})
            await visited.add_many(urls_of(0, 1))
            keys = list(client.scan_iter("{onceover:visited:foreign}:*"))
            for key in keys if name == "redis-exact" else ["{onceover:visited:foreign}:set"]:
                client.rename(key, "aside")
                client.set(key, "of another program")
                with pytest.raises(Unavailable, match=FOREIGN):
                    await visited.add_many(urls_of(0, 1))
                client.rename("aside", key)
            await visited.aclose()
            client.flushall()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            {"count": "many"},
            r"is damaged \(ValueError.*\); delete the set, and each crawl adds its URLs again: redis-cli",
        ),
        ({"count": None}, r"is damaged \(KeyError\('count'\)\)"),
        ({"leaves": "\udcff"}, r"is damaged \(UnicodeDecodeError"),
        ({"form": None}, r"found something else, as of another program; choose another name"),
        ({"form": "redis-dsbf"}, r"found one of redis-dsbf"),
    ],
)
@in_event_loop
async def test_what_is_damaged_or_foreign_in_the_head_of_a_set_is_named(
    change: dict[str, str | None], words: str
) -> None:
    head = "{onceover:visited:foreign}:set"
    with running_redis("--appendonly", "yes") as server, Redis.from_url(server.url) as client:
        visited = make("redis-exact", server.url, {"share": "foreign"})
        await visited.add_many(urls_of(0, 1))
        await visited.aclose()
        for field, value in change.items():
            if value is None:
                client.hdel(head, field)
            else:
                client.hset(head, field, value.encode("utf-8", "surrogateescape"))
        with pytest.raises(Unavailable, match=words):
            await visited.add_many(urls_of(0, 1))
        await visited.aclose()


@pytest.fixture(scope="module")
def nodes() -> Iterator[Nodes]:
    with running_nodes() as running:
        for node in running.all:
            node.ask("CONFIG", "SET", "appendonly", "yes")
        yield running


@pytest.mark.long
@pytest.mark.parametrize("name", ANYWHERE)
@in_event_loop
async def test_every_set_lies_on_one_node_of_a_cluster_and_is_deleted_there(name: str, nodes: Nodes) -> None:
    first, second = (make(name, nodes.url, {"share": f"on-nodes-{name}"}) for _ in range(2))
    assert await first.add_many(urls_of(0, 1_500)) == [True] * 1_500
    assert await second.add_many(urls_of(1_000, 2_000)) == [False] * 500 + [True] * 500
    assert second.has_many(urls_of(1_990, 2_010)) == [True] * 10 + [False] * 10
    for each in (first, second):
        await each.aclose()
    before = held(nodes)
    assert sum(any(name.encode() in key for key in keys) for keys in before) == 1
    alone = make(name, nodes.url, {})
    await alone.add_many(urls_of(0, 10))
    assert held(nodes) != before
    assert isinstance(alone, SharedSet)
    await alone.delete()
    await alone.aclose()
    assert held(nodes) == before


def held(nodes: Nodes) -> list[set[bytes]]:
    """The keys of sets that each node has."""
    found = []
    for node in nodes.masters:
        with node.client() as client:
            found.append(set(client.keys("*visited*")))
    return found


@pytest.mark.long
@pytest.mark.parametrize("form", FORMS)
@in_event_loop
async def test_a_crawl_goes_on_with_the_server_that_sentinels_choose_and_tells_it_what_it_lacks(
    form: dict[str, object], tmp_path: Path
) -> None:
    with running_sentinel() as watched:
        watched.master().ask("CONFIG", "SET", "appendonly", "yes")
        crawler = Crawler(tmp_path, watched, **form)  # type: ignore[arg-type]
        frontier = await crawler.open()
        assert await frontier.add(pages(*range(300))) == 300
        before = watched.master()
        before.kill()
        adding = asyncio.create_task(frontier.add(pages(*range(200, 400))))
        await asyncio.to_thread(wait_until, lambda: watched.master() is not before)
        async with asyncio.timeout(MAX_WAIT_S):
            assert await adding == 100
        assert await frontier.add(pages(*range(401))) == 1
        assert len(crawler.visited) == 401
        await crawler.close()

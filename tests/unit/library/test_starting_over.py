"""A crawl that begins anew deletes the visited set that it alone has on a server."""

import logging
import re
from pathlib import Path

import pytest
import redis

from config import ConfigError, Loaded
from crawler.disk.directory import CrawlDirectory
from crawler.library.opening import lock_crawl, lock_crawl_in_loop
from crawler.supervise.preparing import lock_parts
from crawler.wiring.additions import Additions
from crawler.wiring.configuration import load
from crawler.wiring.storage import open_state, visited_set
from tests.postgres import running_postgres
from tests.redis_server import RedisServer, running_redis
from visited.digests.exact import ExactSet


def configured(
    directory: Path, server: RedisServer, *, share: str | None = None, backend: str = "redis-exact"
) -> Loaded:
    shared = "" if share is None else f'share = "{share}"'
    file = directory.with_suffix(".toml")
    file.write_text(
        f"""[crawl]
directory = "{directory}"
seeds = ["http://a.example/"]
[visited]
backend = "{backend}"
capacity = 1000
[visited.options]
url = "{server.url}"
{shared}
"""
    )
    return load(file)


async def begin(loaded: Loaded) -> None:
    with CrawlDirectory(Path(loaded.config.crawl.directory)) as directory:
        directory.write_configuration(directory.path.with_suffix(".toml").read_text())
        visited = visited_set(loaded.config, directory, lambda urls: [False] * len(urls))
        assert await visited.add_many(["http://a.example/"]) == [True]
        await visited.aclose()


async def test_its_keys_are_deleted_and_no_others(tmp_path: Path) -> None:
    with running_redis("--appendonly", "yes") as server, redis.Redis.from_url(server.url) as client:
        mine, other = (configured(tmp_path / name, server) for name in ("mine", "other"))
        shared = configured(tmp_path / "shared", server, share="library")
        for each in (other, shared):
            await begin(each)
        before = set(client.keys("*visited*"))
        await begin(mine)
        assert set(client.keys("*visited*")) > before
        for each in (mine, shared):
            with lock_crawl(each, fresh=True) as directory:
                assert not directory.visited.exists()
        assert set(client.keys("*visited*")) == before


async def test_a_server_that_is_gone_keeps_them_and_the_log_says_so(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with running_redis() as server:
        mine = configured(tmp_path / "mine", server)
        await begin(mine)
        server.kill()
        changed = load(None, overrides=[f'crawl.directory="{tmp_path}/mine"', 'crawl.seeds=["http://a.example/"]'])
        with caplog.at_level(logging.WARNING), lock_crawl(changed, fresh=True) as directory:
            assert not directory.visited.exists()
        assert "{onceover:visited:own-" in caplog.text
        assert "redis-cli" in caplog.text


async def test_the_log_names_no_keys_of_a_first_start_that_was_refused(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with running_redis() as server:
        mine = configured(tmp_path / "mine", server)
        with lock_crawl(mine) as directory:
            open_state(mine.config, directory).close()
            await visited_set(mine.config, directory, lambda urls: [False] * len(urls)).aclose()
            assert directory.visited.exists()
        with caplog.at_level(logging.WARNING), lock_crawl(mine) as directory:
            assert not directory.visited.exists()
        assert not caplog.records


def test_a_crawl_without_a_set_on_a_server_is_deleted_without_reading_what_it_was(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    loaded = load(None, overrides=[f'crawl.directory="{tmp_path}/mine"', 'crawl.seeds=["http://a.example/"]'])
    with lock_crawl(loaded) as directory:
        directory.write_configuration("torn")
        open_state(loaded.config, directory).close()
        directory.visited.mkdir()
        (directory.visited / "snapshot-1").write_bytes(b"")
    with caplog.at_level(logging.WARNING), lock_crawl(loaded, fresh=True) as directory:
        assert not directory.visited.exists()
    assert not caplog.records


@pytest.mark.parametrize("share", [None, "library"])
async def test_nothing_is_deleted_if_the_new_crawl_needs_a_server_that_is_gone(
    tmp_path: Path, share: str | None
) -> None:
    with running_redis() as server:
        mine = configured(tmp_path / "mine", server, share=share)
        await begin(configured(tmp_path / "mine", server))
        server.kill()
        before = everything(tmp_path / "mine")
        with (
            pytest.raises(ConfigError, match=r"visited\.backend: Redis at .* can't be reached"),
            lock_crawl(mine, fresh=True),
        ):
            pass
        assert everything(tmp_path / "mine") == before


async def test_nothing_is_deleted_if_links_between_the_new_parts_need_a_server_that_is_gone(tmp_path: Path) -> None:
    with running_redis() as server:
        server.kill()
        of_parts = [f'crawl.directory="{tmp_path}/mine"', 'crawl.seeds=["http://a.example/"]', "crawl.parts=2"]
        with lock_parts(load(None, overrides=of_parts), on_wait=print):
            (tmp_path / "mine" / "part-0" / "records").mkdir()
            before = everything(tmp_path / "mine")
        over_redis = [f'exchange.url="{server.url}"', 'exchange.backend="redis"']
        changed = load(None, overrides=[*of_parts, *over_redis])
        with (
            pytest.raises(ConfigError, match=r"exchange\.url: .*can't be reached"),
            lock_parts(changed, fresh=True, on_wait=print),
        ):
            pass
        assert everything(tmp_path / "mine") == before


@pytest.mark.parametrize("parts", [1, 2])
def test_a_new_crawl_that_is_killed_before_it_has_begun_leaves_the_settings(tmp_path: Path, parts: int) -> None:
    settings = [f'crawl.directory="{tmp_path}/mine"', 'crawl.seeds=["http://a.example/"]']
    with lock_crawl(load(None, overrides=settings)) as directory:
        directory.write_configuration("[crawl]\n", start=b"{}")
        directory.records.mkdir()
    changed = load(None, overrides=[*settings, f"crawl.parts={parts}"])
    for _ in range(2):
        if parts == 1:
            with lock_crawl(changed, fresh=True):
                pass
        else:
            with lock_parts(changed, fresh=True, on_wait=print) as plan:
                assert {each.name for part in plan.directories for each in part.iterdir()} == {"lock"}
                CrawlDirectory(plan.directories[0]).write_configuration("[of]\na = 'part'\n", start=b"")
        assert not directory.configuration.exists()
        assert directory.earlier_configuration is not None
        assert directory.earlier_configuration.read_text() == "[crawl]\n"
        assert directory.start.read_bytes() == b"{}"


async def test_nothing_is_deleted_if_the_database_of_a_sink_refuses_the_new_crawl(tmp_path: Path) -> None:
    mine = [f'crawl.directory="{tmp_path}/mine"', 'crawl.seeds=["http://a.example/"]']
    with lock_crawl(load(None, overrides=mine)) as directory:
        directory.records.mkdir()
        before = everything(tmp_path / "mine")
    with running_postgres() as server:
        server.query("CREATE ROLE reader LOGIN")
        dsn = server.dsn.replace("crawl@", "reader@")
        file = tmp_path / "mine.toml"
        file.write_text(f'[[output.sink]]\nbackend = "postgres"\noptions.dsn = "{dsn}"\n')
        changed = load(file, overrides=mine)
        with (
            pytest.raises(ConfigError, match=r"output\.sink\[1\]: .*permission denied for database"),
            lock_crawl(changed, fresh=True),
        ):
            pass
    assert everything(tmp_path / "mine") == before


async def test_a_program_with_a_set_of_its_own_needs_no_server(tmp_path: Path) -> None:
    with running_redis() as server:
        server.kill()
        mine = configured(tmp_path / "mine", server)
        async with lock_crawl_in_loop(mine, fresh=True, additions=Additions(visited=ExactSet())) as directory:
            assert not directory.visited.exists()


def everything(directory: Path) -> dict[Path, bytes | None]:
    return {
        each: each.read_bytes() if each.is_file() else None
        for each in directory.rglob("*")
        if not each.name.startswith("lock")
    }


async def test_the_keys_of_a_set_that_was_changed_for_another_are_named(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with running_redis() as server, redis.Redis.from_url(server.url) as client:
        await begin(configured(tmp_path / "mine", server))
        kept = set(client.keys("*visited*"))
        changed = configured(tmp_path / "mine", server, backend="redis-set")
        await begin(changed)
        with caplog.at_level(logging.WARNING), lock_crawl(changed, fresh=True):
            pass
        assert set(client.keys("*visited*")) == kept
        [pattern] = re.findall(r"--pattern '(.*?)'", caplog.text)
        assert set(client.keys(pattern)) == kept

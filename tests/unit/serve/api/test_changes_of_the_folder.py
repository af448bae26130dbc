"""Requests that change the folder of a daemon while it is being read."""

import asyncio
import signal
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
import pytest

from crawler.serve import daemon as daemon_module
from crawler.serve.api import actions
from crawler.serve.api.data import settings
from crawler.serve.folder import Found, read_folder
from crawler.serve.life.facts import Wish
from crawler.testing.loops import in_event_loop
from tests.full_disk import no_space
from tests.unit.serve.api.serving import Api, served

LATER = b'crawl.seeds = ["http://a.test/"]\n[daemon]\nschedule = "0 3 1 1 *"\n'
TOML = {"Content-Type": "application/toml"}


class Reading:
    """Reads the folder. Whoever reads first after `begin` says nothing of it before it may."""

    def __init__(self) -> None:
        self.has_read = threading.Event()
        self.may_tell = threading.Event()
        self.has_read.set()

    def begin(self) -> None:
        self.has_read.clear()
        self.may_tell.clear()

    def __call__(self, home: Path) -> dict[str, Found]:
        found = read_folder(home)
        if not self.has_read.is_set():
            self.has_read.set()
            self.may_tell.wait()
        return found

    async def hold(self) -> None:
        """Until somebody has read, who then waits."""
        await asyncio.to_thread(self.has_read.wait)


@asynccontextmanager
async def running(home: Path) -> AsyncIterator[Api]:
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    async with served(home, is_read=False) as api:
        task = asyncio.create_task(api.daemon.run())
        try:
            yield api
        finally:
            api.daemon.close("the test")
            await task
            for number, handler in handlers.items():
                signal.signal(number, handler)


async def names(api: Api) -> list[str]:
    crawls = msgspec.json.decode((await api.ask("GET", "/crawls")).body)["crawls"]
    return [each["name"] for each in crawls if each["state"] != "removed"]


@in_event_loop
async def test_a_daemon_that_still_reads_its_folder_says_so_and_lists_no_crawls_before_it_knows_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.toml").write_bytes(LATER)
    reading = Reading()
    reading.begin()
    monkeypatch.setattr(daemon_module, "read_folder", reading)
    async with running(tmp_path) as api:
        await reading.hold()
        with monkeypatch.context() as patch:
            patch.setattr(actions, "STARTING_S", 0.0)
            for path in ("/crawls", "/crawls/a", "/events"):
                answer = await api.ask("GET", path)
                assert answer.status == 503
                assert b"the daemon is starting" in answer.body
                assert "Retry-After" in answer.headers
        asking = asyncio.create_task(names(api))
        reading.may_tell.set()
        assert await asking == ["a"]


@in_event_loop
async def test_a_crawl_that_changes_while_the_folder_is_read_is_what_it_was_changed_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reading = Reading()
    monkeypatch.setattr(daemon_module, "read_folder", reading)
    async with running(tmp_path / "home") as api:
        assert (await api.ask("PUT", "/crawls/old", LATER, headers=TOML)).status == 200
        for change in (
            api.ask("DELETE", "/crawls/old"),
            api.ask("PUT", "/crawls/new", LATER.replace(b"a.test", b"b.test"), headers=TOML),
        ):
            reading.begin()
            reload = asyncio.create_task(api.ask("POST", "/reload"))
            await reading.hold()
            changing = asyncio.create_task(change)
            # If it did not wait for its turn, it would be done by then.
            await asyncio.wait({changing}, timeout=0.3)
            reading.may_tell.set()
            assert (await reload).status == 200
            assert (await changing).status in (200, 204)
        assert await names(api) == ["new"]


@in_event_loop
async def test_a_crawl_that_is_created_while_the_daemon_starts_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reading = Reading()
    reading.begin()
    monkeypatch.setattr(daemon_module, "read_folder", reading)
    async with running(tmp_path / "home") as api:
        await reading.hold()
        creating = asyncio.create_task(api.ask("PUT", "/crawls/new", LATER, headers=TOML))
        await asyncio.wait({creating}, timeout=0.3)
        reading.may_tell.set()
        assert (await creating).status == 200
        assert await names(api) == ["new"]


@in_event_loop
async def test_of_two_requests_that_delete_a_crawl_none_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reading = Reading()
    monkeypatch.setattr(daemon_module, "read_folder", reading)
    async with running(tmp_path / "home") as api:
        assert (await api.ask("PUT", "/crawls/old", LATER, headers=TOML)).status == 200
        reading.begin()
        reload = asyncio.create_task(api.ask("POST", "/reload"))
        await reading.hold()
        deleting = [asyncio.create_task(api.ask("DELETE", "/crawls/old")) for _ in range(2)]
        # Both wait for their turn.
        await asyncio.wait(deleting, timeout=0.3)
        reading.may_tell.set()
        assert (await reload).status == 200
        assert {each.status for each in await asyncio.gather(*deleting)} <= {204, 404}
        assert await names(api) == []


@in_event_loop
async def test_a_request_to_create_a_crawl_that_failed_when_the_folder_was_read_can_be_repeated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with running(tmp_path / "home") as api:
        assert await names(api) == []
        with monkeypatch.context() as system:
            system.setattr(daemon_module, "read_folder", no_space)
            assert (await api.ask("PUT", "/crawls/new", LATER, headers=TOML)).status == 503
        assert await names(api) == []
        assert (await api.ask("PUT", "/crawls/new", LATER, headers=TOML)).status == 200
        assert await names(api) == ["new"]


@in_event_loop
async def test_settings_of_which_the_crawl_can_not_be_told_now_are_not_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    async with running(home) as api:
        assert (await api.ask("PUT", "/crawls/a", LATER, headers=TOML)).status == 200
        monkeypatch.setattr(settings, "_ask", no_space)
        body = msgspec.json.encode({"settings": ["fetch.concurrency=7"]})
        assert (await api.ask("POST", "/crawls/a/configuration", body)).status == 503
        assert (home / "a.toml").read_bytes() == LATER


@in_event_loop
async def test_a_crawl_whose_configuration_can_not_be_deleted_stays_on_the_list(tmp_path: Path) -> None:
    async with running(tmp_path / "home") as api:
        assert (await api.ask("PUT", "/crawls/old", LATER, headers=TOML)).status == 200
        file = tmp_path / "home" / "old.toml"
        file.unlink()
        file.mkdir()  # it fails as on a file system that can't be written to
        assert (await api.ask("DELETE", "/crawls/old")).status == 503
        assert await names(api) == ["old"]
        file.rmdir()
        assert (await api.ask("DELETE", "/crawls/old")).status == 204
        assert await names(api) == []


@in_event_loop
async def test_nothing_is_remembered_of_a_deleted_crawl_by_a_request_that_still_goes_on(tmp_path: Path) -> None:
    async with running(tmp_path / "home") as api:
        assert (await api.ask("PUT", "/crawls/old", LATER, headers=TOML)).status == 200
        keeper = api.daemon.keepers["old"]
        assert (await api.ask("DELETE", "/crawls/old")).status == 204
        await keeper.wish(Wish.STOP)
        assert list((tmp_path / "home" / "daemon" / "crawls").iterdir()) == []

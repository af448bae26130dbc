"""That a client which is not as expected is refused at the start, and not met in the middle of a crawl."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from aiohttp.client_proto import ResponseHandler

from crawler.cli import main
from crawler.fetch.connect import aiohttp_contract
from crawler.fetch.connect.aiohttp_contract import ClientRefused
from crawler.fetch.connect.guard import Guard
from crawler.fetch.connect.network import Network
from tests.conftest import REPOSITORY


@pytest.fixture(autouse=True)
def _afresh() -> Iterator[None]:
    aiohttp_contract._differences.cache_clear()
    yield
    aiohttp_contract._differences.cache_clear()


async def network() -> None:
    await Network(guard=Guard()).aclose()


async def connect_otherwise(self: aiohttp.TCPConnector, request: object, *, eagerly: bool) -> None:
    raise NotImplementedError


async def test_the_installed_client_is_as_expected() -> None:
    await network()


async def test_a_method_that_takes_other_arguments_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    changed = tuple(
        (connect_otherwise, expected) if method is aiohttp.TCPConnector.connect else (method, expected)
        for method, expected in aiohttp_contract._METHODS
    )
    monkeypatch.setattr(aiohttp_contract, "_METHODS", changed)
    with pytest.raises(ClientRefused) as refused:
        await network()
    assert str(refused.value) == (
        f"aiohttp {aiohttp.__version__} is installed, and differs from 3.14 in what the fetcher needs: "
        "connect_otherwise takes (self request eagerly), expected (self req traces timeout). "
        "Install the one that belongs to this release: pip install 'aiohttp==3.14.*'"
    )


async def test_a_member_that_is_gone_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    as_it_is = ResponseHandler.__init__

    def renamed(self: ResponseHandler, loop: asyncio.AbstractEventLoop) -> None:
        as_it_is(self, loop)
        del self._payload

    monkeypatch.setattr(ResponseHandler, "__init__", renamed)
    with pytest.raises(ClientRefused, match="ResponseHandler has no _payload"):
        await network()


async def test_a_pool_that_tells_connections_apart_by_other_facts_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(aiohttp_contract, "_KEY", "host port")
    with pytest.raises(ClientRefused, match=r"ConnectionKey has \(host port is_ssl .*\), expected \(host port\)"):
        await network()


def test_the_command_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(connector: Any) -> None:
        raise ClientRefused("install another")

    monkeypatch.setattr("crawler.fetch.connect.network.check_client", refuse)
    monkeypatch.setattr("sys.argv", ["onceover", "crawl", "--dir", str(tmp_path / "crawl"), "--seed", "http://a.test/"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    assert "onceover: install another" in capsys.readouterr().err


def test_no_other_release_of_the_client_is_let_in() -> None:
    assert f'"aiohttp>={aiohttp_contract.KNOWN},<3.15"' in (REPOSITORY / "pyproject.toml").read_text(encoding="utf-8")

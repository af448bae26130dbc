import base64
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from crawler.fetch.connect.guard import Guard
from crawler.fetch.connect.network import Network
from crawler.fetch.connect.routes import (
    Hosts,
    Routes,
    authorization,
    read_secret,
)
from crawler.fetch.http import HttpFetcher
from crawler.page import Failure, FailureKind, Fetched, Page, Request
from crawler.testing.fetch.raw_server import page, raw_server
from tests.fetchers import http_fetcher
from tests.unit.fetch.test_names import FakeDns
from tests.zoo.keeper import open_zoo

Fetchers = Callable[..., HttpFetcher]
SECRET = "anna:correct horse"
BASIC = "Basic " + base64.b64encode(SECRET.encode()).decode()


@pytest.fixture
async def fetchers() -> AsyncIterator[Fetchers]:
    async with AsyncExitStack() as stack:

        def make(routes: Routes, **settings: Any) -> HttpFetcher:
            fetcher = http_fetcher(routes=routes, **settings)
            stack.push_async_callback(fetcher.aclose)
            return fetcher

        yield make


async def fetch(fetcher: HttpFetcher, url: str) -> Fetched:
    return await fetcher.fetch(Request(url=url))


def test_the_longest_pattern_wins() -> None:
    hosts = Hosts({"*": 1, "*.example.org": 2, "WWW.example.org": 3})
    assert [hosts.find(each) for each in ("a.test", "a.example.org", "www.example.org.", "example.org")] == [1, 2, 3, 1]
    assert Hosts({"a.test": 1}).find("b.test") is None


def test_a_host_with_letters_beyond_ascii_is_named_as_people_write_it() -> None:
    hosts = Hosts({"München.test": 1, "*.bücher.test": 2})
    assert [hosts.find(each) for each in ("xn--mnchen-3ya.test", "www.xn--bcher-kva.test")] == [1, 2]


# certificates


async def test_certificates_go_unverified_for_the_hosts_that_are_named_and_for_no_other(
    tmp_path: Path, fetchers: Fetchers
) -> None:
    async with open_zoo(tmp_path) as zoo:
        fetcher = fetchers(Routes(unverified=("tls-self-signed.zoo.test", "tls-expired.*")), hosts=zoo.hosts)
        assert isinstance(await fetch(fetcher, zoo.url("tls-self-signed")), Page)
        for name in ("tls-expired", "tls-of-another-host"):
            failure = await fetch(fetcher, zoo.url(name))
            assert isinstance(failure, Failure)
            assert failure.kind is FailureKind.TLS_UNKNOWN_AUTHORITY
            assert failure.message.startswith("certificate: ")


async def test_a_host_keeps_its_settings_and_those_of_few_hosts_are_remembered() -> None:
    network = Network(guard=Guard(), routes=Routes(unverified=("odd.test",)))
    for number in range(5000):
        assert network.verifies(f"{number}.test")
        assert network.refusal_of(f"{number}.test") is None
        if number % 500 == 0:
            assert not network.verifies("odd.test")
            assert network.refusal_of("10.0.0.1") == "private"
    assert network._settings.cache_info().currsize < 5000
    assert network.refusal_of.cache_info().currsize < 5000
    await network.aclose()


# logins


async def test_a_login_is_sent_to_its_host_alone_and_told_to_nobody(
    fetchers: Fetchers, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("SITE_LOGIN", SECRET)
    caplog.set_level(logging.DEBUG)
    async with raw_server({"/": [page(b"x")]}) as server:
        routes = Routes(logins={"in.test": "env:SITE_LOGIN"})
        fetcher = fetchers(routes, hosts={"*.test": f"127.0.0.1:{server.port}"})
        answers = [await fetch(fetcher, f"http://{host}/") for host in ("in.test", "out.test")]
        assert [seen.header("Authorization") for seen in server.seen] == [BASIC, None]
    for answer in answers:
        assert isinstance(answer, Page)
        assert "Authorization" not in dict(answer.request_headers)
    assert "horse" not in caplog.text
    assert BASIC not in caplog.text


def test_a_login_comes_from_a_file_too_and_may_be_a_token(tmp_path: Path) -> None:
    file = tmp_path / "login"
    file.write_text("Bearer abc\n")
    assert authorization(read_secret(f"file:{file}")) == "Bearer abc"


@pytest.mark.parametrize(
    ("text", "says"), [("no colon", "expected user:password"), ("a:b\nc", "expected one line"), (None, "can't read")]
)
def test_a_bad_login_is_refused_without_telling_it(tmp_path: Path, text: str | None, says: str) -> None:
    file = tmp_path / "login"
    if text is not None:
        file.write_text(text)
    with pytest.raises(ValueError, match=says) as caught:
        read_secret(f"file:{file}")
    assert text is None or text not in str(caught.value)


def test_a_login_that_is_nowhere_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_LOGIN", raising=False)
    with pytest.raises(ValueError, match="environment variable NO_LOGIN, which is not set"):
        read_secret("env:NO_LOGIN")
    with pytest.raises(ValueError, match="expected env:NAME or file:PATH"):
        read_secret(SECRET)


# proxies


async def test_a_proxy_is_asked_for_its_hosts_with_its_login(
    fetchers: Fetchers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PROXY_LOGIN", SECRET)
    async with raw_server(lambda _: [page(b"by proxy")]) as proxy, raw_server({"/": [page(b"itself")]}) as server:
        routes = Routes(
            proxies={"*.far.test": f"http://127.0.0.1:{proxy.port}"}, logins={"127.0.0.1": "env:PROXY_LOGIN"}
        )
        dns = FakeDns(www_far_test=["93.184.215.14"])
        fetcher = fetchers(routes, hosts={"near.test": f"127.0.0.1:{server.port}"}, resolver=dns)
        far, near = await fetch(fetcher, "http://www.far.test/a?b"), await fetch(fetcher, "http://near.test/")
        assert isinstance(far, Page)
        assert isinstance(near, Page)
        assert (far.body, far.ip, near.body) == (b"by proxy", None, b"itself")
        assert proxy.targets == ["http://www.far.test/a?b"]
        assert proxy.seen[0].header("Proxy-Authorization") == BASIC
        assert "Proxy-Authorization" not in dict(far.request_headers)
        assert server.seen[0].header("Proxy-Authorization") is None


@pytest.mark.parametrize("host", ["127.0.0.1", "169.254.169.254", "[::1]", "inside.far.test"])
async def test_a_proxy_is_no_way_to_a_private_address(fetchers: Fetchers, host: str) -> None:
    async with raw_server(lambda _: [page(b"secret")]) as proxy:
        routes = Routes(proxies={"*": f"http://127.0.0.1:{proxy.port}"})
        fetcher = fetchers(routes, resolver=FakeDns(inside_far_test=["10.0.0.1"]))
        for url in (f"http://{host}/", f"http://{host}:{proxy.port}/", f"https://{host}/"):
            failure = await fetch(fetcher, url)
            assert isinstance(failure, Failure)
            assert failure.kind is FailureKind.PRIVATE_ADDRESS
        assert proxy.connections == 0


async def test_a_proxy_that_refuses_or_is_down_is_a_failure(fetchers: Fetchers) -> None:
    async with raw_server(lambda _: [page(b"", status=b"407 Proxy Authentication Required")]) as proxy:
        fetcher = fetchers(Routes(proxies={"*": f"http://127.0.0.1:{proxy.port}"}), resolver=FakeDns())
        refused = await fetch(fetcher, "https://www.far.test/")
    down = await fetch(fetcher, "https://www.far.test/")
    for failure in (refused, down):
        assert isinstance(failure, Failure)
        assert failure.kind is FailureKind.CONNECT


@pytest.mark.parametrize("url", ["socks4://127.0.0.1:1080", "http://", "http://anna:secret@127.0.0.1:1", "127.0.0.1"])
def test_what_is_no_proxy_is_refused(url: str) -> None:
    with pytest.raises(ValueError, match="proxies:"):
        Routes(proxies={"*": url})

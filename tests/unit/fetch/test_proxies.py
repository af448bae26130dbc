"""Proxies, real ones on this machine: what goes through them, what they are told, what they are not asked for."""

import asyncio
import logging
from pathlib import Path
from typing import Any

import pytest

from crawler.fetch.connect.routes import Routes
from crawler.page import Failure, FailureKind, Fetched, Page, Request
from crawler.testing.fetch.raw_server import CLOSE, HANG, RESET, Script, Seen, page, raw_server
from tests.certificates import issued
from tests.fetchers import http_fetcher
from tests.loops import on_each_loop
from tests.proxies import connect_proxy, socks_proxy
from tests.unit.fetch.test_names import FakeDns

LOGIN = ("anna", "correct horse")
PUBLIC = "93.184.215.14"


async def fetched(url: str, routes: Routes, *, times: int = 1, **settings: Any) -> list[Fetched]:
    fetcher = http_fetcher(routes=routes, resolver=FakeDns(www_far_test=[PUBLIC]), **settings)
    try:
        return [await fetcher.fetch(Request(url=url)) for _ in range(times)]
    finally:
        await fetcher.aclose()


def failure(answer: Fetched) -> Failure:
    assert isinstance(answer, Failure), answer
    return answer


@on_each_loop
async def test_https_goes_through_an_http_proxy_with_connect(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("PROXY_LOGIN", ":".join(LOGIN))
    caplog.set_level(logging.DEBUG)
    tls, authorities = issued("www.far.test", tmp_path)
    async with (
        raw_server({"/a": [page(b"far away")]}, tls=tls) as server,
        connect_proxy(server.port, login=LOGIN) as proxy,
    ):
        routes = Routes(
            proxies={"*.far.test": f"http://127.0.0.1:{proxy.port}"}, logins={"127.0.0.1": "env:PROXY_LOGIN"}
        )
        answers = await fetched("https://www.far.test/a", routes, times=2, authorities=[authorities])
        for answer in answers:
            assert isinstance(answer, Page), answer
            assert (answer.body, answer.ip) == (b"far away", None)
            assert "Proxy-Authorization" not in dict(answer.request_headers)
        assert proxy.targets == [("www.far.test", 443)]  # the connection is kept
        assert len(proxy.logins) == 1
        assert [seen.header("Proxy-Authorization") for seen in server.seen] == [None, None]
    assert "horse" not in caplog.text


@on_each_loop
async def test_a_proxy_may_be_asked_by_https_too(tmp_path: Path) -> None:
    own_tls, own_authority = issued("proxy.test", tmp_path)
    tls, authority = issued("www.far.test", tmp_path)
    async with (
        raw_server({"/": [page(b"far away")]}, tls=tls) as server,
        connect_proxy(server.port, tls=own_tls) as proxy,
    ):
        routes = Routes(proxies={"*": f"https://proxy.test:{proxy.port}"})
        answers = await fetched(
            "https://www.far.test/",
            routes,
            times=2,
            hosts={"proxy.test": "127.0.0.1"},
            authorities=[own_authority, authority],
        )
        assert [getattr(answer, "body", answer) for answer in answers] == [b"far away"] * 2
        assert proxy.targets == [("www.far.test", 443)]


@on_each_loop
async def test_any_success_of_a_proxy_opens_the_tunnel_and_none_has_a_body(tmp_path: Path) -> None:
    """RFC 9110, section 9.3.6."""
    tls, authorities = issued("www.far.test", tmp_path)
    async with raw_server({"/": [page(b"far away")]}, tls=tls) as server:
        for consent in (
            b"HTTP/1.1 201 Created\r\n\r\n",
            b"HTTP/1.1 204 No Content\r\n\r\n",
            b"HTTP/1.1 299\r\nVia: 1.1 proxy\r\n\r\n",
            b"HTTP/1.0 200 OK\r\n\r\n",
            b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n\r\n",
            b"HTTP/1.0 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n\r\n",
            b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n",
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
            b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n",
        ):
            async with connect_proxy(server.port, consent=consent) as proxy:
                routes = Routes(proxies={"*": f"http://127.0.0.1:{proxy.port}"})
                [answer] = await fetched("https://www.far.test/", routes, authorities=[authorities])
                assert isinstance(answer, Page), (consent, answer)
                assert answer.body == b"far away"


async def test_a_certificate_is_verified_behind_a_proxy_too(tmp_path: Path) -> None:
    tls, authorities = issued("somebody-else.test", tmp_path)
    async with raw_server({"/": [page(b"x")]}, tls=tls) as server:
        async with connect_proxy(server.port) as http, socks_proxy(server.port) as socks:
            for url in (f"http://127.0.0.1:{http.port}", f"socks5://127.0.0.1:{socks.port}"):
                [answer] = await fetched("https://www.far.test/", Routes(proxies={"*": url}), authorities=[authorities])
                assert failure(answer).kind is FailureKind.TLS_WRONG_HOST
        assert server.seen == []


async def test_behind_a_proxy_a_host_with_a_dot_at_its_end_has_the_certificate_of_its_name(tmp_path: Path) -> None:
    tls, authorities = issued("www.far.test", tmp_path)
    async with (
        raw_server({"/": [page(b"x")]}, tls=tls) as server,
        connect_proxy(server.port) as http,
        socks_proxy(server.port) as socks,
    ):
        for proxy in (f"http://127.0.0.1:{http.port}", f"socks5h://127.0.0.1:{socks.port}"):
            [answer] = await fetched("https://www.far.test./", Routes(proxies={"*": proxy}), authorities=[authorities])
            assert isinstance(answer, Page), answer


@pytest.mark.parametrize("scheme", ["http", "https"])
async def test_a_proxy_that_wants_a_login_says_nothing_of_the_page(scheme: str) -> None:
    refusal = [b"HTTP/1.1 407 Who are you\r\nContent-Length: 0\r\n\r\n"]
    async with raw_server(lambda _: refusal) as proxy:
        [answer] = await fetched(f"{scheme}://www.far.test/", Routes(proxies={"*": f"http://127.0.0.1:{proxy.port}"}))
        assert (failure(answer).kind, failure(answer).message) == (
            FailureKind.CONNECT,
            "the proxy answered 407 Who are you",
        )


@pytest.mark.parametrize(
    ("script", "why"),
    [
        ([CLOSE], "it closed without an answer"),
        ([RESET], "it closed without an answer"),
        ([b"HTTP/1.1 20", CLOSE], "it closed without an answer"),
        ([b"SSH-2.0-OpenSSH\r\n\r\n", CLOSE], "its answer is not HTTP"),
    ],
)
@on_each_loop
async def test_a_proxy_that_opens_no_tunnel_is_named_as_the_cause(script: Script, why: str) -> None:
    async with raw_server(lambda _: script) as proxy:
        routes = Routes(proxies={"*": f"http://127.0.0.1:{proxy.port}"})
        [answer] = await fetched("https://www.far.test/", routes)
        assert (failure(answer).kind, failure(answer).message) == (FailureKind.CONNECT, f"the proxy: {why}")


@pytest.mark.parametrize("begun", [b"", b"HTTP/1.1 200", b"HTTP/1.1 200 OK\r\n\r\n"])
@on_each_loop
async def test_a_tunnel_takes_no_longer_than_a_connection_may(begun: bytes) -> None:
    async with raw_server(lambda _: [begun, HANG]) as proxy:
        routes = Routes(proxies={"*": f"http://127.0.0.1:{proxy.port}"})
        [answer] = await fetched("https://www.far.test/", routes, connect_timeout_s=0.2)
        assert (failure(answer).kind, failure(answer).message) == (FailureKind.TIMEOUT, "no connection in time")
        await proxy.gone.wait()


@pytest.mark.parametrize("scheme", ["http", "https"])
async def test_a_proxy_that_cannot_be_reached_is_named_as_the_cause(scheme: str) -> None:
    async with raw_server({}) as proxy:
        gone = proxy.port
    [answer] = await fetched(f"{scheme}://www.far.test/", Routes(proxies={"*": f"http://127.0.0.1:{gone}"}))
    assert (failure(answer).kind, failure(answer).message) == (FailureKind.CONNECT, "the proxy: Connection refused")


@pytest.mark.parametrize("scheme", ["http", "https"])
@pytest.mark.parametrize("kind", ["http", "https", "socks5", "socks5h"])
@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("inside.test", "resolves to 10.1.2.3 (private): name it by its address, or give its name one in fetch.hosts"),
        ("localhost", "(loopback): name it by its address, or give its name one in fetch.hosts"),
        ("nowhere.test", "has no address: Name or service not known"),
    ],
)
async def test_a_proxy_whose_name_leads_nowhere_says_nothing_of_the_host(
    scheme: str, kind: str, name: str, why: str
) -> None:
    fetcher = http_fetcher(
        routes=Routes(proxies={"*.far.test": f"{kind}://{name}:3128"}),
        resolver=FakeDns(www_far_test=[PUBLIC], inside_test=["10.1.2.3"]),
    )
    answer = await fetcher.fetch(Request(url=f"{scheme}://www.far.test/"))
    await fetcher.aclose()
    assert (failure(answer).kind, failure(answer).message) == (FailureKind.CONNECT, f"the proxy: {name} {why}")


@pytest.mark.parametrize("scheme", ["http", "https"])
@pytest.mark.parametrize(("socks", "told"), [("socks5", PUBLIC), ("socks5h", "www.far.test")])
@on_each_loop
async def test_a_socks_proxy_is_told_an_address_or_where_it_is_to_find_it_the_name(
    scheme: str, socks: str, told: str, tmp_path: Path
) -> None:
    tls, authorities = issued("www.far.test", tmp_path)
    async with (
        raw_server({"/a": [page(b"far away")]}, tls=tls if scheme == "https" else None) as server,
        socks_proxy(server.port) as proxy,
    ):
        routes = Routes(proxies={"*.far.test": f"{socks}://127.0.0.1:{proxy.port}"})
        answers = await fetched(f"{scheme}://www.far.test/a", routes, times=2, authorities=[authorities])
        for answer in answers:
            assert isinstance(answer, Page), answer
            assert (answer.body, answer.ip) == (b"far away", None)
        assert proxy.targets == [(told, 443 if scheme == "https" else 80)]
        assert [seen.header("Host") for seen in server.seen] == ["www.far.test"] * 2


async def test_behind_a_proxy_a_host_that_closes_kept_connections_spoils_no_other() -> None:
    connections: set[int] = set()

    def script(seen: Seen) -> Script:
        is_kept = seen.connection in connections
        connections.add(seen.connection)
        return [CLOSE] if is_kept and seen.header("Host") == "bad.test" else [page(b"x")]

    async with raw_server(script) as server, socks_proxy(server.port) as proxy:
        fetcher = http_fetcher(routes=Routes(proxies={"*": f"socks5h://127.0.0.1:{proxy.port}"}))
        try:
            for host in ("bad.test", "good.test"):
                for _ in range(8):
                    await fetcher.fetch(Request(url=f"http://{host}/"))
        finally:
            await fetcher.aclose()
        assert proxy.targets.count(("good.test", 80)) == 1
        # Two failures suffice, then each request of that host has a connection of its own.
        assert proxy.targets.count(("bad.test", 80)) == 2 + 4


async def test_a_socks_proxy_gets_its_login_and_nobody_else_does(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("PROXY_LOGIN", ":".join(LOGIN))
    monkeypatch.setenv("WRONG_LOGIN", "anna:wrong")
    caplog.set_level(logging.DEBUG)
    async with raw_server({"/": [page(b"x")]}) as server, socks_proxy(server.port, login=LOGIN) as proxy:
        proxies = {"*": f"socks5://127.0.0.1:{proxy.port}"}
        routes = Routes(proxies=proxies, logins={"127.0.0.1": "env:PROXY_LOGIN"})
        [answer] = await fetched("http://www.far.test/", routes)
        assert isinstance(answer, Page), answer
        assert proxy.logins == [":".join(LOGIN)]
        assert server.seen[0].header("Authorization") is None
        for logins in ({}, {"127.0.0.1": "env:WRONG_LOGIN"}):
            [refused] = await fetched("http://www.far.test/", Routes(proxies=proxies, logins=logins))
            assert failure(refused).kind is FailureKind.CONNECT
            assert failure(refused).message.startswith("the proxy: ")
        assert len(server.seen) == 1
    assert "horse" not in caplog.text


@pytest.mark.parametrize("scheme", ["socks5", "socks5h"])
@pytest.mark.parametrize(
    "host", ["127.0.0.1", "169.254.169.254", "[::1]", "2130706433", "[::ffff:127.0.0.1]", "[64:ff9b::7f00:1]"]
)
async def test_a_socks_proxy_is_no_way_to_a_private_address(scheme: str, host: str) -> None:
    async with raw_server({"/": [page(b"secret")]}) as server, socks_proxy(server.port) as proxy:
        routes = Routes(proxies={"*": f"{scheme}://127.0.0.1:{proxy.port}"})
        [answer] = await fetched(f"http://{host}/", routes)
        assert failure(answer).kind is FailureKind.PRIVATE_ADDRESS
        assert proxy.targets == []


@pytest.mark.parametrize("host", ["localhost", "localhost.", "a.localhost", "a.b.localhost."])
async def test_a_proxy_is_not_asked_for_localhost_unless_that_is_meant(host: str) -> None:
    async with (
        raw_server({"/": [page(b"secret")]}) as server,
        socks_proxy(server.port) as socks,
        connect_proxy(server.port) as http,
    ):
        for scheme, proxy in (("socks5", socks), ("socks5h", socks), ("http", http)):
            routes = Routes(proxies={"*": f"{scheme}://127.0.0.1:{proxy.port}"})
            dns = FakeDns()
            fetcher = http_fetcher(routes=routes, resolver=dns)
            for url in (f"http://{host}/", f"https://{host}/"):
                assert failure(await fetcher.fetch(Request(url=url))).kind is FailureKind.PRIVATE_ADDRESS
            await fetcher.aclose()
            assert (proxy.targets, server.connections, dns.asked) == ([], 0, [])
        for allow_private, hosts in ((True, {}), (False, {host: "127.0.0.1"})):
            routes = Routes(proxies={"*": f"socks5h://127.0.0.1:{socks.port}"})
            fetcher = http_fetcher(routes=routes, resolver=FakeDns(), allow_private=allow_private, hosts=hosts)
            assert isinstance(await fetcher.fetch(Request(url=f"http://{host}/")), Page)
            await fetcher.aclose()
        assert socks.targets == [(host, 80)] * 2


async def test_a_name_of_a_private_address_is_refused_before_a_socks_proxy_is_asked() -> None:
    """Nor can DNS rebinding get past: the proxy is told the address that was judged."""
    async with raw_server({"/": [page(b"secret")]}) as server, socks_proxy(server.port) as proxy:
        routes = Routes(proxies={"*": f"socks5://127.0.0.1:{proxy.port}"})
        fetcher = http_fetcher(routes=routes, resolver=FakeDns(inside_far_test=["10.0.0.1"], gone_far_test=[]))
        inside = failure(await fetcher.fetch(Request(url="http://inside.far.test/")))
        nowhere = failure(await fetcher.fetch(Request(url="http://nowhere.far.test/")))
        await fetcher.aclose()
        assert inside.kind is FailureKind.PRIVATE_ADDRESS
        assert nowhere.kind is FailureKind.DNS
        assert proxy.targets == []


async def test_what_goes_wrong_with_a_socks_proxy_is_a_failure_and_leaves_nothing_open() -> None:
    async with raw_server({"/": [page(b"x")]}) as server:
        port = 1
        for reply in (1, 2, 4, 5, 9, 77):
            async with socks_proxy(server.port, reply=reply) as proxy:
                port = proxy.port
                [answer] = await fetched("http://www.far.test/", Routes(proxies={"*": f"socks5h://127.0.0.1:{port}"}))
                assert failure(answer).kind is FailureKind.CONNECT
        [down] = await fetched("http://www.far.test/", Routes(proxies={"*": f"socks5h://127.0.0.1:{port}"}))
        assert failure(down).kind is FailureKind.CONNECT
        # No proxy at all: a server that speaks HTTP.
        [other] = await fetched(
            "http://www.far.test/", Routes(proxies={"*": f"socks5h://127.0.0.1:{server.port}"}), connect_timeout_s=1.0
        )
        assert failure(other).kind in {FailureKind.CONNECT, FailureKind.TIMEOUT}
        too_long = "a" * 64 + ".test"
        [no_name] = await fetched(
            f"http://{too_long}/", Routes(proxies={"*": f"socks5h://127.0.0.1:{server.port}"}), connect_timeout_s=1.0
        )
        assert failure(no_name).kind in {FailureKind.DNS, FailureKind.CONNECT, FailureKind.TIMEOUT}


async def test_a_socks_proxy_that_says_nothing_takes_no_longer_than_a_connection_may() -> None:
    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()

    server = await asyncio.start_server(silent, "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        [answer] = await fetched(
            "http://www.far.test/", Routes(proxies={"*": f"socks5://127.0.0.1:{port}"}), connect_timeout_s=0.2
        )
        assert failure(answer).kind is FailureKind.TIMEOUT


@pytest.mark.parametrize("secret", ["Bearer abc", "anna:", "änna:secret", f"anna:{'x' * 256}"])
def test_a_login_that_socks_can_not_carry_is_refused_without_telling_it(
    secret: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PROXY_LOGIN", secret)
    with pytest.raises(ValueError, match="logins: expected user:password in ASCII for a SOCKS proxy") as caught:
        Routes(proxies={"*": "socks5://127.0.0.1:1080"}, logins={"127.0.0.1": "env:PROXY_LOGIN"})
    assert secret not in str(caught.value)

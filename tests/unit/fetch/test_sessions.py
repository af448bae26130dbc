"""Which TLS sessions are kept, and that they are resumed with the host that gave them, and no other."""

import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest
import trustme
from aiohttp.abc import AbstractResolver, ResolveResult
from hypothesis import given
from hypothesis import strategies as st

from crawler.fetch.connect.guard import Guard
from crawler.fetch.connect.network import Network
from crawler.fetch.connect.routes import Routes
from crawler.fetch.connect.tls.sessions import MAX_AGE_S, Sessions
from crawler.fetch.headers import default_headers
from crawler.fetch.http import HttpFetcher
from crawler.fetch.request_limits import RequestLimits
from crawler.page import Failure, FailureKind, Page, Request
from crawler.testing.fetch.raw_server import CLOSE, RawServer, page, raw_server
from crawler.testing.timeouts import MAX_WAIT_S
from tests.fetchers import Fetchers, http_fetcher
from tests.loops import on_each_loop
from tests.proxies import socks_proxy


class Ticket(msgspec.Struct, frozen=True):
    name: str = ""
    has_ticket: bool = True
    id: bytes = b""
    ticket_lifetime_hint: int = 7200
    timeout: int = 7200


def connect(sessions: Sessions, host: str, now: float, *, accepts: bool = True, gives: Ticket | None = None) -> bool:
    """One connection. Returns whether it resumed a session."""
    session = sessions.find(host, now)
    resumed = session is not None and accepts
    given: Any = gives or Ticket()
    if sessions.note(host, now, offered=session is not None, resumed=resumed):
        sessions.keep(host, given, now, resumed=resumed, needs_ticket=True)
    return resumed


# which are kept


def test_a_session_serves_its_own_host_only_and_often() -> None:
    sessions = Sessions()
    assert [connect(sessions, "a.test", float(now)) for now in range(4)] == [False, True, True, True]
    assert not connect(sessions, "b.test", 4.0)
    assert (sessions.handshakes, sessions.resumed, len(sessions)) == (5, 3, 2)


def test_a_session_is_resumed_for_as_long_as_its_server_says_and_renewed_in_half_that_time() -> None:
    sessions = Sessions()
    ticket = Ticket(ticket_lifetime_hint=300)
    connect(sessions, "a.test", 0.0, gives=ticket)
    assert connect(sessions, "a.test", 149.0, gives=ticket)
    assert sessions.find("a.test", 299.0) is not None
    assert connect(sessions, "a.test", 200.0, gives=ticket)  # renewed
    assert sessions.find("a.test", 499.0) is not None
    assert sessions.find("a.test", 500.0) is None


def test_a_day_after_a_certificate_was_verified_it_is_verified_again_however_often_its_session_was_renewed() -> None:
    sessions = Sessions()
    connect(sessions, "a.test", 0.0)
    hours = [connect(sessions, "a.test", hour * 3600.0) for hour in range(1, 30)]
    assert hours.index(False) == MAX_AGE_S / 3600 - 1
    assert hours.count(False) == 1


def test_a_server_that_resumes_nothing_gives_no_more_sessions() -> None:
    sessions = Sessions()
    for now in range(5):
        assert not connect(sessions, "a.test", float(now), accepts=False)
    assert len(sessions) == 0
    assert not sessions.note("a.test", 6.0, offered=False, resumed=False)


@pytest.mark.parametrize("ticket", [Ticket(has_ticket=False), Ticket(has_ticket=False, id=b"x")])
def test_a_session_without_a_ticket_is_not_kept_for_tls_1_3(ticket: Ticket) -> None:
    sessions = Sessions()
    for now in range(3):
        connect(sessions, "a.test", float(now), gives=ticket)
    assert len(sessions) == 0
    assert not sessions.note("a.test", 6.0, offered=False, resumed=False)


def test_connections_that_begin_together_copy_one_session() -> None:
    sessions = Sessions()
    assert sessions.note("a.test", 0.0, offered=False, resumed=False)
    ticket: Any = Ticket()
    sessions.keep("a.test", ticket, 0.0, resumed=False, needs_ticket=True)
    assert not any(sessions.note("a.test", 0.0, offered=False, resumed=False) for _ in range(15))
    assert connect(sessions, "a.test", 1.0)


@given(st.lists(st.tuples(st.sampled_from("abcdef"), st.booleans(), st.integers(0, 4000)), max_size=60))
def test_no_more_hosts_are_known_than_fit_and_each_session_is_its_hosts(steps: list[tuple[str, bool, int]]) -> None:
    sessions = Sessions(capacity=3)
    now, verified = 0.0, dict.fromkeys("abcdef", 0.0)
    for host, accepts, passed in steps:
        now += passed
        found: Any = sessions.find(host, now)
        assert found is None or found.name == host
        if not connect(sessions, host, now, accepts=accepts, gives=Ticket(name=host)):
            verified[host] = now
        assert now < verified[host] + MAX_AGE_S
        assert len(sessions._hosts) <= 3


# with real servers


@asynccontextmanager
async def server_of(
    authority: trustme.CA, *names: str, version: ssl.TLSVersion = ssl.TLSVersion.TLSv1_3
) -> AsyncIterator[RawServer]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.maximum_version = version
    authority.issue_cert(*names).configure_cert(context)
    async with raw_server(lambda _: [page(b"x"), CLOSE], tls=context) as server:
        yield server


def trust(authority: trustme.CA, folder: Path) -> list[str]:
    file = folder / "authority.pem"
    authority.cert_pem.write_to_path(file)
    return [str(file)]


async def resumed(fetcher: HttpFetcher, *urls: str) -> list[int]:
    """How many sessions had been resumed after each URL."""
    counts = []
    for url in urls:
        answer = await fetcher.fetch(Request(url=url))
        assert isinstance(answer, Page), answer
        counts.append(fetcher.connections().tls_resumed)
    return counts


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3], ids=["1.2", "1.3"])
@on_each_loop
async def test_each_new_connection_to_a_host_resumes_its_session(version: ssl.TLSVersion, tmp_path: Path) -> None:
    authority = trustme.CA()
    async with server_of(authority, "a.test", version=version) as server:
        fetcher = http_fetcher(hosts={"a.test": f"127.0.0.1:{server.port}"}, authorities=trust(authority, tmp_path))
        try:
            assert await resumed(fetcher, *["https://a.test/"] * 4) == [0, 1, 2, 3]
            counts = fetcher.connections()
            assert (counts.opened, counts.tls_handshakes, server.connections) == (4, 4, 4)
        finally:
            await fetcher.aclose()


async def test_no_session_serves_another_host_of_the_same_server(fetchers: Fetchers, tmp_path: Path) -> None:
    """The server would resume it, and without a certificate nobody would see that the second name is not its own."""
    authority = trustme.CA()
    async with server_of(authority, "a.test") as server:
        fetcher = fetchers(hosts={"*": f"127.0.0.1:{server.port}"}, authorities=trust(authority, tmp_path))
        assert await resumed(fetcher, "https://a.test/", "https://a.test/") == [0, 1]
        answer = await fetcher.fetch(Request(url="https://b.test/"))
        assert isinstance(answer, Failure)
        assert answer.kind is FailureKind.TLS_WRONG_HOST


async def test_no_session_of_an_unverified_host_serves_where_certificates_are_verified(tmp_path: Path) -> None:
    stranger = trustme.CA()
    async with server_of(stranger, "a.test") as server:
        hosts = {"a.test": f"127.0.0.1:{server.port}"}
        lax, strict = http_fetcher(hosts=hosts, routes=Routes(unverified=("a.test",))), http_fetcher(hosts=hosts)
        try:
            assert await resumed(lax, "https://a.test/", "https://a.test/") == [0, 1]
            answer = await strict.fetch(Request(url="https://a.test/"))
            assert isinstance(answer, Failure)
            assert answer.kind is FailureKind.TLS_UNKNOWN_AUTHORITY
        finally:
            await lax.aclose()
            await strict.aclose()


class Names(AbstractResolver):
    """A name server for which each name is this machine."""

    async def resolve(self, host: str, port: int = 0, family: int = 0) -> list[ResolveResult]:
        return [ResolveResult(hostname=host, host="127.0.0.1", port=port, family=2, proto=0, flags=0)]

    async def close(self) -> None: ...


async def test_a_session_is_no_way_around_the_guard(tmp_path: Path) -> None:
    """The guard begins to refuse an address that it has allowed, whose host has a session."""
    authority, guard = trustme.CA(), Guard(allow_private=True)
    async with server_of(authority, "a.test") as server:
        network = Network(
            guard=guard,
            resolver=Names(),
            authorities=trust(authority, tmp_path),
        )
        limits = RequestLimits(headers=default_headers("onceover/1.0", {}), head_timeout_s=MAX_WAIT_S)
        fetcher = HttpFetcher(network, limits=lambda _: limits)
        try:
            url = f"https://a.test:{server.port}/"
            assert await resumed(fetcher, url, url) == [0, 1]
            guard.allows_all = False
            answer = await fetcher.fetch(Request(url=url))
            assert isinstance(answer, Failure)
            assert answer.kind is FailureKind.PRIVATE_ADDRESS
            assert server.connections == 2
        finally:
            await fetcher.aclose()


async def test_sessions_are_resumed_through_a_proxy(fetchers: Fetchers, tmp_path: Path) -> None:
    authority = trustme.CA()
    async with server_of(authority, "a.test") as server, socks_proxy(server.port) as proxy:
        routes = Routes(proxies={"*.test": f"socks5h://127.0.0.1:{proxy.port}"})
        fetcher = fetchers(routes=routes, authorities=trust(authority, tmp_path))
        assert await resumed(fetcher, "https://a.test/", "https://a.test/") == [0, 1]

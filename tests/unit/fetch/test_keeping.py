"""Which connections are kept when not all can be."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawler.fetch.connect.connections import ConnectionLimits, Connections
from crawler.fetch.connect.keeping import Idle, choose_to_close, memory_of
from crawler.fetch.connect.responses import keep_alive_s
from crawler.page import Request
from crawler.testing.fetch.raw_server import page, raw_server
from tests.fetchers import Fetchers


class Kept:
    """A connection that is idle from its first request on."""

    def __init__(self, connections: Connections, memory_bytes: int = 1000) -> None:
        self.memory_bytes = memory_bytes
        self.interval_s: float | None = None
        self.asked_at = 0.0
        self.closed = False
        self._connections = connections
        connections.add(self)

    def ask(self, now: float) -> None:
        if self.asked_at:
            self.interval_s = now - self.asked_at
            self._connections.note_interval(self.interval_s)
        self.asked_at = now

    def is_idle(self) -> bool:
        return True

    def idle_s(self, now: float) -> float:
        return now - self.asked_at

    def close(self) -> None:
        self.closed = True
        self._connections.remove(self)


def hits(connections: Connections, visits: Sequence[tuple[float, str]], memory: dict[str, int] | None = None) -> int:
    """How many of these visits, of a host at a time, find a kept connection."""
    kept: dict[str, Kept] = {}
    found = 0
    for now, host in visits:
        connection = kept.get(host)
        if connection is None or connection.closed:
            connection = kept[host] = Kept(connections, (memory or {}).get(host, 1000))
        else:
            found += 1
        connection.ask(now)
        if not connections.make_room(connection, now, None):
            connection.close()
        assert len(connections) <= connections.limit
        assert connections.memory_bytes <= connections.max_bytes
    return found


def turns(hosts: int, rounds: int) -> list[tuple[float, str]]:
    return [(1.0 + turn + host / hosts, str(host)) for turn in range(rounds) for host in range(hosts)]


def test_of_hosts_that_take_turns_as_many_find_their_connection_as_fit() -> None:
    """To close what was idle for longest would leave none: that is what is needed next."""
    assert hits(Connections(100), turns(hosts=200, rounds=11)) > 0.9 * 100 * 10


def test_memory_bounds_as_the_number_does() -> None:
    assert hits(Connections(1000, max_bytes=100_000), turns(hosts=200, rounds=11)) > 0.9 * 100 * 10


def test_small_connections_are_kept_rather_than_a_few_large_ones() -> None:
    large = {str(host): 20_000 for host in range(0, 200, 10)}
    assert hits(Connections(1000, max_bytes=180_000), turns(hosts=200, rounds=11), large) > 0.8 * 180 * 9


def test_a_host_that_is_not_asked_any_more_loses_its_connection_first() -> None:
    gone = [(1.0 + turn + host / 100, f"gone {host}") for turn in range(3) for host in range(100)]
    later = [(10.0 + now, host) for now, host in turns(hosts=100, rounds=11)]
    assert hits(Connections(100), gone + later) > 0.9 * (200 + 1000)


@given(
    st.lists(st.builds(Idle, st.integers(), st.integers(1, 99), st.floats(0, 99), st.none() | st.floats(0.1, 99))),
    st.integers(-5, 20),
    st.integers(-500, 1000),
)
def test_enough_is_closed_and_hardly_more(idle: list[Idle], excess: int, excess_bytes: int) -> None:
    idle = [Idle(number, each.memory_bytes, each.idle_s, each.interval_s) for number, each in enumerate(idle)]
    closed = choose_to_close(idle, typical_s=1.0, excess=excess, limit=20, excess_bytes=excess_bytes, limit_bytes=1000)
    freed = sum(idle[number].memory_bytes for number in closed)
    assert len(set(closed)) == len(closed)
    if len(closed) < len(idle):
        assert len(closed) >= excess
        assert freed >= excess_bytes
    if closed:
        without_last = freed - idle[closed[-1]].memory_bytes
        assert len(closed) - 1 < excess + 1 or without_last < excess_bytes + 50


def test_a_connection_that_is_gone_is_not_counted() -> None:
    connections = Connections(10)
    kept = Kept(connections, 500)
    connections.note_memory(kept, 800)
    assert (len(connections), connections.memory_bytes, kept.memory_bytes) == (1, 800, 800)
    del kept
    assert (len(connections), connections.memory_bytes) == (0, 0)


def test_the_buffers_of_tls_count() -> None:
    assert (
        memory_of(tls=True, largest_piece=60_000)
        > 3 * memory_of(tls=True, largest_piece=0)
        > memory_of(tls=False, largest_piece=60_000)
    )


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        (None, None),
        ("timeout=5", 5),
        ("timeout=5, max=100", 5),
        ("max=100, Timeout = 15", 15),
        ('timeout="7"', 7),
        ("max=1", None),
        ("mytimeout=3", None),
        ("timeout=-1", None),
        ("timeout=", None),
        ("", None),
    ],
)
def test_how_long_a_server_keeps_a_connection_is_read_from_its_header(header: str | None, seconds: int | None) -> None:
    assert keep_alive_s(header) == seconds


@pytest.mark.parametrize(("header", "connections"), [(b"timeout=0", 2), (b"timeout=1", 2), (b"timeout=600", 1)])
async def test_no_request_goes_over_a_connection_that_its_server_is_about_to_close(
    fetchers: Fetchers, header: bytes, connections: int
) -> None:
    async with raw_server({"/": [page(b"x", b"Keep-Alive: " + header)]}) as server:
        fetcher = fetchers()
        for _ in range(2):
            await fetcher.fetch(Request(url=server.url()))
        assert server.connections == connections


@pytest.mark.parametrize(
    ("limits", "connections"),
    [(ConnectionLimits(count=9), 1), (ConnectionLimits(count=9, memory_bytes=0), 2), (ConnectionLimits(count=0), 2)],
)
async def test_no_connection_is_kept_beyond_the_limits(
    fetchers: Fetchers, limits: ConnectionLimits, connections: int
) -> None:
    async with raw_server({"/": [page(b"x")]}) as server:
        fetcher = fetchers(limits=limits)
        for _ in range(2):
            await fetcher.fetch(Request(url=server.url()))
        assert server.connections == connections

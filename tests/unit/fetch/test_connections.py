"""What comes over a connection when nothing was asked, and what becomes of a connection that was kept."""

import asyncio
import gc
import resource
import socket
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from crawler.fetch.connect.connections import Connections, connections_for, requests_for
from crawler.fetch.connect.handler import TolerantHandler
from crawler.fetch.connect.routes import Routes
from crawler.fetch.http import HttpFetcher
from crawler.page import Failure, FailureKind, Fetched, Page, Request
from crawler.testing.fetch.raw_server import CLOSE, HANG, RESET, Script, Seen, head, page, raw_server
from crawler.testing.timeouts import MAX_WAIT_S
from tests.certificates import issued
from tests.fetchers import Fetchers, http_fetcher
from tests.loops import LOOPS, on_each_loop
from tests.proxies import socks_proxy


async def body(fetcher: HttpFetcher, url: str) -> bytes:
    answer = await fetcher.fetch(Request(url=url))
    assert isinstance(answer, Page), answer
    return answer.body


def kind(answer: Fetched) -> FailureKind | None:
    return answer.kind if isinstance(answer, Failure) else None


@pytest.mark.parametrize("files", [20, 64, 256, 1024, 1 << 16])
def test_requests_and_idle_connections_leave_open_files_to_others(files: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("resource.getrlimit", lambda _: (files, files))
    for wanted in ((1, 0), (64, 500), (10_000, 10_000)):
        concurrency, spare = requests_for(*wanted)
        assert 1 <= concurrency <= wanted[0]
        assert 0 <= spare <= wanted[1]
        kept = connections_for(concurrency, spare)
        assert kept >= 1
        assert concurrency + spare + kept <= max(files - max(files // 4, 40), 2)
        assert (concurrency, spare) == wanted or files < 1 << 16


def test_no_limit_of_open_files_limits_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("resource.getrlimit", lambda _: (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    assert requests_for(64, 500) == (64, 500)
    assert connections_for(64, 500) == 756


# what comes while nothing is asked


@pytest.mark.parametrize("seen_first", [True, False], ids=["seen before the next request", "still in the socket"])
@pytest.mark.parametrize("unasked", [page(b"foreign"), b"HTTP/1.1 200 O", b"\r\n", head(status=b"103 Early Hints")])
@pytest.mark.parametrize("first", [page(b"own"), page(status=b"204 No Content"), head(b"Content-Length: 0")])
async def test_an_answer_that_nobody_asked_for_is_given_to_no_later_request(
    fetchers: Fetchers, first: bytes, unasked: bytes, seen_first: bool
) -> None:
    answered, sent = asyncio.Event(), asyncio.Event()

    async def tell() -> None:
        sent.set()

    scripts: dict[str, Script] = {"/first": [first, answered.wait, unasked, tell], "/next": [page(b"next")]}
    async with raw_server(scripts) as server:
        fetcher = fetchers()
        await fetcher.fetch(Request(url=server.url("/first")))
        answered.set()
        await sent.wait()
        if seen_first:
            await server.gone.wait()
        assert await body(fetcher, server.url("/next")) == b"next"
        assert [seen.connection for seen in server.seen] == [0, 1]


@pytest.mark.parametrize("scheme", ["http", "https"])
@on_each_loop
async def test_nine_urls_of_a_server_that_answers_twice_get_their_own_bodies(scheme: str, tmp_path: Path) -> None:
    tls, authorities = issued("twice.test", tmp_path)
    asked, sent = asyncio.Event(), asyncio.Event()

    async def tell() -> None:
        sent.set()

    def script(seen: Seen) -> Script:
        return [page(seen.target.encode()), asked.wait, page(b"foreign"), tell]

    async with raw_server(script, tls=tls if scheme == "https" else None) as server:
        hosts = {"twice.test": f"127.0.0.1:{server.port}"}
        fetcher = http_fetcher(hosts=hosts, authorities=[authorities])
        try:
            for number in range(9):
                assert await body(fetcher, f"{scheme}://twice.test/{number}") == b"/%d" % number
                asked.set()
                await sent.wait()
                asked.clear()
                sent.clear()
        finally:
            asked.set()
            await fetcher.aclose()


@pytest.mark.parametrize(
    "first",
    [
        page(b"own") + page(b"foreign"),
        page(b"own") + b"HTTP/1.1 2",
        page(b"own") + b"x",
        head(b"Transfer-Encoding: chunked") + b"3\r\nown\r\n0\r\n\r\n" + page(b"foreign"),
        head(b"Transfer-Encoding: chunked") + b"3\r\nown\r\n0\r\n\r\nHTTP/1.1 2",
        head(b"Transfer-Encoding: chunked") + b"3\r\nown\r\n0\r\n\r\nHTTP/1.1 200 OK\r\n",
        head(b"Transfer-Encoding: chunked") + b"3\r\nown\r\n0\r\nX: y\r\n\r\nHTTP/1.1 200 OK\r\nY: z\r\n",
    ],
)
@pytest.mark.parametrize("pieces", [1, 2])
async def test_a_connection_with_more_than_an_answer_is_used_no_more(
    fetchers: Fetchers, first: bytes, pieces: int
) -> None:
    cut = first.index(b"\r\n\r\n") + 4
    scripts: dict[str, Script] = {
        "/first": [first] if pieces == 1 else [first[:cut], first[cut:]],
        "/next": [page(b"next")],
    }
    async with raw_server(scripts) as server:
        fetcher = fetchers()
        assert await body(fetcher, server.url("/first")) == b"own"
        assert await body(fetcher, server.url("/next")) == b"next"
        assert [seen.connection for seen in server.seen] == [0, 1]


@pytest.mark.parametrize(
    "first",
    [
        [head(b"Transfer-Encoding: chunked") + b"3\r\nown\r\n0\r\n\r\n"],
        [head(b"Transfer-Encoding: chunked") + b"3\r\nown\r\n0\r\nX: y\r\n\r\n"],
        [head(b"Transfer-Encoding: chunked"), b"3\r\nown\r\n0\r\n\r", b"\n"],
        [head(b"Transfer-Encoding: chunked"), b"3\r\nown\r\n0", b"\r\n\r\n"],
        [head(b"Transfer-Encoding: chunked"), *(bytes([each]) for each in b"3\r\nown\r\n0\r\n\r\n")],
        [head(status=b"103 Early Hints") + page(b"own")],
        [head(status=b"103 Early Hints"), page(b"own")],
        [head(b"Content-Length: 3"), b"o", b"wn"],
    ],
)
async def test_a_connection_with_one_whole_answer_is_kept(fetchers: Fetchers, first: Script) -> None:
    async with raw_server({"/first": first, "/next": [page(b"next")]}) as server:
        fetcher = fetchers()
        assert await body(fetcher, server.url("/first")) == b"own"
        assert await body(fetcher, server.url("/next")) == b"next"
        assert [seen.connection for seen in server.seen] == [0, 0]
        counts = fetcher.connections()
        assert (counts.opened, counts.reused) == (1, 1)


async def test_a_server_that_speaks_before_it_is_asked_speaks_no_http() -> None:
    connections = Connections(10)
    handler = TolerantHandler(connections, asyncio.get_running_loop())
    handler.connection_made(asyncio.Transport())
    handler.data_received(page(b"early"))
    handler.begin_request(may_have_body=True)
    handler.data_received(page(b"asked for"))
    with pytest.raises(Exception, match="spoke before it was asked"):
        await handler.read()
    assert handler.should_close


async def test_what_a_server_says_before_the_request_leaves_is_no_answer(fetchers: Fetchers) -> None:
    async with (
        raw_server({"/": [page(b"asked for")]}, greeting=page(b"early")) as server,
        socks_proxy(server.port, holds=True) as proxy,
    ):
        fetcher = fetchers(routes=Routes(proxies={"*.test": f"socks5h://127.0.0.1:{proxy.port}"}))
        answer = await fetcher.fetch(Request(url="http://early.test/"))
    assert kind(answer) is FailureKind.PROTOCOL
    assert "before it was asked" in getattr(answer, "message", "")


@on_each_loop
async def test_a_proxy_may_answer_before_the_client_looks_for_its_answer() -> None:
    here, there = socket.socketpair()
    with there:
        handler = TolerantHandler(Connections(10), asyncio.get_running_loop())
        transport, _ = await asyncio.get_running_loop().create_connection(lambda: handler, sock=here)
        there.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
        handler.set_response_params(read_until_eof=True)  # when aiohttp has asked for a tunnel
        message, _ = await handler.read()
        transport.abort()
    assert message.code == 200


# what is kept


@pytest.mark.parametrize("end", [CLOSE, RESET])
async def test_a_request_that_a_kept_connection_swallows_is_not_sent_again(fetchers: Fetchers, end: Any) -> None:
    def script(seen: Seen) -> Script:
        return [end] if len(server.seen) == 2 else [page(b"x")]

    async with raw_server(script) as server:
        fetcher = fetchers()
        answers = [await fetcher.fetch(Request(url=server.url(f"/{number}"))) for number in range(3)]
        assert list(map(kind, answers)) == [None, FailureKind.DISCONNECTED, None]
        assert isinstance(answers[1], Failure)
        assert answers[1].kept_closed
        assert server.targets == ["/0", "/1", "/2"]


async def test_a_408_over_a_kept_connection_is_no_answer_to_its_request(fetchers: Fetchers) -> None:
    timed_out: Script = [page(b"", b"Connection: close", status=b"408 Request Timeout"), CLOSE]

    def script(seen: Seen) -> Script:
        return timed_out if len(server.seen) == 2 else [page(b"x")]

    async with raw_server(script) as server:
        fetcher = fetchers()
        answers = [await fetcher.fetch(Request(url=server.url(f"/{number}"))) for number in range(3)]
        assert list(map(kind, answers)) == [None, FailureKind.DISCONNECTED, None]
        assert isinstance(answers[1], Failure)
        assert answers[1].kept_closed
        assert [seen.connection for seen in server.seen] == [0, 0, 1]


async def test_a_408_over_a_new_connection_is_an_answer(fetchers: Fetchers) -> None:
    async with raw_server({"/": [page(b"", status=b"408 Request Timeout")]}) as server:
        answer = await fetchers().fetch(Request(url=server.url("/")))
        assert isinstance(answer, Page)
        assert answer.status == 408


@pytest.mark.parametrize("begun", [b"H", b"HTTP/1.1 200 OK\r\n", b"\r\n", head(status=b"103 Early Hints")])
async def test_a_kept_connection_that_ends_after_a_part_of_an_answer_is_no_stale_one(
    fetchers: Fetchers, begun: bytes
) -> None:
    async with raw_server({"/": [page(b"x")], "/next": [begun, CLOSE]}) as server:
        fetcher = fetchers()
        assert await body(fetcher, server.url("/")) == b"x"
        answer = await fetcher.fetch(Request(url=server.url("/next")))
        assert isinstance(answer, Failure)
        assert not answer.kept_closed


@pytest.mark.parametrize(
    "damage",
    [b"\x17\x03\x03\x00\x20" + b"x" * 32, bytes([21, 3, 3, 0, 2, 2, 80]), head(status=b"408 Request Timeout")],
    ids=["a damaged record", "an alert in the clear", "an answer in the clear"],
)
@on_each_loop
async def test_a_kept_connection_that_ends_with_a_fault_of_tls_says_nothing_of_the_host(
    damage: bytes, tmp_path: Path
) -> None:
    tls, authorities = issued("kept.test", tmp_path)
    is_damaged = asyncio.Event()

    async def relay(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        inner, outer = await asyncio.open_connection("127.0.0.1", server.port)

        async def ask() -> None:
            while data := await reader.read(65536):
                if is_damaged.is_set():
                    writer.write(damage)
                    break
                outer.write(data)
            outer.close()

        async def answer() -> None:
            while data := await inner.read(65536):
                writer.write(data)
            writer.close()

        await asyncio.gather(ask(), answer(), return_exceptions=True)

    async with raw_server({"/": [page(b"own")]}, tls=tls) as server:
        door = await asyncio.start_server(relay, "127.0.0.1", 0)
        port = door.sockets[0].getsockname()[1]
        fetcher = http_fetcher(hosts={"kept.test": f"127.0.0.1:{port}"}, authorities=[authorities])
        try:
            assert await body(fetcher, "https://kept.test/") == b"own"
            is_damaged.set()
            answer = await fetcher.fetch(Request(url="https://kept.test/"))
            is_damaged.clear()
            assert await body(fetcher, "https://kept.test/") == b"own"
        finally:
            await fetcher.aclose()
            door.close()
    assert (kind(answer), getattr(answer, "kept_closed", False)) == (FailureKind.DISCONNECTED, True)


async def test_a_broken_head_on_a_kept_connection_is_a_failure_and_nothing_else(fetchers: Fetchers) -> None:
    escaped: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: escaped.append(context))
    async with raw_server({"/first": [page(b"x")], "/next": [head(b"X: a\0b", b"Content-Length: 1") + b"x"]}) as server:
        fetcher = fetchers()
        assert await body(fetcher, server.url("/first")) == b"x"
        assert kind(await fetcher.fetch(Request(url=server.url("/next")))) is FailureKind.PROTOCOL
        await server.gone.wait()
    assert [seen.connection for seen in server.seen] == [0, 0]
    assert not escaped


@pytest.mark.parametrize("end", [CLOSE, RESET])
async def test_a_kept_connection_that_the_server_has_closed_costs_no_request(fetchers: Fetchers, end: Any) -> None:
    async with raw_server({"/": [page(b"x"), end]}) as server:
        fetcher = fetchers()
        for number in range(3):
            assert await body(fetcher, server.url()) == b"x"
            if number:
                await server.gone.wait()
        assert [seen.connection for seen in server.seen] == [0, 1, 2]


async def test_a_server_that_always_closes_what_is_kept_gets_a_new_connection_for_each_request(
    fetchers: Fetchers,
) -> None:
    def script(seen: Seen) -> Script:
        again = sum(each.connection == seen.connection for each in server.seen) > 1
        return [CLOSE] if again else [page(b"x")]

    async with raw_server(script) as server:
        fetcher = fetchers()
        answers = [await fetcher.fetch(Request(url=server.url())) for _ in range(12)]
        assert [kind(answer) is None for answer in answers] == [True, False, True, False] + [True] * 8


async def test_a_server_that_closes_what_is_kept_now_and_then_is_still_sent_more_over_it(fetchers: Fetchers) -> None:
    def script(seen: Seen) -> Script:
        earlier = sum(each.connection == seen.connection for each in server.seen)
        return [CLOSE] if earlier > 3 else [page(b"x")]

    async with raw_server(script) as server:
        fetcher = fetchers()
        for _ in range(16):
            await fetcher.fetch(Request(url=server.url()))
        assert server.connections == 4


async def test_kept_connections_that_nobody_uses_are_closed_after_a_while_and_forgotten(
    fetchers: Fetchers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("crawler.fetch.connect.network._KEEP_ALIVE_S", 0.05)
    async with raw_server({"/": [page(b"x")]}) as server:
        fetcher = fetchers()
        for _ in range(2):
            for _ in range(3):
                assert await body(fetcher, server.url()) == b"x"
            await server.gone.wait()
        pool = fetcher._network._connector
        assert not [*pool._conns, *pool._acquired, *pool._acquired_per_host]


async def test_a_server_that_hangs_up_in_silence_is_a_failure_once(fetchers: Fetchers) -> None:
    async with raw_server({"/": [HANG]}) as server:
        for timeout_s in (0.2, 2.0, 20.0, MAX_WAIT_S):  # longer on a machine that has not asked in time
            answer = await fetchers(timeout_s=timeout_s).fetch(Request(url=server.url()))
            assert kind(answer) is FailureKind.TIMEOUT
            if server.seen:
                break
        assert len(server.seen) == 1


# how many are open


def calls_of(work: Callable[[], object]) -> int:
    """How many functions the work calls, those of the interpreter too."""
    count = 0

    def note(frame: object, event: str, argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    gc.disable()  # Hypothesis is called at each collection.
    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(None)
        gc.enable()
    return count


async def test_a_connection_costs_the_same_however_many_are_open() -> None:
    loop = asyncio.get_running_loop()

    def cost(already: int) -> int:
        connections = Connections(10)
        kept = [TolerantHandler(connections, loop) for _ in range(already + 1)]
        for handler in kept[:-1]:
            handler.connection_made(asyncio.Transport())
        assert connections.is_crowded

        def one() -> None:
            kept[-1].connection_made(asyncio.Transport())
            kept[-1].connection_lost(None)

        return calls_of(one)

    assert cost(5000) == cost(50)


async def test_only_open_connections_count() -> None:
    connections = Connections(10)
    loop = asyncio.get_running_loop()
    handlers = [TolerantHandler(connections, loop) for _ in range(11)]
    for handler in handlers:
        handler.connection_made(asyncio.Transport())
    assert connections.is_crowded
    handlers[0].connection_lost(None)
    assert not connections.is_crowded


# what is left of a connection that has ended


@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize("scheme", ["http", "https"])
@pytest.mark.parametrize("end", [CLOSE, RESET])
def test_a_connection_that_has_ended_takes_no_memory_before_the_garbage_collector_looks(
    loop: str, scheme: str, end: Any, tmp_path: Path
) -> None:
    tls, authorities = issued("brief.test", tmp_path)

    async def main() -> int:
        async with raw_server(lambda _: [page(b"own"), end], tls=tls if scheme == "https" else None) as server:
            hosts = {"brief.test": f"127.0.0.1:{server.port}"}
            fetcher = http_fetcher(hosts=hosts, authorities=[authorities])
            try:
                for number in range(9):
                    assert await body(fetcher, f"{scheme}://brief.test/{number}") == b"own"
                    await server.gone.wait()
            finally:
                await fetcher.aclose()
            return len(server.seen)

    gc.collect()
    gc.disable()
    try:
        with asyncio.Runner(loop_factory=LOOPS[loop]) as runner:
            assert runner.run(main()) == 9
        assert sum(isinstance(each, TolerantHandler) for each in gc.get_objects()) == 0
    finally:
        gc.enable()

"""What the API bears: many requests, many and slow connections, large requests, wrong tokens."""

import asyncio
import gzip
import socket
from asyncio import StreamReader, StreamWriter
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing, suppress
from http import HTTPStatus
from pathlib import Path
from typing import cast
from unittest.mock import Mock

import msgspec
import pytest
from aiohttp import web
from hypothesis import given
from hypothesis import strategies as st

from crawler.serve.api.gate.limits import Limits, Pace, client_of
from crawler.serve.api.gate.listener import Listener
from crawler.serve.api.gate.tokens import Rights, Tokens
from crawler.serve.api.gate.traffic import Traffic
from crawler.serve.api.problems import Refused
from crawler.testing.timeouts import MAX_WAIT_S
from tests.unit.serve.api.serving import BASE, IDLE_S, Api, served


@given(st.floats(0.1, 1000), st.integers(1, 50), st.lists(st.floats(0, 2), min_size=1, max_size=200), st.floats(0, 1e9))
def test_a_pace_allows_what_it_says_and_waiting_as_told_helps(
    per_s: float, at_once: int, gaps: list[float], now: float
) -> None:
    pace, allowed = Pace(per_s, at_once), list[float]()
    for gap in gaps:
        now += gap / per_s
        wait_s = pace.take("a", now)
        if wait_s == 0:
            allowed.append(now)
        else:
            assert wait_s <= 1.001 / per_s + 1e-6
            assert pace.wait_s("a", now + wait_s + 1e-6) == 0
        # Others do not notice.
        assert pace.wait_s("b", now) == 0
    for first, begin in enumerate(allowed):
        for last in range(first + at_once, len(allowed)):
            assert last - first + 1 <= at_once + (allowed[last] - begin) * per_s * 1.001 + 1e-3 * per_s


def test_a_pace_remembers_a_bounded_number_of_clients() -> None:
    pace = Pace(1.0, 1, max_clients=100)
    for number in range(10_000):
        assert pace.take(str(number), 0.0) == 0
    assert [number for number in range(10_000) if pace.wait_s(str(number), 0.0)] == [*range(9_900, 10_000)]


@pytest.mark.parametrize(
    ("address", "client"),
    [
        (None, ""),
        ("", ""),
        ("192.0.2.7", "192.0.2.7"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("anything", "anything"),
    ],
)
def test_clients_are_told_apart_by_what_somebody_owns(address: str | None, client: str) -> None:
    assert client_of(address) == client


@asynccontextmanager
async def connected(api: Api) -> AsyncIterator[tuple[StreamReader, StreamWriter]]:
    reader, writer = await asyncio.open_connection("127.0.0.1", api.port)
    try:
        yield reader, writer
    finally:
        writer.close()
        with suppress(OSError):
            await writer.wait_closed()


def head(api: Api, request: str, *headers: str, token: str | None = None) -> bytes:
    lines = (
        f"{request} HTTP/1.1",
        f"Host: 127.0.0.1:{api.port}",
        f"Authorization: Bearer {token or api.token}",
        *headers,
    )
    return "".join(f"{line}\r\n" for line in lines).encode() + b"\r\n"


async def status(reader: StreamReader) -> int:
    line = await reader.readline()
    return int(line.split()[1]) if line else 0


async def until_it_ends(reader: StreamReader) -> bytes:
    async with asyncio.timeout(MAX_WAIT_S):
        try:
            return await reader.read()
        except ConnectionError:
            return b""


async def is_answered(api: Api) -> bool:
    async with connected(api) as (reader, writer):
        writer.write(head(api, f"GET {BASE}/crawls"))
        try:
            return await status(reader) == 200
        except ConnectionError:
            return False


@pytest.mark.parametrize("is_local", [False, True])
async def test_a_client_that_has_closed_its_side_gets_its_answer_and_the_end(is_local: bool, tmp_path: Path) -> None:
    async with served(tmp_path) as api:
        if is_local:
            reader, writer = await asyncio.open_unix_connection(tmp_path / "daemon" / "api")
        else:
            reader, writer = await asyncio.open_connection("127.0.0.1", api.port)
        with closing(writer):
            body = b'{"reason": "x"}'
            writer.write(head(api, f"POST {BASE}/crawls/a/pause", f"Content-Length: {len(body)}") + body)
            writer.write_eof()
            assert (await until_it_ends(reader)).startswith(b"HTTP/1.1 404 ")


@pytest.mark.parametrize("sent", [b"", b'{"reason"'])
@pytest.mark.parametrize("has_begun", [False, True])
async def test_a_body_that_is_cut_by_the_end_of_the_clients_side_is_refused_at_once(
    sent: bytes, has_begun: bool, tmp_path: Path
) -> None:
    async with served(tmp_path, body_s=MAX_WAIT_S * 10) as api, connected(api) as (reader, writer):
        writer.write(head(api, f"POST {BASE}/crawls/a/pause", "Content-Length: 15") + sent)
        if has_begun:
            await asyncio.sleep(0.1)
        writer.write_eof()
        told = await until_it_ends(reader)
        assert told.startswith(b"HTTP/1.1 400 ")
        assert b"the body can't be read: its end is missing" in told


async def test_a_client_that_closes_its_side_without_a_request_is_left(tmp_path: Path) -> None:
    async with served(tmp_path, idle_s=MAX_WAIT_S * 10) as api, connected(api) as (reader, writer):
        writer.write_eof()
        assert await until_it_ends(reader) == b""


async def test_a_connection_that_fails_at_its_end_ends_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def fail(self: web.RequestHandler, timeout: float | None) -> None:  # noqa: ASYNC109 - as aiohttp has it
        self.force_close()
        raise RuntimeError("a bug")

    async with served(tmp_path) as api:
        async with connected(api) as (reader, writer):
            with monkeypatch.context() as patch:
                patch.setattr(web.RequestHandler, "shutdown", fail)
                writer.write_eof()
                assert await until_it_ends(reader) == b""
        assert await is_answered(api)
    assert "a connection was not closed in order" in caplog.text


async def test_a_client_of_events_that_closes_its_side_is_gone(tmp_path: Path) -> None:
    async with served(tmp_path) as api, connected(api) as (reader, writer):
        writer.write(head(api, f"GET {BASE}/events"))
        await reader.readuntil(b"event: crawls")
        writer.write_eof()
        await until_it_ends(reader)


async def test_a_client_may_close_its_side_while_the_server_ends() -> None:
    begun, may_end, failures = asyncio.Event(), asyncio.Event(), list[object]()

    async def answer(_: web.BaseRequest) -> web.StreamResponse:
        begun.set()
        await may_end.wait()
        return web.Response()

    asyncio.get_running_loop().set_exception_handler(lambda _, context: failures.append(context))
    server = web.Server(answer)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
        listener = Listener(server, listening, Limits(), traffic=Traffic(), tokens=None)
        serving = asyncio.create_task(listener.serve())
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        await begun.wait()
        serving.cancel()
        await asyncio.wait({serving})
        with closing(writer):
            writer.write_eof()
            assert await until_it_ends(reader) == b""
        may_end.set()
        await server.shutdown()
    assert failures == []


async def test_of_a_thousand_requests_at_once_only_as_many_as_allowed_are_answered(tmp_path: Path) -> None:
    async with served(tmp_path, client_requests_per_s=1e-4, max_client_requests_at_once=100) as api:
        answers = [await api.ask("GET", "/crawls") for _ in range(200)]
        answers += await asyncio.gather(*(api.ask("GET", "/crawls") for _ in range(800)))
        assert Counter(answer.status for answer in answers) == {200: 100, 429: 900}
        assert all(answer.status == 200 for answer in answers[:100])
        refused = answers[100]
        assert refused.headers["Content-Type"] == "application/problem+json"
        assert 9_000 < int(refused.headers["Retry-After"]) <= 10_000
        assert f"ask again after {refused.headers['Retry-After']} s" in msgspec.json.decode(refused.body)["detail"]
        # The socket of the owner still answers.
        assert (await api.ask_locally("GET", "/crawls")).status == 200


async def test_clients_share_what_all_may_ask_for(tmp_path: Path) -> None:
    async with served(tmp_path, requests_per_s=1e-4, max_requests_at_once=5) as api:
        assert [(await api.ask("GET", "/crawls")).status for _ in range(7)] == [200] * 5 + [429] * 2


async def test_connections_of_a_client_are_bounded_and_a_closed_one_makes_room(tmp_path: Path) -> None:
    async with (
        served(tmp_path, max_connections_per_client=3) as api,
        connected(api) as (first, write_first),
        connected(api) as second,
        connected(api) as third,
    ):
        for reader, writer in ((first, write_first), second, third):
            writer.write(head(api, f"GET {BASE}/crawls"))
            assert await status(reader) == 200
        async with connected(api) as (reader, _):
            told = await until_it_ends(reader)
        assert told.startswith(b"HTTP/1.1 429 ")
        assert b"\r\nRetry-After: 5\r\n" in told
        assert (await api.ask_locally("GET", "/crawls")).status == 200
        write_first.close()
        async with asyncio.timeout(MAX_WAIT_S):
            while not await is_answered(api):
                pass


async def test_slow_clients_are_left_and_others_do_not_notice(tmp_path: Path) -> None:
    async with served(tmp_path, idle_s=IDLE_S, client_requests_per_s=1e6, requests_per_s=1e6) as api:

        async def drip(number: int) -> bytes:
            """Sends nothing, or a header that never ends, a byte at a time."""
            async with connected(api) as (reader, writer):
                answer = asyncio.create_task(until_it_ends(reader))
                for byte in head(api, f"GET {BASE}/crawls", "X: " + "x" * 5000)[:-2]:
                    if answer.done():
                        break
                    if number % 2:
                        writer.write(bytes((byte,)))
                    await asyncio.sleep(0.02)
                return await answer

        slow = [asyncio.create_task(drip(number)) for number in range(30)]
        while not all(task.done() for task in slow):
            assert (await api.ask("GET", "/crawls")).status == 200
            await asyncio.sleep(0.05)
        assert [task.result() for task in slow] == [b""] * 30


class OfServer:
    """A server with these connections, each with a transport that can be aborted."""

    def __init__(self, count: int) -> None:
        self.connections = [Mock() for _ in range(count)]
        for each in self.connections:
            each.transport.get_extra_info.return_value = None
            each.transport.get_write_buffer_size.return_value = 0

    def aborted(self) -> list[bool]:
        return [each.transport.abort.called for each in self.connections]


async def test_a_connection_that_is_used_again_and_again_stays() -> None:
    server, traffic = OfServer(3), Traffic()
    asked, running, _ = server.connections
    with closing(socket.socket()) as listening:
        listener = Listener(cast(web.Server, server), listening, Limits(), traffic=traffic, tokens=None)
        ask = traffic.middleware()

        async def answer(request: web.Request) -> web.StreamResponse:
            return web.Response()

        traffic.running[running] = Mock()
        for now in range(0, 100, 5):
            listener.close_idle(float(now))
            # It is idle whenever somebody looks.
            await ask(Mock(protocol=asked), answer)
    assert server.aborted() == [False, False, True]


async def test_a_body_that_does_not_arrive_is_not_waited_for(tmp_path: Path) -> None:
    async with served(tmp_path, body_s=0.1, linger_s=0.1) as api, connected(api) as (reader, writer):
        writer.write(head(api, f"POST {BASE}/reload", "Content-Length: 100") + b"{")
        assert await status(reader) == 408
        assert b"has not arrived within 0.1 s" in await until_it_ends(reader)


@pytest.mark.parametrize("coding", ["gzip", "GZIP", "br", "deflate", "zstd", "identity, gzip", "unknown"])
async def test_a_body_with_a_coding_is_refused_and_nothing_is_done(
    coding: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    async with served(tmp_path, linger_s=0.1) as api:
        bodies = (b"no such coding", gzip.compress(b"{}"), gzip.compress(b" " * 10_000_000))
        for body in bodies:
            async with connected(api) as (reader, writer):
                sent = (f"Content-Encoding: {coding}", f"Content-Length: {len(body)}", "Connection: close")
                writer.write(head(api, f"POST {BASE}/reload", *sent) + body)
                assert await status(reader) == 415
                told = await until_it_ends(reader)
            assert b"\r\nContent-Type: application/problem+json\r\n" in told
            assert b"nothing was done" in told
        assert "reads the folder again" not in caplog.text
        assert (await api.ask("POST", "/reload", b"{}", headers={"Content-Encoding": "identity"})).status == 200
    assert [record for record in caplog.records if record.levelname != "INFO"] == []


async def test_requests_that_are_too_large_or_broken_are_refused(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with served(tmp_path, linger_s=0.1, max_target_bytes=8192) as api:
        toml = ("Content-Type: application/toml",)
        large = b"x" * (1 << 20) + b"x"
        for sent, expected in (
            (head(api, f"GET {BASE}/crawls?{'x' * 10_000}"), 414),
            (head(api, f"GET {BASE}/crawls/{'x' * 10_000}"), 414),
            (head(api, f"GET {BASE}/crawls?{'x' * 100_000}"), 400),
            (head(api, f"GET {BASE}/crawls", f"X: {'x' * 10_000}"), 400),
            (head(api, f"GET {BASE}/crawls", *(f"X{number}: x" for number in range(100))), 400),
            (head(api, f"PUT {BASE}/crawls/a", f"Content-Length: {len(large)}", *toml) + large, 413),
            (
                head(api, f"PUT {BASE}/crawls/a", "Transfer-Encoding: chunked", *toml)
                + b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in (large[:70_000],) * 20),
                413,
            ),
            (head(api, f"PUT {BASE}/crawls/a", "Transfer-Encoding: chunked", *toml) + b"zz\r\nx", 400),
            (head(api, f"PUT {BASE}/crawls/a", "Content-Length: -1"), 400),
            (head(api, f"PUT {BASE}/crawls/a", "Content-Length: 5", "Content-Length: 6"), 400),
            (b"nonsense\r\n\r\n", 400),
        ):
            async with connected(api) as (reader, writer):
                writer.write(sent)
                async with asyncio.timeout(MAX_WAIT_S):
                    assert await status(reader) == expected, sent[:200]
        async with connected(api) as (reader, writer):
            writer.write(head(api, f"PUT {BASE}/crawls/a", "Content-Length: 50", *toml) + b"[crawl]")
        assert (await api.ask("GET", "/crawls")).status == 200
        # What was refused is read for linger_s. Timers of a loop end in their order.
        await asyncio.sleep(0.2)
    assert {path.name for path in tmp_path.iterdir()} == {"daemon", "token"}
    # Whoever can connect could fill the log.
    assert [record for record in caplog.records if record.levelname != "INFO"] == []


async def test_an_answer_quotes_the_beginning_of_a_long_value(tmp_path: Path) -> None:
    long = b"x" * 1_000_000
    async with served(tmp_path) as api:
        toml = {"Content-Type": "application/toml"}
        refused = await api.ask("PUT", "/crawls/a", b'fetch.hosts = { "a.test" = "%s" }' % long, headers=toml)
        assert refused.status == 422
        assert b"1,000,0" in refused.body
        assert len(refused.body) < 5_000
    error = Refused(HTTPStatus.UNPROCESSABLE_ENTITY, f"unknown field {long!r}\nexpected others")
    assert len(error.problem.detail) < 5_000
    assert error.problem.detail.endswith(" characters)\nexpected others")


async def test_who_presents_wrong_tokens_has_to_wait_whatever_comes_next(tmp_path: Path) -> None:
    async with served(tmp_path, wrong_tokens_per_s=1e-4, max_wrong_tokens_at_once=3) as api:
        # A request without a token guesses none.
        assert {(await api.ask("GET", "/crawls", token="")).status for _ in range(10)} == {401}
        wrong = [(await api.ask("GET", "/crawls", token=f"a-wrong-token-{number}")).status for number in range(5)]
        assert wrong == [401, 401, 401, 429, 429]
        refused = await api.ask("GET", "/crawls")
        assert refused.status == 429
        assert int(refused.headers["Retry-After"]) > 9_000
        assert (await api.ask_locally("GET", "/crawls")).status == 200


async def test_a_request_that_lasts_ends_when_its_token_is_revoked(tmp_path: Path) -> None:
    async with served(tmp_path, idle_s=IDLE_S, body_s=2 * MAX_WAIT_S) as api:
        tokens = Tokens(tmp_path)
        kept, revoked = tokens.add("kept", Rights.FULL), tokens.add("revoked", Rights.FULL)
        async with connected(api) as (reader, writer), connected(api) as (other, write_other):
            writer.write(head(api, f"POST {BASE}/reload", "Content-Length: 5", token=revoked))
            write_other.write(head(api, f"POST {BASE}/reload", "Content-Length: 5", token=kept))
            assert (await api.ask("GET", "/crawls")).status == 200
            tokens.revoke("revoked")
            assert await until_it_ends(reader) == b""
            write_other.write(b"     ")
            assert await status(other) == 200


def test_of_very_many_lines_an_error_has_as_many_as_may_be() -> None:
    detail = "\n".join(["one of many lines"] * 2_000)
    shown = Refused(HTTPStatus.UNPROCESSABLE_ENTITY, detail).problem.detail
    assert shown == f"{detail[:20_000]}… ({len(detail):,} characters)"

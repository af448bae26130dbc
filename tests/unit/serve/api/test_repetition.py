"""Requests with a key: carried out once, answered as often as they are sent."""

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from http import HTTPStatus
from pathlib import Path

import aiohttp
import pytest
from aiohttp import web

from crawler.serve.api.gate.answers import Answer, Answers, Bounds
from crawler.serve.api.gate.caller import CALLER, Caller
from crawler.serve.api.gate.repetition import HEADER, MAX_KEY, REPLAYED, Repetition
from crawler.serve.api.problems import Refused, as_problems
from tests.unit.serve.api.serving import served

KEY = '"8e03978e-40d5-43e8-bc93-6894a57f9324"'


class Counting:
    """Counts what is carried out. `/slow` waits until `go` is set, `/refused` is refused until then."""

    def __init__(self, client: aiohttp.ClientSession) -> None:
        self.done = 0
        self.begun = asyncio.Event()
        self.go = asyncio.Event()
        self._client = client
        self.url = ""

    async def count(self, request: web.Request) -> web.Response:
        self.begun.set()
        if request.path == "/slow":
            await self.go.wait()
        if request.path == "/refused" and not self.go.is_set():
            raise Refused(HTTPStatus.CONFLICT, "not now")
        self.done += 1
        if request.path == "/empty":
            return web.Response(status=204)
        return web.json_response({"done": self.done}, status=202)

    async def ask(
        self,
        path: str = "/count",
        key: str | None = KEY,
        *,
        method: str = "POST",
        body: bytes = b"{}",
        caller: str = "owner",
    ) -> tuple[int, bytes, bool]:
        """The status, the body, and whether it is an answer that was given before."""
        headers = {"X-Caller": caller} | ({} if key is None else {HEADER: key})
        async with self._client.request(method, self.url + path, data=body, headers=headers) as reply:
            return reply.status, await reply.read(), reply.headers.get(REPLAYED) == "true"


@web.middleware
async def name_caller(
    request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
) -> web.StreamResponse:
    request[CALLER] = Caller(name=request.headers["X-Caller"])
    return await handler(request)


@asynccontextmanager
async def counting(folder: Path) -> AsyncIterator[Counting]:
    """A server that counts, as it is after a start."""
    async with aiohttp.ClientSession() as client:
        counts = Counting(client)
        app = web.Application(middlewares=[as_problems, name_caller, Repetition(Answers(folder)).middleware()])
        app.router.add_route("*", "/{any}", counts.count)
        runner = web.AppRunner(app, access_log=None)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        counts.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
        try:
            yield counts
        finally:
            await runner.cleanup()


async def test_a_repeated_request_gets_the_first_answer_also_from_the_next_daemon(tmp_path: Path) -> None:
    folder = tmp_path / "answers"
    async with counting(folder) as api:
        assert await api.ask() == (202, b'{"done": 1}', False)
        assert await api.ask() == (202, b'{"done": 1}', True)
        assert await api.ask("/empty", '"empty"') == (204, b"", False)
        assert await api.ask(key=None) == (202, b'{"done": 3}', False)
    # What a kill leaves behind is half written.
    (folder / "half.new").write_bytes(b"{")
    async with counting(folder) as api:
        assert await api.ask() == (202, b'{"done": 1}', True)
        assert await api.ask("/empty", '"empty"') == (204, b"", True)
        assert api.done == 0
    assert {path.suffix for path in folder.iterdir()} == {".json"}
    assert {path.stat().st_mode & 0o777 for path in folder.iterdir()} == {0o600}
    assert not any(b"8e03978e" in path.read_bytes() for path in folder.iterdir())


async def test_a_key_belongs_to_its_caller_and_to_post(tmp_path: Path) -> None:
    async with counting(tmp_path / "answers") as api:
        assert await api.ask() == (202, b'{"done": 1}', False)
        assert await api.ask(caller="another") == (202, b'{"done": 2}', False)
        assert await api.ask(method="PUT") == (202, b'{"done": 3}', False)
        # Quotes are not part of it.
        assert await api.ask(key=KEY.strip('"')) == (202, b'{"done": 1}', True)


async def test_another_request_with_the_key_of_an_earlier_one_is_refused(tmp_path: Path) -> None:
    async with counting(tmp_path / "answers") as api:
        await api.ask()
        for path, body in (("/count", b"{ }"), ("/other", b"{}"), ("/count?more=1", b"{}")):
            status, told, _ = await api.ask(path, body=body)
            assert status == 422, (path, body)
            assert b"another request has had this Idempotency-Key" in told
        assert api.done == 1


async def test_a_request_in_progress_is_not_begun_again(tmp_path: Path) -> None:
    async with counting(tmp_path / "answers") as api, asyncio.TaskGroup() as group:
        first = group.create_task(api.ask("/slow"))
        await api.begun.wait()
        status, told, _ = await api.ask("/slow")
        assert (status, b"is in progress" in told) == (409, True)
        assert (await api.ask("/slow", body=b"other"))[0] == 422
        api.go.set()
        assert await first == (202, b'{"done": 1}', False)
        assert await api.ask("/slow") == (202, b'{"done": 1}', True)


async def test_what_was_refused_may_be_tried_again_with_the_same_key(tmp_path: Path) -> None:
    async with counting(tmp_path / "answers") as api:
        assert (await api.ask("/refused"))[0] == 409
        api.go.set()
        assert await api.ask("/refused", body=b"corrected") == (202, b'{"done": 1}', False)
        assert list((tmp_path / "answers").iterdir()) != []


@pytest.mark.parametrize(
    "key", ["", '""', '"a', 'a"', "a b", '"ä"', '"a"; b=1', '"a", "b"', '"a\\b"', "a" * (MAX_KEY + 1), "@"]
)
async def test_a_malformed_key_is_refused_and_nothing_is_done(key: str, tmp_path: Path) -> None:
    async with counting(tmp_path / "answers") as api:
        status, told, _ = await api.ask(key=key)
        assert (status, b"expected one header Idempotency-Key" in told) == (400, True)
        assert api.done == 0


async def test_keys_may_have_any_visible_character(tmp_path: Path) -> None:
    async with counting(tmp_path / "answers") as api:
        for number, key in enumerate(('"a \\" \\\\ ~ !"', f'"{"x" * MAX_KEY}"', "x.y_z~-0"), start=1):
            assert await api.ask(key=key) == (202, b'{"done": %d}' % number, False)
            assert await api.ask(key=key) == (202, b'{"done": %d}' % number, True)


async def test_an_answer_that_can_not_be_kept_is_given_all_the_same(tmp_path: Path) -> None:
    async with counting(tmp_path / "answers") as api:
        (tmp_path / "answers").rmdir()
        (tmp_path / "answers").touch()
        assert await api.ask() == (202, b'{"done": 1}', False)
        (tmp_path / "answers").unlink()
        assert await api.ask() == (202, b'{"done": 2}', False)
        assert await api.ask() == (202, b'{"done": 2}', True)


def answer(text: str = "x") -> Answer:
    return Answer(request="digest", status=200, content_type="application/json", body=text)


def test_answers_are_bounded_in_age_number_and_bytes(tmp_path: Path) -> None:
    answers = Answers(tmp_path, Bounds(age_s=100.0, number=3, total_bytes=1_000))
    for number in range(4):
        answers.keep("owner", f"k{number}", answer(), now=float(number))
    assert len(list(tmp_path.iterdir())) == 3
    assert answers.find("owner", "k0", now=4.0) is None
    assert answers.find("owner", "k1", now=101.0) == answer()
    assert answers.find("owner", "k1", now=101.5) is None
    answers.keep("owner", "large", answer("y" * 800), now=102.0)
    assert answers.find("owner", "large", now=102.0) == answer("y" * 800)
    answers.keep("owner", "small", answer("y" * 400), now=102.0)
    assert [path.stat().st_size < 600 for path in tmp_path.iterdir()] == [True]


def test_the_age_of_answers_outlasts_the_daemon_and_damaged_ones_are_dropped(tmp_path: Path) -> None:
    answers = Answers(tmp_path)
    for key in ("old", "new", "damaged"):
        earlier = set(tmp_path.iterdir())
        answers.keep("owner", key, answer(key))
        (path,) = set(tmp_path.iterdir()) - earlier
        if key == "old":
            os.utime(path, (1_000, 1_000))
        if key == "damaged":
            path.write_bytes(b"{")
    answers = Answers(tmp_path)
    assert answers.find("owner", "old") is None
    assert answers.find("owner", "new") == answer("new")
    assert answers.find("owner", "damaged") is None
    assert len(list(tmp_path.iterdir())) == 1


def test_what_is_no_answer_is_left_alone(tmp_path: Path) -> None:
    for name in ("kept", "kept.json"):
        (tmp_path / "answers" / name / "within").mkdir(parents=True)
    (tmp_path / "answers" / "pipe.json").symlink_to("nowhere")
    answers = Answers(tmp_path / "answers", Bounds(number=1))
    for key in "ab":
        answers.keep("owner", key, Answer(request="r", status=202, content_type="", body=""))
    assert [answers.find("owner", key) is None for key in "ab"] == [True, False]
    assert sorted(path.name for path in (tmp_path / "answers").iterdir() if len(path.name) < 20) == [
        "kept",
        "kept.json",
        "pipe.json",
    ]


async def test_the_api_takes_keys_and_refuses_malformed_ones(tmp_path: Path) -> None:
    async with served(tmp_path) as api:
        first = await api.ask("POST", "/reload", headers={HEADER: KEY})
        again = await api.ask("POST", "/reload", headers={HEADER: KEY})
        assert (first.status, again.status, again.body) == (200, 200, first.body)
        assert (REPLAYED in first.headers, again.headers[REPLAYED]) == (False, "true")
        assert again.headers["Content-Type"] == first.headers["Content-Type"]
        assert (await api.ask("POST", "/reload", b"x", headers={HEADER: KEY})).status == 422
        assert (await api.ask("POST", "/reload", headers={HEADER: "?"})).status == 400
        # Whoever may not ask learns nothing about keys.
        assert (await api.ask("POST", "/reload", token="", headers={HEADER: "?"})).status == 401

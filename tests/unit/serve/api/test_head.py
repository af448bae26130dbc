"""HEAD is answered as GET, without a body."""

import asyncio
from pathlib import Path

import pytest

from crawler.serve.api.routes import ROUTES
from crawler.testing.timeouts import MAX_WAIT_S
from tests.unit.serve.api.serving import BASE, served


def path_of(path: str) -> str:
    return path.removeprefix(BASE).replace("{", "").replace("}", "")


PATHS = [path_of(route.path) for route in ROUTES if route.method == "GET" and route.streams != "text/event-stream"]


@pytest.mark.parametrize("path", ["/openapi.json", "/../../metrics", *PATHS])
async def test_head_is_answered_as_get_without_a_body(path: str, tmp_path: Path) -> None:
    async with served(tmp_path) as api:
        got, found = await api.ask("GET", path), await api.ask("HEAD", path)
        assert (found.status, found.body) == (got.status, b"")
        for name in ("Content-Type", "Content-Length"):
            assert found.headers[name] == got.headers[name]


async def test_head_of_the_events_ends_and_takes_no_place(tmp_path: Path) -> None:
    async with served(tmp_path) as api, asyncio.timeout(MAX_WAIT_S):
        for _ in range(40):
            found = await api.ask("HEAD", "/events")
            assert (found.status, found.headers["Content-Type"]) == (200, "text/event-stream")

"""The API with its real server on loopback, and a folder without crawls."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import msgspec

from crawler.serve.api.gate.limits import Limits
from crawler.serve.api.server import Listen, serving
from crawler.serve.daemon import Daemon, Options
from crawler.serve.notify import Supervisor
from crawler.serve.records import Home

BASE = "/api/v1"
LOOPBACK = Listen("127.0.0.1", 0)
IDLE_S = 2.0
"""After so long a server leaves clients in a test of that. Others in it need more than a moment to be answered."""


class Answer(msgspec.Struct, frozen=True):
    status: int
    headers: Mapping[str, str]
    body: bytes


class Api:
    """Asks a daemon that listens on a port."""

    def __init__(self, daemon: Daemon, port: int, client: aiohttp.ClientSession) -> None:
        self.daemon = daemon
        self.home = daemon.home
        self.port = port
        self._client = client

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def token(self) -> str:
        return (self.home / "token").read_text().strip()

    async def ask(
        self,
        method: str,
        path: str,
        body: bytes = b"",
        *,
        token: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        """Ask with a token: that of the owner if none is given, none at all if it is empty."""
        chosen = self.token if token is None else token
        sent = {**({"Authorization": f"Bearer {chosen}"} if chosen else {}), **(headers or {})}
        async with self._client.request(method, self.url + BASE + path, data=body, headers=sent) as reply:
            return Answer(reply.status, dict(reply.headers), await reply.read())

    async def ask_locally(self, method: str, path: str) -> Answer:
        """Ask on the local socket."""
        connector = aiohttp.UnixConnector(str(self.home / "daemon" / "api"))
        async with (
            aiohttp.ClientSession(connector=connector) as client,
            client.request(method, f"http://localhost{BASE}{path}") as reply,
        ):
            return Answer(reply.status, dict(reply.headers), await reply.read())


@asynccontextmanager
async def served(home: Path, listen: Listen = LOOPBACK, *, is_read: bool = True, **limits: Any) -> AsyncIterator[Api]:
    """`is_read`: whether the daemon, which does not run, knows the crawls of its folder: none."""
    home.mkdir(exist_ok=True)
    with Home(home) as locked:
        daemon = Daemon(locked, Options(), Supervisor({}))
        if is_read:
            daemon.knows_crawls.set()
        async with serving(daemon, listen, Limits(**limits)) as port, aiohttp.ClientSession() as client:
            assert port is not None
            yield Api(daemon, port, client)

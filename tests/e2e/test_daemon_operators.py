"""Several people and programs use a daemon from other machines: by TLS, each with a token, and each request once."""

from collections.abc import Mapping
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from pathlib import Path

import msgspec
import pytest

from crawler.serve.api.gate.repetition import HEADER, REPLAYED
from tests.e2e.crawling import COMPLETE, TIMEOUT_S, Web
from tests.e2e.operating import command_here
from tests.e2e.test_daemon import Served, serving, write
from tests.e2e.test_daemon_api import BASE, Api, Reply
from tests.unit.serve.api.test_api_tls import Files

SEEDS = f"{BASE}/crawls/a/seeds"


class Client:
    """Asks by TLS, with a token."""

    def __init__(self, served: Served, files: Files) -> None:
        self.port = int(served.daemon.err.rpartition("listens on https://127.0.0.1:")[2].partition("/")[0])
        self._trust = files.trusting()
        self.api = Api(self.connect)

    def connect(self) -> HTTPSConnection:
        return HTTPSConnection("127.0.0.1", self.port, context=self._trust, timeout=TIMEOUT_S)

    def ask(
        self, token: str, method: str, path: str, body: bytes = b"", headers: Mapping[str, str] | None = None
    ) -> Reply:
        return self.api.ask(method, path, body, {"Authorization": f"Bearer {token}", **(headers or {})})

    def ask_plainly(self) -> None:
        """Without TLS."""
        connection = HTTPConnection("127.0.0.1", self.port, timeout=TIMEOUT_S)
        try:
            connection.request("GET", f"{BASE}/crawls")
            connection.getresponse()
        finally:
            connection.close()

    def serial_number(self) -> object:
        connection = self.connect()
        connection.connect()
        certificate = connection.sock.getpeercert()
        connection.close()
        return (certificate or {})["serialNumber"]


def outcomes(reply: Reply) -> list[str]:
    assert reply.status == 200, reply
    return [each["outcome"] for each in reply.json()["urls"]]


def made(home: Path, *arguments: str) -> str:
    added = command_here("token", "add", str(home), *arguments)
    assert added.code == COMPLETE
    return added.out.strip()


def test_clients_of_other_machines_have_tokens_and_what_they_repeat_is_done_once(tmp_path: Path, slow_web: Web) -> None:
    home, files = tmp_path / "home", Files(tmp_path)
    write(home, "a", slow_web, 'fetch.headers = { Cookie = "session=1" }', delay_s=30.0)
    options = ("--listen", "127.0.0.1:0", "--allow-remote", "crawls.test", *files.options)
    new = f"http://h00000.{slow_web.params.domain}/brand-new"
    body, key = msgspec.json.encode({"urls": [new]}), {HEADER: '"a-key-of-mine"'}

    with serving(home, *options) as served:
        crawl = served.wait_for_pid("a")
        reader, writer = made(home, "reader", "--read-only"), made(home, "writer")
        client = Client(served, files)
        assert client.ask(reader, "GET", f"{BASE}/crawls", headers={"Host": "crawls.test"}).status == 200
        assert client.ask(reader, "GET", f"{BASE}/crawls", headers={"Host": "evil.test"}).status == 421
        assert client.ask(reader, "POST", SEEDS, body, key).status == 403
        for token, headers, status in ((reader, '["Cookie"]', 403), (writer, '{ "Cookie" = "session=1" }', 200)):
            settings = client.ask(token, "GET", f"{BASE}/crawls/a/configuration").json()["settings"]
            assert [each["value"] for each in settings if each["key"] == "fetch.headers"] == [headers]
            assert client.ask(token, "GET", f"{BASE}/crawls/a/configuration/text").status == status
        first = client.ask(writer, "POST", SEEDS, body, key)
        assert (outcomes(first), REPLAYED in first.headers) == (["added"], False)
        again = client.ask(writer, "POST", SEEDS, body, key)
        assert (again.body, again.headers[REPLAYED]) == (first.body, "true")
        assert client.ask(writer, "POST", SEEDS, body + b" ", key).status == 422
        # Nobody who speaks no TLS is answered.
        with pytest.raises((HTTPException, OSError)):
            client.ask_plainly()
        # The crawl outlasts its daemon.
        served.daemon.process.kill()
        served.daemon.process.wait()

        with serving(home, *options) as following:
            assert following.wait_for_pid("a") == crawl
            client = Client(following, files)
            replayed = client.ask(writer, "POST", SEEDS, body, key)
            assert (replayed.body, replayed.headers[REPLAYED]) == (first.body, "true")
            assert outcomes(client.ask(writer, "POST", SEEDS, body)) != ["added"]
            listed = command_here("token", "list", str(home), "--json").out
            assert [each["name"] for each in msgspec.json.decode(listed)] == ["owner", "reader", "writer"]
            assert command_here("token", "revoke", str(home), "writer").code == COMPLETE
            assert client.ask(writer, "POST", SEEDS, body, key).status == 401
            assert client.ask(reader, "GET", f"{BASE}/crawls").status == 200
            owner = (home / "token").read_text().strip()
            (home / "token").write_text("another-token-of-the-owner")
            assert client.ask(owner, "GET", f"{BASE}/crawls").status == 401
            # A new certificate holds for new connections.
            before = client.serial_number()
            files.issue()
            assert client.ask("another-token-of-the-owner", "POST", f"{BASE}/reload").status == 200
            assert client.serial_number() != before
            lines = [msgspec.json.decode(line) for line in (home / "daemon" / "audit.log").read_bytes().splitlines()]
            told = [(each["caller"], each["status"]) for each in lines]
            writes = [("token writer", status) for status in (200, 200, 422, 200, 200)]
            assert told == [("token reader", 403), *writes, ("token owner", 200)]
            following.end()

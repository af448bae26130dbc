"""The API of a daemon that runs real crawls."""

import signal
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path
from typing import Any

import msgspec
import redis
from jsonschema import Draft202012Validator

from crawler.serve.api.forms import CrawlList
from crawler.serve.life.facts import Wish
from tests.e2e.crawling import COMPLETE, REFUSED, STOPPED, TIMEOUT_S, Web, assert_sound, assert_told, onceover, started
from tests.e2e.test_daemon import Served, serving, write
from tests.redis_server import running_redis

BASE = "/api/v1"


class Reply(msgspec.Struct, frozen=True):
    status: int
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:
        return msgspec.json.decode(self.body)


class Api:
    """Asks a daemon, on its socket or its port, and compares each reply with the document."""

    def __init__(self, connect: Any) -> None:
        self._connect = connect
        self._document: Any = None

    def ask(self, method: str, path: str, body: bytes = b"", headers: Mapping[str, str] | None = None) -> Reply:
        connection: HTTPConnection = self._connect()
        try:
            connection.request(method, path, body, dict(headers or {}))
            response = connection.getresponse()
            return Reply(response.status, dict(response.getheaders()), response.read())
        finally:
            connection.close()

    @contextmanager
    def events(self) -> Iterator[Iterator[tuple[str, Any]]]:
        """What happens from now on: the kind of each event, and its value."""
        connection: HTTPConnection = self._connect()
        try:
            connection.request("GET", f"{BASE}/events")
            yield _events(connection.getresponse())
        finally:
            connection.close()

    def do(
        self, method: str, path: str, body: bytes = b"", *, status: int = 200, headers: Mapping[str, str] | None = None
    ) -> Any:
        reply = self.ask(method, BASE + path, body, headers)
        assert reply.status == status, reply
        if self._document is None:
            self._document = self.ask("GET", f"{BASE}/openapi.json", headers=headers).json()
        template = BASE + _template(path.partition("?")[0])
        described = self._document["paths"][template][method.lower()]["responses"][str(status)]
        if "content" not in described:
            assert reply.body == b""
            return None
        ((media_type, content),) = described["content"].items()
        assert reply.headers["Content-Type"].partition(";")[0] == media_type
        schema = {**content["schema"], "components": self._document["components"]}
        Draft202012Validator(schema).validate(reply.json())
        return reply.json()


def _template(path: str) -> str:
    """The path as the document names it."""
    pieces = path.split("/")
    for kind, name in (("crawls", "{name}"), ("hosts", "{host}")):
        if kind in pieces[:-1]:
            pieces[pieces.index(kind) + 1] = name
    return "/".join(pieces)


def _events(response: HTTPResponse) -> Iterator[tuple[str, Any]]:
    kind = ""
    while line := response.readline().decode():
        name, _, value = line.rstrip("\n").partition(": ")
        kind = value if name == "event" else kind
        if name == "data":
            yield kind, msgspec.json.decode(value)


def on_socket(served: Served) -> Api:
    def connect() -> HTTPConnection:
        connection = HTTPConnection("localhost", timeout=TIMEOUT_S)
        connection.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        connection.sock.settimeout(TIMEOUT_S)
        connection.sock.connect(str(served.home / "daemon" / "api"))
        return connection

    return Api(connect)


@contextmanager
def on_port(home: Path) -> Iterator[tuple[Served, Api, int]]:
    with serving(home, "--listen", "127.0.0.1:0") as served:
        port = int(served.daemon.err.partition("http://127.0.0.1:")[2].partition("/")[0])
        yield served, Api(lambda: HTTPConnection("127.0.0.1", port, timeout=TIMEOUT_S)), port


def test_a_port_that_is_in_use_is_named_with_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        ended = onceover("daemon", "home", "--listen", f"127.0.0.1:{port}", cwd=tmp_path)
    assert (ended.code, ended.out) == (REFUSED, "")
    assert (
        f"onceover: can't listen on 127.0.0.1:{port}: Address already in use; give --listen another address or port\n"
        in ended.err
    )


def test_a_program_creates_steers_and_deletes_a_crawl(tmp_path: Path, slow_web: Web) -> None:
    home = tmp_path / "home"
    text = write(home, "aside", slow_web, delay_s=5.0).read_bytes()
    (home / "aside.toml").unlink()
    toml = {"Content-Type": "application/toml"}
    with serving(home) as served:
        api = on_socket(served)

        def state() -> str:
            return str(api.do("GET", "/crawls/a")["state"])

        assert api.do("GET", "/crawls") == {"crawls": []}
        wrong = api.do("PUT", "/crawls/a", b"[crawl]\nseeds = 5\n", status=422, headers=toml)
        assert wrong["problems"] == [
            "a.toml:2: crawl.seeds: expected a list of texts, each not empty and without control characters, found 5"
        ]
        assert not (home / "a.toml").exists()
        created = api.do("PUT", "/crawls/a", text, headers=toml)
        assert created["directory"] == str(home / "crawls" / "a")
        served.wait_for_pid("a")
        # Repeated it changes nothing; with another content it is refused.
        assert api.do("PUT", "/crawls/a", text, headers=toml)["name"] == "a"
        another = api.do("PUT", "/crawls/a", text + b"# more", status=409, headers=toml)
        assert "POST the new one to /api/v1/crawls/" in str(another["detail"])
        assert (home / "a.toml").read_bytes() == text

        for wrong in (b'{"reason": "\\u0000"}', b'{"reason": "\\n"}', b'{"reason": ""}', b'{"reason": "\\ud800"}'):
            api.do("POST", "/crawls/a/pause", wrong, status=422)
        assert api.do("POST", "/crawls/a/pause", b'{"reason": "by night"}')["reason"] == "by night"
        api.do("POST", "/crawls/a/pause", status=409)
        api.do("POST", "/crawls/a/pause", b'{"why": 5}', status=422)
        api.do("DELETE", "/crawls/a", status=409)
        assert api.do("POST", "/crawls/a/stop", status=202)["state"] == "ending"
        served.wait(lambda: state() == "stopped", "stop")
        api.do("POST", "/crawls/a/start", status=202)
        served.wait(lambda: state() == "paused", "pause that outlasts the process")
        assert api.do("POST", "/crawls/a/resume")["state"] == "starting"
        api.do("POST", "/crawls/a/resume", status=409)
        served.wait(lambda: state() == "running", "second run")
        api.do("POST", "/crawls/a/stop", status=202)
        served.wait(lambda: state() == "stopped", "stop")
        assert served.record("a").wish is Wish.STOP
        assert_sound(served.directory("a"))
        # Files that changed on disk are read on request.
        write(home, "b", slow_web, delay_s=5.0)
        assert [each["how"] for each in api.do("POST", "/reload")["changes"]] == ["added"]
        api.do("DELETE", "/crawls/a", status=204)
        assert [each["name"] for each in api.do("GET", "/crawls")["crawls"]] == ["b"]
        assert served.directory("a").is_dir()
        assert not list(home.glob("daemon/*/a.*"))
        assert "API, local socket: deleted a; its directory is kept" in served.daemon.err
        served.end()
        assert not (home / "daemon" / "api").exists()


def test_what_is_asked_of_a_crawl_that_does_not_run_finds_relative_paths_and_servers_as_the_crawl_does(
    tmp_path: Path, web: Web
) -> None:
    """The daemon was started elsewhere: a service has no current directory of its own. A server that is away may come
    back, so a client may try again."""
    home = tmp_path / "home"
    with running_redis() as server, redis.Redis.from_url(server.url) as client:
        client.config_set("requirepass", "sesame")
        options = f'{{ url = "{server.url}", password_file = "password" }}'
        write(home, "a", web, f'visited.backend = "redis-exact"\nvisited.options = {options}')
        (home / "password").write_text("sesame\n")
        with serving(home) as served:
            served.wait_until_complete("a")
            api = on_socket(served)
            assert api.do("GET", "/crawls/a/visited")["backend"] == "redis-exact"
            body = msgspec.json.encode({"urls": [f"http://h00000.{web.params.domain}/once-more"]})
            server.kill()
            assert "start it" in api.do("POST", "/crawls/a/seeds", body, status=503)["detail"]


def test_status_of_the_folder_of_a_daemon_lists_its_crawls(tmp_path: Path, slow_web: Web) -> None:
    home = tmp_path / ("h" * 100)  # longer than the address of a socket
    write(home, "a", slow_web, delay_s=30.0)
    (home / "b.toml").write_text("[crawl]\nseeds = 5\n")
    with serving(home) as served:
        pid = served.wait_for_pid("a")
        listed = onceover("status", home, cwd=tmp_path)
        assert_told(listed, COMPLETE)
        head, names, first, second, *problems = listed.out.splitlines()
        assert head == f"the daemon of {home} has 2 crawls, of which 1 runs"
        assert names.split() == ["name", "state", "pages", "memory", "why"]
        assert first.split()[:2] == ["a", "running"]
        assert second.split()[:3] == ["b", "broken", "0"]
        assert second.rstrip().endswith("its configuration can't be used")
        assert problems[0] == "b:"
        assert problems[1].startswith(f"    {home}/b.toml:2: crawl.seeds: ")
        told = msgspec.json.decode(onceover("status", home, "--json", cwd=tmp_path).out, type=CrawlList)
        assert [(each.name, each.pid) for each in told.crawls] == [("a", pid), ("b", None)]
        assert_told(onceover("top", home, cwd=tmp_path), REFUSED, f"`onceover status {home}` lists them")
    assert_told(onceover("status", home, cwd=tmp_path), REFUSED, f"no daemon serves {home}: `onceover daemon ")


def test_a_stopped_crawl_that_somebody_runs_by_hand_is_shown_as_running_and_rests_again_afterwards(
    tmp_path: Path, slow_web: Web
) -> None:
    home = tmp_path / "home"
    write(home, "a", slow_web, delay_s=5.0)
    with serving(home) as served:
        api = on_socket(served)

        def state() -> str:
            return str(api.do("GET", "/crawls/a")["state"])

        served.wait_for_pid("a")
        api.do("POST", "/crawls/a/stop", status=202)
        served.wait(lambda: state() == "stopped", "stop")
        with started("crawl", "a.toml", cwd=home) as crawl:
            served.wait(lambda: state() == "running", "notice")
            shown = api.do("GET", "/crawls/a")
            assert (shown["pid"], len(shown["runs"])) == (crawl.pid, 1)
            refused = api.ask("DELETE", f"{BASE}/crawls/a")
            assert (refused.status, refused.json()["detail"]) == (
                409,
                "a runs: stop it first, and wait until it has ended",
            )
            crawl.signal(signal.SIGTERM)
            assert_told(crawl.wait(), STOPPED)
        served.wait(lambda: state() == "stopped", "end")
        served.end()
        assert (served.record("a").wish, len(served.record("a").runs)) == (Wish.STOP, 1)


def test_a_paused_crawl_is_never_shown_as_running(tmp_path: Path, slow_web: Web) -> None:
    """Whether its process outlasts the daemon, ends with it, or crashes."""
    home = tmp_path / "home"
    write(home, "a", slow_web, delay_s=5.0)
    with serving(home) as served:
        pid = served.wait_for_pid("a")
        assert on_socket(served).do("POST", "/crawls/a/pause", b'{"reason": "by night"}')["state"] == "paused"
        served.daemon.process.kill()
        served.daemon.process.wait()
        with serving(home) as second:
            first = await_crawl(second, "pid", pid)
            assert (first["state"], first["reason"]) == ("paused", "by night")
            second.end()
        with serving(home) as third:
            first = await_crawl(third, "state", "paused")
            assert (first["state"], first["pid"], len(first["runs"])) == ("paused", None, 1)
            third.end()


def await_crawl(served: Served, key: str, value: object) -> Any:
    """The crawl as the API first shows it with a value."""
    found: list[Any] = []

    def is_there() -> bool:
        found.append(on_socket(served).do("GET", "/crawls/a"))
        return bool(found[-1][key] == value)

    served.wait(is_there, f"{key} {value}")
    assert "running" not in {each["state"] for each in found}
    return found[-1]


def test_who_may_not_ask_is_refused_and_changes_nothing(tmp_path: Path, web: Web) -> None:
    home = tmp_path / "home"
    write(home, "a", web)
    with on_port(home) as (served, api, port):
        token = (home / "token").read_text().strip()
        good = {"Authorization": f"Bearer {token}"}
        assert api.ask("GET", f"{BASE}/crawls").status == 401
        assert api.ask("GET", f"{BASE}/crawls").headers["WWW-Authenticate"] == "Bearer"
        for wrong in (f"Bearer {token}x", f"Basic {token}", token, "Bearer ", "Bearer \xe9"):
            assert api.ask("POST", f"{BASE}/crawls/a/stop", headers={"Authorization": wrong}).status == 401
        for host in ("evil.test", f"evil.test:{port}", "127.0.0.1", f"127.0.0.1:{port + 1}"):
            assert api.ask("POST", f"{BASE}/crawls/a/stop", headers={"Host": host, **good}).status == 421
        for origin in ("http://evil.test", "null", f"https://127.0.0.1:{port}"):
            assert api.ask("POST", f"{BASE}/crawls/a/stop", headers={"Origin": origin, **good}).status == 403
        assert served.record("a").wish is Wish.RUN
        ours = {"Origin": f"http://localhost:{port}", "Host": f"localhost:{port}"}
        assert api.do("GET", "/crawls", headers={**ours, **good})["crawls"][0]["name"] == "a"
        (home / "token").write_text("a-new-token-of-the-operator")
        assert api.ask("GET", f"{BASE}/crawls", headers=good).status == 401
        assert (
            api.ask("GET", f"{BASE}/crawls", headers={"Authorization": "bearer a-new-token-of-the-operator"}).status
            == 200
        )
        served.end()


def test_requests_that_make_no_sense_are_answered_as_problems(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    toml = {"Content-Type": "application/toml"}
    with serving(home) as served:
        api = on_socket(served)
        for method, path, body, headers, status in (
            ("GET", "/crawls/none", b"", {}, 404),
            ("DELETE", "/crawls/none", b"", {}, 404),
            ("POST", "/crawls/none/start", b"", {}, 404),
            ("GET", "/nothing", b"", {}, 404),
            ("PATCH", "/crawls", b"", {}, 405),
            ("PUT", "/crawls/a", b"[crawl]", {}, 415),
            ("PUT", "/crawls/a", b"x" * (1 << 21), toml, 413),
            ("PUT", "/crawls/a", b"\xff\xfe", toml, 422),
            ("PUT", "/crawls/..%2F..%2Fetc", b"", toml, 422),
            ("PUT", "/crawls/.hidden", b"", toml, 422),
            ("PUT", "/crawls/" + "a" * 101, b"", toml, 422),
            ("GET", "/crawls/..%2f..%2f..%2fetc%2fpasswd", b"", {}, 404),
        ):
            reply = api.ask(method, BASE + path, body, headers)
            assert reply.status == status, (method, path, reply)
            assert reply.headers["Content-Type"] == "application/problem+json"
            assert reply.json()["status"] == status
            assert reply.json()["detail"]
        assert {path.name for path in home.iterdir()} == {"daemon"}
        served.end()

"""The folder of a daemon is read again while pages are on their way: they are fetched once, and nothing is dropped."""

import signal
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event, Thread

import msgspec

from crawler.disk.layout import part_directories
from crawler.testing.timeouts import MAX_WAIT_S
from tests.e2e.crawling import assert_sound
from tests.e2e.test_daemon import Served, serving

HOSTS, PAGES = 4, 5


class HeldWeb:
    """Hosts whose pages, but their first ones, are answered when `release` is called."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        """The URLs of pages, in order."""
        self._released = Event()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        web = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                web.answer(self)

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - named by http.server
                return

        return Handler

    @property
    def port(self) -> int:
        return self._server.server_port

    def release(self) -> None:
        self._released.set()

    def answer(self, request: BaseHTTPRequestHandler) -> None:
        is_page = request.path.removeprefix("/") in {"", *map(str, range(1, PAGES))}
        if is_page:
            self.asked.append(f"http://{request.headers['Host'].partition(':')[0]}{request.path}")
        if is_page and request.path != "/":
            assert self._released.wait(MAX_WAIT_S)
        body = "".join(f'<a href="/{number}">x</a>' for number in range(1, PAGES)).encode()
        request.send_response(200 if is_page else 404)
        request.send_header("Content-Type", "text/html")
        request.send_header("Content-Length", str(len(body)))
        request.end_headers()
        request.wfile.write(body)

    @contextmanager
    def serve(self) -> Iterator[None]:
        thread = Thread(target=self._server.serve_forever)
        thread.start()
        try:
            yield
        finally:
            self.release()
            self._server.shutdown()
            thread.join()
            self._server.server_close()


def hosts_of(name: str) -> list[str]:
    """Each is a registered domain, so the hosts are divided among the parts of a crawl."""
    return [f"{name}{number}.test" for number in range(HOSTS)]


def pages_of(name: str) -> set[str]:
    return {f"http://{host}/{page or ''}" for host in hosts_of(name) for page in range(PAGES)}


def write(home: Path, name: str, port: int, more: str) -> None:
    home.mkdir(exist_ok=True)
    seeds = msgspec.json.encode([f"http://{host}/" for host in hosts_of(name)]).decode()
    (home / f"{name}.toml").write_text(
        f'crawl.seeds = {seeds}\nscope.sitemap_paths = []\nfetch.hosts = {{ "*.test" = "127.0.0.1:{port}" }}\n'
        f'politeness.min_delay_s = 0.0\npoliteness.delay_factor = 0\nlog.format = "json"\n{more}\n'
    )


def reload(served: Served) -> str:
    """What the daemon says of it."""
    before = served.daemon.err
    served.daemon.signal(signal.SIGHUP)
    served.wait(lambda: "has read the folder again" in served.daemon.err[len(before) :], "reload")
    return served.daemon.err[len(before) :]


def test_a_reload_in_mid_crawl_fetches_no_page_twice_and_keeps_those_on_their_way(tmp_path: Path) -> None:
    home, web = tmp_path / "home", HeldWeb()
    with web.serve():
        write(home, "one", web.port, "")
        write(home, "two", web.port, "crawl.parts = 2")
        with serving(home) as served:
            # The first page of each host, and one that is held.
            served.wait(lambda: len(web.asked) == 2 * 2 * HOSTS, "pages on their way")
            pids = [served.wait_for_pid(name) for name in ("one", "two")]
            write(home, "one", web.port, "fetch.max_redirects = 3\noutput.warc_level = 5")
            write(home, "two", web.port, "crawl.parts = 2\nfetch.max_redirects = 3")
            told = reload(served)
            assert told.count("fetch.max_redirects is 3; it was") == 2
            assert (
                "output.warc_level is 5; it was 2 (its files are open); this holds when the crawl starts again" in told
            )
            assert "has read the folder again: nothing has changed" in reload(served)
            assert len(web.asked) == 2 * 2 * HOSTS
            assert [served.pid(name) for name in ("one", "two")] == pids
            web.release()
            served.wait_until_complete("one", "two")
            assert [run.how for name in ("one", "two") for run in served.record(name).runs] == ["complete"] * 2
            served.end()
        assert Counter(web.asked) == Counter(pages_of("one") | pages_of("two"))
    for name in ("one", "two"):
        assert_sound(served.directory(name))
    assert_logged(served.directory("one"), "one")
    whole = assert_logged(served.directory("two"), "two")
    assert whole["fields"] == {"ending": "complete", "pages": HOSTS * PAGES}
    for part, directory in enumerate(part_directories(served.directory("two"))):
        assert assert_logged(directory, "two")["part"] == part


def assert_logged(directory: Path, name: str) -> dict[str, object]:
    """Each line of the log is JSON. Returns the one that says how the run has ended."""
    lines = (directory / "logs" / "crawl.log").read_bytes().splitlines()
    messages = [msgspec.json.decode(line, type=dict[str, object]) for line in lines]
    assert {message["crawl"] for message in messages} == {name}
    return next(message for message in messages if str(message["message"]).startswith("ended: "))

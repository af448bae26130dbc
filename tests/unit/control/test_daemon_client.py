"""Answers that are not those of a daemon."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer

import msgspec
import pytest

from crawler.codes.exit_codes import FAILED, REFUSED, USAGE
from crawler.control.client import NoAnswer
from crawler.control.daemon_client import DaemonClient
from crawler.control.replies import Refusal


class Greeting(msgspec.Struct):
    """An answer."""

    hello: str


@contextmanager
def server(status: int, body: bytes) -> Iterator[str]:
    """The URL of a server that always answers that; with status 0, it closes the connection."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if status:
                self.send_response(status)
                self.end_headers()
                self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as listening:
        thread = threading.Thread(target=listening.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{listening.server_port}/below/"
        finally:
            listening.shutdown()
            thread.join()


def test_an_answer_is_read() -> None:
    with server(200, b'{"hello": "world"}') as url:
        assert DaemonClient.at_url(url, token="secret").ask(Greeting, "GET", "crawls") == Greeting("world")


@pytest.mark.parametrize(("status", "body"), [(200, b"<html>"), (200, b"{}"), (200, b"\xff"), (0, b"")])
def test_what_no_daemon_answers_is_no_answer(status: int, body: bytes) -> None:
    with server(status, body) as url, pytest.raises(NoAnswer, match=r"http://127\.0\.0\.1"):
        DaemonClient.at_url(url, token="secret").ask(Greeting, "GET", "crawls")


@pytest.mark.parametrize(
    ("status", "body", "exit_code", "told"),
    [
        (404, b'{"title": "Not Found", "status": 404, "detail": "there is no crawl"}', USAGE, "there is no crawl"),
        (403, b"<html>no\xff</html>", REFUSED, "<html>no\ufffd</html>"),
        (503, b'["busy"]', FAILED, '["busy"]'),
    ],
)
def test_a_refusal_says_what_was_answered(status: int, body: bytes, exit_code: int, told: str) -> None:
    with server(status, body) as url:
        found = DaemonClient.at_url(url, token="secret").ask(Greeting, "GET", "crawls")
        assert found == Refusal(f"{url} answers {status}: {told}", exit_code)

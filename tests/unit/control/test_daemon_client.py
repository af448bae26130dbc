"""Answers that are not those of a daemon."""

import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import msgspec
import pytest
import trustme

from crawler.codes.exit_codes import FAILED, REFUSED, USAGE
from crawler.control.client import NoAnswer
from crawler.control.daemon_client import DaemonClient
from crawler.control.replies import Refusal


class Greeting(msgspec.Struct):
    """An answer."""

    hello: str


@contextmanager
def server(status: int, body: bytes = b"", certificate: trustme.LeafCert | None = None) -> Iterator[str]:
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
        if certificate is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            certificate.configure_cert(context)
            listening.socket = context.wrap_socket(listening.socket, server_side=True)
        thread = threading.Thread(target=listening.serve_forever, args=(0.01,))
        thread.start()
        try:
            scheme = "http" if certificate is None else "https"
            yield f"{scheme}://127.0.0.1:{listening.server_port}/below/"
        finally:
            listening.shutdown()
            thread.join()


def test_an_answer_is_read() -> None:
    with server(200, b'{"hello": "world"}') as url:
        assert DaemonClient.at_url(url, token="secret").ask(Greeting, "GET", "crawls") == Greeting("world")


@pytest.mark.parametrize(
    ("status", "body"),
    [(200, b"<html>"), (200, b"{}"), (200, b"\xff"), (0, b""), pytest.param(200, b'{"a":' * 10_000, id="nested")],
)
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


@pytest.mark.parametrize(
    ("name", "ends", "advice"),
    [
        ("127.0.0.1", None, "in SSL_CERT_FILE"),
        ("127.0.0.1", datetime(2021, 1, 1, tzinfo=UTC), "give the daemon one that holds now"),
        ("127.0.0.2", None, "name the daemon in the URL as its certificate does"),
        ("crawls.test", None, "name the daemon in the URL as its certificate does"),
    ],
    ids=["unknown authority", "has ended", "other address", "no address"],
)
def test_a_certificate_that_does_not_hold_is_told_with_what_to_do(
    name: str, ends: datetime | None, advice: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    authority = trustme.CA()
    authority.cert_pem.write_to_path(tmp_path / "authority.pem")
    if "SSL_CERT_FILE" not in advice:
        monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "authority.pem"))
    with server(200, certificate=authority.issue_cert(name, not_after=ends)) as url:
        with pytest.raises(NoAnswer, match=advice) as refused:
            DaemonClient.at_url(url, token="secret").ask(Greeting, "GET", "crawls")
        assert f"{url} has a certificate that does not hold: " in str(refused.value)


def test_the_other_scheme_is_named_where_a_server_speaks_no_tls_or_nothing_else() -> None:
    with server(0, certificate=trustme.CA().issue_cert("127.0.0.1")) as url:
        client = DaemonClient.at_url(url.replace("https", "http"), token="secret")
        with pytest.raises(NoAnswer, match="use https:// instead of http://"):
            client.ask(Greeting, "GET", "crawls")
    with server(200, b"{}") as url:
        client = DaemonClient.at_url(url.replace("http", "https"), token="secret")
        with pytest.raises(NoAnswer, match="use http:// instead of https://"):
            client.ask(Greeting, "GET", "crawls")

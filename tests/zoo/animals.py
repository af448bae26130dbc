"""The behaviours that a script of bytes can show."""

import gzip
import itertools
from collections.abc import Callable, Iterator

import msgspec

from crawler.testing.fetch.raw_server import CLOSE, HANG, RESET, Drip, Script, Seen, head, page
from tests.zoo import bombs

HTML = b"Content-Type: text/html"
CHUNKED = b"Transfer-Encoding: chunked"
DRIP_S = 0.05
"""Rest between two drips: with the zoo's limits, far too slow."""


class Animal(msgspec.Struct, frozen=True):
    """A behaviour."""

    outcome: str
    script: Callable[[Seen], Script]
    """What is sent on a request."""


def _always(*steps: object) -> Callable[[Seen], Script]:
    return lambda _: steps  # type: ignore[return-value]


def _numbered(form: bytes) -> Iterator[bytes]:
    return (form % number for number in itertools.count())


def _loop(length: int) -> Callable[[Seen], Script]:
    """Redirects from /0 to /1 and so on, and back."""

    def script(seen: Seen) -> Script:
        number = seen.target.strip("/")
        at = int(number) if number.isdecimal() else 0  # robots.txt is asked for, too
        return [page(b"", b"Location: /%d" % ((at + 1) % length), status=b"302 Found")]

    return script


def _to(location: bytes) -> Callable[[Seen], Script]:
    return _always(page(b"", b"Location: " + location, status=b"302 Found"))


def _coded(coding: bytes, body: Callable[[], bytes]) -> Callable[[Seen], Script]:
    return lambda _: [page(body(), HTML, b"Content-Encoding: " + coding)]


def _html(body: bytes, content_type: bytes = HTML) -> Callable[[Seen], Script]:
    return _always(page(body, content_type))


_STATUS = b"HTTP/1.1 200 OK\r\n"

SLOW = {
    "says-nothing": Animal("failed timeout", _always(HANG)),
    "status-drips": Animal("failed timeout", _always(b"HTTP/1.1 200 ", Drip(itertools.repeat(b"x"), DRIP_S))),
    "headers-drip": Animal("failed timeout", lambda _: [_STATUS, Drip(_numbered(b"X-%d: y\r\n"), DRIP_S)]),
    "header-without-end-drips": Animal(
        "failed timeout", _always(_STATUS + b"X: ", Drip(itertools.repeat(b"y"), DRIP_S))
    ),
    "body-drips": Animal("page 200 cut:time", _always(head(HTML), Drip(itertools.repeat(b"x"), DRIP_S))),
    "body-drips-by-length": Animal(
        "page 200 cut:time", _always(head(b"Content-Length: 99999"), Drip(itertools.repeat(b"x"), DRIP_S))
    ),
    "chunks-drip": Animal("page 200 cut:time", _always(head(CHUNKED), Drip(itertools.repeat(b"1\r\nx\r\n"), DRIP_S))),
    "body-never-begins": Animal("failed timeout", _always(head(b"Content-Length: 9"), HANG)),
    "body-stops": Animal("page 200 cut:time", _always(head(b"Content-Length: 9"), b"half", HANG)),
    "continue-for-ever": Animal("failed protocol", _always(itertools.repeat(head(status=b"100 Continue")))),
    "hints-for-ever": Animal("failed protocol", _always(itertools.repeat(head(status=b"103 Early Hints")))),
    "chunk-size-drips": Animal("failed timeout", _always(head(CHUNKED), Drip(itertools.repeat(b"0"), DRIP_S))),
}

ENDLESS = {
    "endless-body": Animal("page 200 cut:length", _always(head(HTML), itertools.repeat(b"<p>" * 3000))),
    "endless-chunk": Animal(
        "page 200 cut:length", _always(head(CHUNKED), b"ffffffffff\r\n", itertools.repeat(b"x" * 9000))
    ),
    "endless-chunks": Animal(
        "page 200 cut:length", _always(head(CHUNKED), itertools.repeat(b"1000\r\n" + b"x" * 4096 + b"\r\n"))
    ),
    "endless-tiny-chunks": Animal(
        "page 200 cut:disconnect", _always(head(CHUNKED), itertools.repeat(b"1\r\nx\r\n" * 4000))
    ),
    "endless-chunk-extension": Animal(
        "failed protocol", _always(head(CHUNKED), b"5;", itertools.repeat(b"x=y;" * 1000))
    ),
    "endless-trailers": Animal(
        "page 200 cut:disconnect",
        lambda _: [head(CHUNKED) + b"5\r\nhello\r\n0\r\n", _numbered(b"X-%d: " + b"y" * 500 + b"\r\n")],
    ),
    "endless-status-line": Animal("failed protocol", _always(b"HTTP/1.1 200 ", itertools.repeat(b"OK" * 1000))),
    "endless-header": Animal("failed protocol", _always(_STATUS + b"X: ", itertools.repeat(b"y" * 1000))),
    "endless-headers": Animal("failed protocol", lambda _: [_STATUS, _numbered(b"X-%d: y\r\n")]),
    "headers-100000": Animal(
        "failed protocol", lambda _: [head(*[b"X-%d: y" % number for number in range(100_000)]) + b"body"]
    ),
    "headers-of-a-megabyte": Animal(
        "failed protocol", lambda _: [page(b"", *[b"X-%d: " % number + b"y" * 30_000 for number in range(40)])]
    ),
    "cookie-of-2-megabytes": Animal("failed protocol", lambda _: [page(b"", b"Set-Cookie: a=" + b"b" * 2_000_000)]),
}

BOMBS = {
    "gzip-bomb-of-10-gigabytes": Animal("page 200 cut:length", _coded(b"gzip", lambda: bombs.gzip_bomb(10))),
    "deflate-bomb": Animal("page 200 cut:length", _coded(b"deflate", bombs.deflate_bomb)),
    "br-bomb": Animal("page 200 cut:length", _coded(b"br", bombs.br_bomb)),
    "nested-br-bomb": Animal("page 200 cut:length", _coded(b"br, br", bombs.nested_br_bomb)),
    "zstd-bomb": Animal("page 200 cut:length", _coded(b"zstd", bombs.zstd_bomb)),
    "zstd-window-bomb": Animal("failed encoding", _coded(b"zstd", bombs.zstd_window_bomb)),
    "gzip-of-a-hundred-thousand-members": Animal(
        "failed encoding", _coded(b"gzip", lambda: bombs.empty_members(100_000))
    ),
    "codings-without-end": Animal("failed encoding", _coded(b", ".join([b"gzip"] * 100), lambda: gzip.compress(b"x"))),
    "gzip-that-is-none": Animal("failed encoding", _coded(b"gzip", lambda: b"<p>plain")),
    "gzip-that-breaks-off": Animal("page 200", _coded(b"gzip", lambda: gzip.compress(b"x" * 5000)[:-8])),
    "gzip-without-its-end": Animal("page 200 cut:encoding", _coded(b"gzip", lambda: gzip.compress(b"x" * 5000)[:-12])),
    "gzip-with-a-wrong-sum": Animal(
        "page 200 cut:encoding", _coded(b"gzip", lambda: gzip.compress(b"x" * 5000)[:-8] + b"!" * 8)
    ),
    "br-that-is-none": Animal("failed encoding", _coded(b"br", lambda: b"<html>not brotli at all</html>")),
    "zstd-that-is-none": Animal("failed encoding", _coded(b"zstd", lambda: b"<html>not zstd at all</html>")),
    "coding-nobody-knows": Animal("page 200", _coded(b"banana", lambda: b"<p>plain")),
}

LENGTHS = {
    "length-too-long": Animal("page 200 cut:disconnect", _always(head(b"Content-Length: 100"), b"half", CLOSE)),
    "length-too-short": Animal("page 200", _always(head(b"Content-Length: 4") + b"four and more")),
    "length-negative": Animal("page 200", _always(head(b"Content-Length: -1"), CLOSE)),
    "length-of-no-number": Animal("page 200", _always(head(b"Content-Length: many"), CLOSE)),
    "length-beyond-all": Animal("page 200", _always(head(b"Content-Length: " + b"9" * 40), CLOSE)),
    "lengths-that-agree": Animal("page 200", _always(head(b"Content-Length: 2", b"Content-Length: 2, 2") + b"ab")),
    "lengths-that-differ": Animal(
        "failed protocol", _always(head(b"Content-Length: 1", b"Content-Length: 2") + b"ab", CLOSE)
    ),
    "length-and-chunks": Animal(
        "page 200", _always(head(b"Content-Length: 5", CHUNKED) + b"1\r\nx\r\n0\r\n\r\n", CLOSE)
    ),
    "transfer-coding-nobody-knows": Animal("page 200", _always(head(b"Transfer-Encoding: banana") + b"body", CLOSE)),
    "chunk-size-of-no-number": Animal("failed protocol", _always(head(CHUNKED) + b"zz\r\nx\r\n", CLOSE)),
    "chunk-size-negative": Animal("failed protocol", _always(head(CHUNKED) + b"-1\r\nx\r\n", CLOSE)),
    "chunk-longer-than-said": Animal(
        "page 200 cut:disconnect", _always(head(CHUNKED) + b"1\r\nxyz\r\n0\r\n\r\n", CLOSE)
    ),
    "chunks-without-end": Animal("page 200 cut:disconnect", _always(head(CHUNKED) + b"4\r\nhalf\r\n", CLOSE)),
    "no-content-with-body": Animal(
        "page 204", _always(head(b"Content-Length: 5", status=b"204 No Content") + b"extra")
    ),
    "not-modified-unasked-with-body": Animal(
        "failed protocol", _always(head(b"Content-Length: 5", status=b"304 Not Modified") + b"extra")
    ),
    "answers-again-while-idle": Animal("page 200", _always(page(b"one"), Drip([b""], 0.05), page(b"forged"))),
    "a-forged-second-response": Animal("page 200", _always(page(b"one") + page(b"forged"))),
}

ENDS = {
    "reset-before-status": Animal("failed disconnected", _always(RESET)),
    "reset-in-status": Animal("failed disconnected", _always(b"HTTP/1.1 2", RESET)),
    "reset-in-headers": Animal("failed disconnected", _always(_STATUS + b"Content-Le", RESET)),
    "reset-after-headers": Animal("failed disconnected", _always(head(b"Content-Length: 9"), RESET)),
    "close-before-status": Animal("failed disconnected", _always(CLOSE)),
    "close-in-status": Animal("failed disconnected", _always(b"HTTP/1.1 2", CLOSE)),
    "close-in-headers": Animal("failed disconnected", _always(_STATUS + b"Content-Le", CLOSE)),
    "close-after-headers": Animal("failed disconnected", _always(head(b"Content-Length: 9"), CLOSE)),
    "close-in-gzip": Animal(
        "page 200 cut:disconnect",
        _always(head(HTML, b"Content-Encoding: gzip") + gzip.compress(b"x" * 5000)[:-12], CLOSE),
    ),
    "reset-in-a-body-without-length": Animal("page 200 cut:disconnect", _always(head(HTML) + b"<p>half", RESET)),
    "close-in-a-chunk": Animal("page 200 cut:disconnect", _always(head(CHUNKED) + b"9\r\nhalf", CLOSE)),
}

REDIRECTS = {
    "redirect-to-itself": Animal("redirect", _loop(1)),
    "redirect-loop-of-2": Animal("redirect", _loop(2)),
    "redirect-loop-of-30": Animal("redirect", _loop(30)),
    "redirect-to-file": Animal("redirect", _to(b"file:///etc/passwd")),
    "redirect-to-data": Animal("redirect", _to(b"data:text/html,<a href=/x>x</a>")),
    "redirect-to-javascript": Animal("redirect", _to(b"javascript:alert(1)")),
    "redirect-to-ftp": Animal("redirect", _to(b"ftp://ftp.example.org/")),
    "redirect-to-gopher": Animal("redirect", _to(b"gopher://127.0.0.1:6379/_FLUSHALL")),
    "redirect-to-loopback": Animal("redirect", _to(b"http://127.0.0.1:1/admin")),
    "redirect-to-loopback-in-hex": Animal("redirect", _to(b"http://0x7f.1/")),
    "redirect-to-private": Animal("redirect", _to(b"http://10.0.0.1/")),
    "redirect-to-metadata": Animal("redirect", _to(b"http://169.254.169.254/latest/meta-data/")),
    "redirect-to-a-broken-url": Animal("redirect", _to(b"http://[::1/")),
    "redirect-with-line-ends": Animal("redirect", _to(b"/%0d%0aSet-Cookie:%20a=b")),
    "redirect-in-no-utf-8": Animal("redirect", _to(b"/\xff\xfe\xe4")),
    "redirect-of-60-kilobytes": Animal("redirect", _to(b"/" + b"x" * 60_000)),
    "redirect-nowhere": Animal("page 302", _always(page(b"?", status=b"302 Found"))),
    "redirect-to-nothing": Animal("page 302", _to(b"")),
}

HEADERS = {
    "header-folded": Animal("page 200", _always(page(b"x", b"X: a\r\n b"))),
    "header-with-nul": Animal("failed protocol", _always(page(b"x", b"X: a\0b"))),
    "header-with-bare-cr": Animal("page 200", _always(page(b"x", b"X: a\rSet-Cookie: b"))),
    "header-without-colon": Animal("page 200", _always(page(b"x", b"no colon here"))),
    "header-without-name": Animal("page 200", _always(page(b"x", b": value"))),
    "header-with-space-before-colon": Animal("page 200", _always(page(b"x", b"X : value"))),
    "header-in-no-ascii": Animal("page 200", _always(page(b"x", b"X: \xff\xe4\xc3\xa4"))),
    "line-feeds-alone": Animal("page 200", _always(b"HTTP/1.1 200 OK\nContent-Length: 1\n\nx", CLOSE)),
    "http-0-9": Animal("failed protocol", _always(b"<html>as in 1991</html>", CLOSE)),
    "http-1-0": Animal("page 200", _always(head(version=b"HTTP/1.0") + b"old", CLOSE)),
    "http-2-unasked": Animal("failed protocol", _always(b"\x00\x00\x12\x04\x00\x00\x00\x00\x00", CLOSE)),
    "http-1-2": Animal("page 200", _always(head(b"Content-Length: 3", version=b"HTTP/1.2") + b"new")),
    "http-3-7": Animal("failed protocol", _always(head(version=b"HTTP/3.7") + b"new", CLOSE)),
    "status-of-no-number": Animal("failed protocol", _always(b"HTTP/1.1 abc OK\r\n\r\n", CLOSE)),
    "status-of-two-digits": Animal("failed protocol", _always(b"HTTP/1.1 20 OK\r\n\r\n", CLOSE)),
    "status-999": Animal("page 999", _always(page(b"x", status=b"999 Denied"))),
    "status-000": Animal("failed protocol", _always(page(b"x", status=b"000 Nothing"))),
    "switches-protocols-unasked": Animal(
        "failed protocol", _always(head(b"Upgrade: x", status=b"101 Switching"), b"\0\1", CLOSE)
    ),
    "speaks-ssh": Animal("failed protocol", _always(b"SSH-2.0-OpenSSH_9.2p1\r\n", CLOSE)),
    "speaks-tls-in-the-clear": Animal("failed protocol", _always(b"\x15\x03\x01\x00\x02\x02\x46", CLOSE)),
    "sends-nul-bytes": Animal("failed protocol", _always(bytes(100), CLOSE)),
}

CONTENTS = {
    "wrong-charset": Animal("page 200", _html("<p>grün".encode("utf-16"), b"Content-Type: text/html; charset=ascii")),
    "charset-nobody-knows": Animal("page 200", _html(b"<p>x", b"Content-Type: text/html; charset=banana")),
    "image-as-html": Animal("page 200", _html(b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 100)),
    "html-as-image": Animal("page 200", _html(b"<a href=/a>a</a>", b"Content-Type: image/png")),
    "html-of-nul-bytes": Animal("page 200", _html(b"<a href=/\0>" + bytes(100_000))),
    "tags-without-end": Animal("page 200", _html(b"<div>" * 100_000)),
    "one-tag-without-end": Animal("page 200", _html(b"<a href=" + b"x" * 1_000_000)),
    "attributes-without-end": Animal(
        "page 200", _html(b"<a " + b" ".join(b"x%d=y" % number for number in range(50_000)) + b">")
    ),
    "links-without-end": Animal(
        "page 200", _html(b"".join(b'<a href="http://%d.elsewhere.test/">' % number for number in range(50_000)))
    ),
    "no-body": Animal("page 200", _always(page(b""))),
    "no-content-type": Animal("page 200", _always(page(b"<p>x"))),
    "error-page-with-200": Animal("page 200", _html(b"<title>404 Not Found</title>")),
}

REFUSALS = {
    "retry-after-a-year": Animal(
        "page 503", _always(page(b"", b"Retry-After: 31536000", status=b"503 Service Unavailable"))
    ),
    "retry-after-of-no-sense": Animal(
        "page 503", _always(page(b"", b"Retry-After: tomorrow " + b"x" * 5000, status=b"503 Service Unavailable"))
    ),
    "too-many-requests-always": Animal("page 429", _always(page(b"", status=b"429 Too Many Requests"))),
    "internal-error": Animal("page 500", _always(page(b"Traceback", status=b"500 Internal Server Error"))),
}

ANIMALS: dict[str, Animal] = SLOW | ENDLESS | BOMBS | LENGTHS | ENDS | REDIRECTS | HEADERS | CONTENTS | REFUSALS

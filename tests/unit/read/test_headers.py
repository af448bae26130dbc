"""What the headers of a page say, read once for all pages that have the same."""

import pytest

from crawler.read.headers import _read, _read_known, read_headers

HEADERS = [
    (b"content-type", b"text/html; charset=latin-1"),
    (b"X-Robots-Tag", b"noindex"),
    (b"Server", b"a"),
    (b"Content-Language", b"de"),
    (b"LINK", b"<http://h/>; rel=canonical"),
]


@pytest.mark.parametrize("kept", range(1 << len(HEADERS)))
def test_pages_share_what_their_headers_say_only_if_these_are_equal(kept: int) -> None:
    headers = [each for at, each in enumerate(HEADERS) if kept >> at & 1]
    wanted = [(name.lower(), value) for name, value in headers if name != b"Server"]
    assert read_headers(HEADERS).media_type == "text/html"
    assert read_headers(headers) == read_headers(headers) == _read(*wanted)
    assert (read_headers(headers) == read_headers(HEADERS)) == (len(wanted) == len(HEADERS) - 1)


def test_pages_with_the_same_content_type_share_what_it_says() -> None:
    said = read_headers([(b"Server", b"a"), (b"Content-Type", b"text/html")])
    assert read_headers([(b"CONTENT-TYPE", b"text/html"), (b"Set-Cookie", b"a=b")]) is said
    assert read_headers([(b"Content-Type", b"text/HTML; charset=utf-8")]) != said


def test_what_headers_say_is_remembered_in_bounded_memory() -> None:
    """A site may send long headers, and thousands of empty ones."""
    _read_known.cache_clear()
    for size in (10, 1_000, 1_001, 60_000):
        assert read_headers([(b"X-Robots-Tag", b"x" * size)]).robots == ("x" * size,)
    for count in (2, 1_000):
        assert read_headers([(b"X-Robots-Tag", b"")] * count).robots == ("",) * count
    kept = _read_known.cache_info()
    assert (kept.currsize, kept.maxsize) == (2, 256)

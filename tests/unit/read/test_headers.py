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


@pytest.mark.parametrize("left_out", range(len(HEADERS)))
def test_pages_share_what_their_headers_say_only_if_these_are_equal(left_out: int) -> None:
    headers = [each for at, each in enumerate(HEADERS) if at != left_out]
    wanted = tuple((name.lower(), value) for name, value in headers if name != b"Server")
    assert read_headers(HEADERS).media_type == "text/html"
    assert read_headers(headers) == read_headers(headers) == _read(wanted)
    assert (read_headers(headers) == read_headers(HEADERS)) == (HEADERS[left_out][0] == b"Server")


def test_what_headers_say_is_remembered_in_bounded_memory() -> None:
    _read_known.cache_clear()
    for size in (10, 1_000, 60_000):
        headers = [(b"Content-Type", b"text/html"), (b"X-Robots-Tag", b"x" * size)]
        assert read_headers(headers) == read_headers(headers)
        assert read_headers(headers).robots == ("x" * size,)
    many = [(b"Content-Type", b"text/html")] + [(b"Refresh", b"")] * 1_000
    assert read_headers(many) == read_headers(many)
    kept = _read_known.cache_info()
    assert (kept.currsize, kept.hits) == (1, 2)
    assert kept.maxsize == 256

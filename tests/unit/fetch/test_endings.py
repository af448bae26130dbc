import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawler.fetch.document_end import shows_its_end

HTML = b"<!doctype html><html lang=en><title>x</title><p>a < b <!-- c > d --><a href=/x>y</a>"


@pytest.mark.parametrize(
    ("body", "content_type", "ends"),
    [
        (HTML + b"</html>", "", True),
        (HTML + b"</body></HTML>\n<!-- cached -->\n", "", True),
        (HTML, "", False),
        (HTML + b"</html><scr", "", False),
        (b"\xef\xbb\xbf \n<p>one<p>two", "", None),
        (b"<p>one<p>1 < 2", "", None),
        (b"<p>one<a hre", "", False),
        (b"<p>one<!-- never", "", False),
        (b"<?xml version='1.0'?><!-- a --><urlset xmlns='x'><url/></urlset>\n", "", True),
        (b"<?xml version='1.0'?><urlset xmlns='x'><url/>", "", False),
        (b"%PDF-1.7 \n%%EOF\n", "", True),
        (b"%PDF-1.7 \nstream", "", False),
        (b"\x89PNG\r\n\x1a\n...", "", False),
        (b"\xff\xd8\xff...\xff\xd9", "", True),
        (b'{"a": [1, 2]}\n', "application/json", True),
        (b'{"a": [1, 2', "application/ld+json; charset=utf-8", False),
        (b"{one} of a text", "text/plain", None),
        (b"text", "", None),
        (b"", "text/html", None),
    ],
)
def test_a_document_shows_its_end_or_that_it_is_missing(body: bytes, content_type: str, ends: bool | None) -> None:
    assert shows_its_end(body, content_type) is ends


@given(st.recursive(st.integers() | st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)))
def test_json_shows_its_end(value: object) -> None:
    assert shows_its_end(json.dumps(value).encode(), "application/json") is not False


@given(st.binary(max_size=200), st.sampled_from(["", "text/html", "application/json"]))
def test_any_bytes_are_judged(body: bytes, content_type: str) -> None:
    assert shows_its_end(b"<" + body, content_type) in (True, False, None)

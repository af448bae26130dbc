import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawler.read.sniff import is_html, is_text, is_xml, may_be_listing, sniff_type


@pytest.mark.parametrize(
    ("declared", "body", "expected"),
    [
        ("text/html", b"anything", "text/html"),
        ("text/html", b"<?xml version='1.0'?>\n<!-- x --><rss version='2.0'>", "application/rss+xml"),
        ("text/html", b"\xef\xbb\xbf <feed xmlns='http://www.w3.org/2005/Atom'>", "application/atom+xml"),
        ("text/html", b"<?xml version='1.0'?><html>", "text/html"),
        ("text/html", b"GIF89a", "image/gif"),
        ("text/html", b"\x1f\x8b\x08\x00", "application/gzip"),
        (None, b"  \n<!DOCTYPE HTML><p>", "text/html"),
        (None, b"<html>", "text/html"),
        (None, b"<htmlx>", "text/plain"),
        (None, b"<?xml version='1.0'?><urlset>", "text/xml"),
        (None, b"just words", "text/plain"),
        (None, b"", "text/plain"),
        (None, b"\x00\x01", "application/octet-stream"),
        (None, b"\xff\xfea\x00", "text/plain"),
        ("application/octet-stream", b"%PDF-1.4", "application/pdf"),
        ("application/octet-stream", b"<html>", "text/html"),
        ("nonsense", b"<html>", "text/html"),
        ("text/plain", b"<html>", "text/plain"),
        ("text/plain", b"PK\x03\x04\x00", "application/zip"),
        ("text/plain", b"\x00", "application/octet-stream"),
        ("text/xml", b"<!DOCTYPE html [ <!ENTITY a '>'> ]><html xmlns=''>", "application/xhtml+xml"),
        ("application/xml", b"<rdf:RDF xmlns:rdf=''>", "application/rss+xml"),
        ("application/xml", b"<urlset>", "application/xml"),
        ("application/xhtml+xml", b"no markup", "application/xhtml+xml"),
        ("image/jpeg", b"\x89PNG\r\n\x1a\n", "image/png"),
        ("image/jpeg", b"<html>", "image/jpeg"),
        ("image/png", b"RIFF\x00\x00\x00\x00WEBPVP8 ", "image/webp"),
        ("text/css", b"<html>", "text/css"),
        ("application/json", b"{}", "application/json"),
        ("application/xml", b"\x1f\x8b\x08\x00", "application/gzip"),
        ("gzip/document", b"\x1f\x8b\x08\x00", "application/gzip"),
        ("application/x-gunzip", b"<html>", "application/x-gunzip"),
        ("application/x-xml", b"<?xml version='1.0'?><urlset>", "application/xml"),
        ("application/msword", b"PK\x03\x04", "application/msword"),
        ("text/plain", b"<?xml version='1.0'?><sitemapindex>", "application/xml"),
        ("text/xml", b"https://e.org/\n", "text/plain"),
        ("text/xml", b"\xef\xbb\xbf \n<a/>", "text/xml"),
        ("text/xml", b"\xff\xfe<\0a\0", "text/xml"),
        ("text/xml", b"<\0a\0", "text/xml"),
        ("text/xml", b" ", "text/xml"),
    ],
)  # fmt: skip
def test_the_type_comes_from_what_is_declared_and_what_is_there(
    declared: str | None, body: bytes, expected: str
) -> None:
    assert sniff_type(declared, body) == expected


def test_types_are_grouped_by_how_they_are_read() -> None:
    assert is_html("text/html")
    assert is_html("application/xhtml+xml")
    assert is_xml("application/rss+xml")
    assert not is_xml("text/html")
    assert is_text("application/ld+json")
    assert not is_text("image/png")


@given(
    st.sampled_from(["text/html", "text/xml", "text/plain", "image/png", None]),
    st.lists(
        st.sampled_from([b"<!--", b"-->", b"<?", b"?>", b"<!DOCTYPE", b"[", b"]", b">", b" ", b"<rss", b"\0"]),
        max_size=400,
    ),
)
def test_no_prolog_breaks_or_stalls_it(declared: str | None, pieces: list[bytes]) -> None:
    assert "/" in sniff_type(declared, b"".join(pieces))


@pytest.mark.parametrize(
    "body",
    [
        b"<html><p>jsonfeed.org",
        b"\n<!DOCTYPE html PUBLIC '-//W3C//DTD HTML 4.01//EN'>\n<HTML lang=en><p>jsonfeed.org<urlset>",
        b"<!doctype html><p>x",
        b"\x89PNG\r\n\x1a\n{jsonfeed.org",
        b'["jsonfeed.org"]',
    ],
)
def test_other_documents_are_no_listings_whatever_they_tell_of_one(body: bytes) -> None:
    assert not may_be_listing(body)


@pytest.mark.parametrize(
    "body",
    [
        b'{"version": "https:\\/\\/jsonfeed.org\\/version\\/1.1"}',
        b'\xef\xbb\xbf\r\n {"version": "jsonfeed.org"}',
        b"<!doctype html><urlset>",
        b"<!doctype html [<!ENTITY x 'y'>]><rss>",
        b"<!-- <html> --><feed>",
        b"<htmlx><urlset>",
    ],
)
def test_what_may_be_a_listing_is_told(body: bytes) -> None:
    assert may_be_listing(body)

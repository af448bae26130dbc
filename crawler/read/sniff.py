"""Finds the media type of a body from its first bytes and the declared type.

Follows the MIME Sniffing standard (https://mimesniff.spec.whatwg.org/) for all that a crawler reads: HTML, XML, feeds,
CSS, JSON, plain text, PDF; and for images and archives, which must not be read as text. Unlike a browser, which runs
what it reads, a crawler can be lenient in two points. We sniff `application/octet-stream` too, since servers send it
for unknown file names. And we recognise sitemaps, feeds and lists of URLs whatever their declared type, compressed or
not, even with other text before them.
"""

import re
from typing import Final

from crawler.read.feeds.xml_prolog import MAX_PROLOG_BYTES, READABLE, Root, find_root

HTML: Final = "text/html"
XHTML: Final = "application/xhtml+xml"
JSON_FEED_MARK: Final = b"jsonfeed.org"
"""Occurs in each JSON Feed: its version is a URL of that host. The slashes of the URL may be written as `\\/`."""

_SNIFFED_BYTES: Final = 1445
_END_BYTES: Final = 64
_UNKNOWN: Final = frozenset(
    {"unknown/unknown", "application/unknown", "*/*", "application/octet-stream", "binary/octet-stream"}
)
_HTML_START = re.compile(
    rb"(?:<!doctype html|<html|<head|<script|<iframe|<h1|<div|<font|<table|<a|<style|<title|<b|<body|<br|<p|<meta"
    rb"|<link)[ >\t\r\n\f/]|<!--",
    re.IGNORECASE,
)
_GZIP: Final = b"\x1f\x8b\x08"
_PACKED: Final = frozenset({"application/gzip", "application/x-gzip"})
_MAGIC: Final = (
    (b"%PDF-", "application/pdf"),
    (b"%!PS-Adobe-", "application/postscript"),
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"\x00\x00\x01\x00", "image/x-icon"),
    (_GZIP, "application/gzip"),
    (b"PK\x03\x04", "application/zip"),
    (b"Rar!\x1a\x07", "application/vnd.rar"),
    (b"OggS\x00", "application/ogg"),
    (b"wOFF", "font/woff"),
    (b"wOF2", "font/woff2"),
)
_TEXT_BOMS: Final = (b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")
_BINARY = re.compile(rb"[\x00-\x08\x0b\x0e-\x1a\x1c-\x1f]")
_PAGE_START = re.compile(rb"\s*<(?:!doctype html|html)[ >\t\r\n\f/]", re.IGNORECASE)
_PAGE_ROOT = re.compile(rb"\s*(?:<!doctype html[^<>\[]*>\s*)?<html[\s>]", re.IGNORECASE)
_OBJECT_START = re.compile(rb"(?:\xef\xbb\xbf)?[ \t\n\r]*\{")
"""How a JSON Feed begins."""
_LISTED_URL = re.compile(rb"""\s*https?://[^\s<>"',]+[ \t]*(?:[\r\n]|\Z)""", re.IGNORECASE)
_TYPE_OF_FEED: Final = {
    b"urlset": "application/xml",
    b"sitemapindex": "application/xml",
    b"rss": "application/rss+xml",
    b"rdf": "application/rss+xml",
    b"feed": "application/atom+xml",
}
_SITEMAPS: Final = frozenset({b"urlset", b"sitemapindex"})
_TYPE_OF_ROOT: Final = {**_TYPE_OF_FEED, b"html": XHTML, b"svg": "image/svg+xml"}


def sniff_type(declared: str | None, body: bytes, /) -> str:
    """The media type of the body. `declared` is without parameters, in lower case."""
    head = body[:_SNIFFED_BYTES]
    if declared == HTML:
        if _PAGE_START.match(head):
            return HTML
        # Servers declare archives and images as text/html; a page never starts like one.
        return _magic_type(head) or _feed_type(body) or _list_type(head) or HTML
    if declared is None or declared in _UNKNOWN or "/" not in declared:
        return _unknown_type(head, body)
    if head.startswith(_GZIP):
        return "application/gzip"
    if declared in _PACKED:
        # The server declared the compression by Content-Encoding too, so the body is decompressed already.
        return _unknown_type(head, body)
    if is_xml(declared):
        may_be_xml = declared == XHTML or _may_be_xml(head)
        return _xml_type(declared, body) if may_be_xml else _list_type(head) or _unknown_type(head, body)
    if declared.startswith("image/"):
        return _magic_type(head) or declared
    if feed := _feed_type(body):
        return feed
    if declared == "text/plain":
        return (_magic_type(head) or "application/octet-stream") if _looks_binary(head) else declared
    return (_list_type(head) if is_text(declared) else None) or declared


def is_html(media_type: str, /) -> bool:
    return media_type in (HTML, XHTML)


def is_xml(media_type: str, /) -> bool:
    return media_type in ("text/xml", "application/xml") or media_type.endswith("+xml")


def is_json(media_type: str, /) -> bool:
    return media_type == "application/json" or media_type.endswith("+json")


def is_text(media_type: str, /) -> bool:
    return (
        media_type.startswith("text/")
        or is_xml(media_type)
        or is_json(media_type)
        or media_type in ("application/javascript", "application/x-javascript")
    )


def is_pdf(body: bytes, /) -> bool:
    """Whether a body that was declared as PDF may be one. Readers accept some bytes of something else before it."""
    return body.find(b"%PDF-", 0, 1024) >= 0


def may_be_listing(body: bytes, /) -> bool:
    """Whether a body may be a feed or a sitemap, whatever its declared type."""
    if _PAGE_ROOT.match(body):
        return False  # to look through all of a page takes longer
    root = _root(body)
    if root is not None and root.name in READABLE:
        return True
    return _OBJECT_START.match(body) is not None and JSON_FEED_MARK in body


def _unknown_type(head: bytes, body: bytes) -> str:
    text = head.removeprefix(_TEXT_BOMS[0]).lstrip(b"\t\n\f\r ")
    if text.startswith(b"<?xml"):
        return _xml_type("text/xml", body)
    if feed := _feed_type(body):
        return feed
    if _HTML_START.match(text):
        return HTML
    if magic := _magic_type(head):
        return magic
    if head.startswith(_TEXT_BOMS) or not _looks_binary(head):
        return "text/plain"
    return "application/octet-stream"


def _feed_type(body: bytes) -> str | None:
    """The type of a feed or a sitemap, which servers often declare wrongly."""
    root = _root(body)
    if root is None or root.name not in _TYPE_OF_FEED:
        return None
    # A text that quotes a sitemap as an example goes on after it.
    is_complete = root.is_first or body[-_END_BYTES:].rstrip(b"\0\t\n\f\r ").endswith(b">")
    return _TYPE_OF_FEED[root.name] if is_complete else None


def _list_type(head: bytes) -> str | None:
    """The type of a list of URLs, which may be declared as another kind of text."""
    return "text/plain" if _LISTED_URL.match(_in_ascii(head)) and b"<" not in head else None


def _may_be_xml(head: bytes) -> bool:
    """Whether the body begins with a tag, or is empty."""
    text = _in_ascii(head.lstrip()).lstrip()
    return not text or text.startswith((b"<", _TEXT_BOMS[0]))


def _xml_type(declared: str, body: bytes) -> str:
    root = _root(body)
    if root is None or (declared != XHTML and root.name in _SITEMAPS):
        return declared
    return _TYPE_OF_ROOT.get(root.name, declared)


def _root(body: bytes) -> Root | None:
    return find_root(_in_ascii(body[:MAX_PROLOG_BYTES]))


def _in_ascii(head: bytes) -> bytes:
    """The markup as ASCII, without byte order mark: UTF-16 loses its NULs, UTF-8 stays as it is."""
    if b"\0" in head[:4]:
        return head.removeprefix(_TEXT_BOMS[1]).removeprefix(_TEXT_BOMS[2]).replace(b"\0", b"")
    return head.removeprefix(_TEXT_BOMS[0])


def _magic_type(head: bytes) -> str | None:
    for magic, media_type in _MAGIC:
        if head.startswith(magic):
            return media_type
    return "image/webp" if head[:4] == b"RIFF" and head[8:14] == b"WEBPVP" else None


def _looks_binary(head: bytes) -> bool:
    return not head.startswith(_TEXT_BOMS) and _BINARY.search(head) is not None

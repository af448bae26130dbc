"""What a body is, by its first bytes and what the server declares.

Follows the MIME Sniffing standard (https://mimesniff.spec.whatwg.org/) as far as a crawler reads: HTML, XML, feeds,
CSS, JSON, plain text, PDF, and the images and archives that it must not take for text. Unlike a browser, which must
guard against what it runs, it also looks into `application/octet-stream`, which is what servers send for names that
they don't know, and knows sitemaps, feeds and lists of URLs whatever they are declared to be, packed or not.
"""

import re
from typing import Final

HTML: Final = "text/html"
XHTML: Final = "application/xhtml+xml"

_SNIFFED_BYTES: Final = 1445
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
_XML_PROLOG = re.compile(rb"\s+|<\?.*?\?>|<!--.*?-->|<!DOCTYPE[^\[>]*(?:\[.*?\]\s*)?>", re.DOTALL)
_XML_ROOT = re.compile(rb"<(?:[\w.-]+:)?([\w.-]+)")
_TYPE_OF_ROOT: Final = {
    b"rss": "application/rss+xml",
    b"RDF": "application/rss+xml",
    b"feed": "application/atom+xml",
    b"html": XHTML,
    b"svg": "image/svg+xml",
}


def sniffed_type(declared: str | None, body: bytes, /) -> str:
    """The media type by which to read the body; `declared` is without parameters, in lower case."""
    head = body[:_SNIFFED_BYTES]
    if declared == HTML:
        return _html_or_feed(head)
    if declared is None or declared in _UNKNOWN or "/" not in declared:
        return _unknown_type(head)
    if head.startswith(_GZIP):
        return "application/gzip"
    if declared in _PACKED:
        # The server has said so a second time by Content-Encoding, and it is unpacked.
        return _unknown_type(head)
    if is_xml(declared):
        return _xml_type(declared, head) if declared == XHTML or _may_be_xml(head) else _unknown_type(head)
    if declared.startswith("image/"):
        return _magic_type(head) or declared
    if declared == "text/plain" and _looks_binary(head):
        return _magic_type(head) or "application/octet-stream"
    if declared == "text/plain" or not is_text(declared):
        return _feed_type(head) or declared
    return declared


def is_html(media_type: str, /) -> bool:
    return media_type in (HTML, XHTML)


def is_xml(media_type: str, /) -> bool:
    return media_type in ("text/xml", "application/xml") or media_type.endswith("+xml")


def is_text(media_type: str, /) -> bool:
    return (
        media_type.startswith("text/")
        or is_xml(media_type)
        or media_type in ("application/json", "application/javascript", "application/x-javascript")
        or media_type.endswith("+json")
    )


def _html_or_feed(head: bytes) -> str:
    # Servers declare whole archives and images text/html; a page never starts so.
    return _magic_type(head) or _feed_type(head) or HTML


def _unknown_type(head: bytes) -> str:
    text = head.removeprefix(_TEXT_BOMS[0]).lstrip(b"\t\n\f\r ")
    if text.startswith(b"<?xml"):
        return _xml_type("text/xml", head)
    if feed := _feed_type(head):
        return feed
    if _HTML_START.match(text):
        return HTML
    if magic := _magic_type(head):
        return magic
    if head.startswith(_TEXT_BOMS) or not _looks_binary(head):
        return "text/plain"
    return "application/octet-stream"


def _feed_type(head: bytes) -> str | None:
    """Type of a feed or a sitemap, which are often served as something else."""
    root = _root_name(head)
    if root in (b"urlset", b"sitemapindex"):
        return "application/xml"
    return _TYPE_OF_ROOT[root] if root in (b"rss", b"feed", b"RDF") else None


def _may_be_xml(head: bytes) -> bool:
    """Whether it begins with a tag, or is in UTF-16. An empty one is what it is declared to be."""
    text = head.removeprefix(_TEXT_BOMS[0]).lstrip()
    return not text or text.startswith((b"<", *_TEXT_BOMS)) or b"\0" in text[:4]


def _xml_type(declared: str, head: bytes) -> str:
    return _TYPE_OF_ROOT.get(_root_name(head), declared)


def _root_name(head: bytes) -> bytes:
    """Local name of the first element; empty if there is none."""
    head = head.removeprefix(_TEXT_BOMS[0])
    if b"\0" in head[:4]:
        # In UTF-16, with its mark or without.
        head = head.removeprefix(_TEXT_BOMS[1]).removeprefix(_TEXT_BOMS[2]).replace(b"\0", b"")
    position = 0
    # Step by step: one expression for the whole prolog would try all ways to divide it.
    while prolog := _XML_PROLOG.match(head, position):
        position = prolog.end()
    root = _XML_ROOT.match(head, position)
    return root[1] if root else b""


def _magic_type(head: bytes) -> str | None:
    for magic, media_type in _MAGIC:
        if head.startswith(magic):
            return media_type
    return "image/webp" if head[:4] == b"RIFF" and head[8:14] == b"WEBPVP" else None


def _looks_binary(head: bytes) -> bool:
    return not head.startswith(_TEXT_BOMS) and _BINARY.search(head) is not None

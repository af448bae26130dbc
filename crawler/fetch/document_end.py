"""Looks for the end of a document. Pure.

We ask this only if the server leaves open whether a body is complete: if just the end of the connection ended it, or if
its compressed data has no end.
"""

import re

_SPACE = b" \t\r\n\0"
_PROLOG = b"\xef\xbb\xbf" + _SPACE
_HEAD_BYTES = 4096
_IN_A_TAG = re.compile(rb"<[a-z/?!][^<>]*\Z", re.IGNORECASE)
_ROOT = re.compile(rb"<([a-z_][\w:.-]*)", re.IGNORECASE)
_TAIL_BYTES = 64 * 1024
_MARKS = {
    b"%PDF-": (b"%%EOF", 1024),
    b"\x89PNG\r\n": (b"IEND", 64),
    b"\xff\xd8\xff": (b"\xff\xd9", 1024),
    b"PK\x03\x04": (b"PK\x05\x06", 66_000),
}
"""By the first bytes of a file: the mark of its end, and how many bytes before the end it stands at most."""


def shows_its_end(body: bytes, content_type: str = "", /) -> bool | None:
    """True if the document has its end, False if the end is visibly missing, None if that can't be told. `content_type`
    is that of the header."""
    for signature, (mark, within) in _MARKS.items():
        if body.startswith(signature):
            return mark in body[-within:]
    start = body[:_HEAD_BYTES].lstrip(_PROLOG)
    if start.startswith(b"<"):
        return _markup_ends(body, start)
    if "json" in content_type.lower() and start[:1] in (b"{", b"["):
        return body.rstrip(_SPACE)[-1:] == (b"}" if start[:1] == b"{" else b"]")
    return None


def _markup_ends(body: bytes, start: bytes) -> bool | None:
    tail = body[-_TAIL_BYTES:].rstrip(_SPACE)
    if _IN_A_TAG.search(tail) or tail.rfind(b"<!--") > tail.rfind(b"-->"):
        return False
    lowered = start.lower()
    if b"<html" in lowered:
        return b"</html" in tail.lower()
    if lowered.startswith(b"<?xml") and (root := _ROOT.search(start)) is not None:
        return re.search(rb"</%s\s*>" % re.escape(root[1]), tail) is not None
    return None

"""Finds the encoding that a document declares: by <meta>, by its XML declaration or by @charset.

Names are those of the Encoding standard, in lower case; None if the document declares none or an unknown one.
"""

import re
from typing import Final, Literal

from crawler.read.encoding.labels import encoding_of_label

_PRESCAN_BYTES: Final = 1024
_LATE_PRESCAN_BYTES: Final = 128 * 1024
"""By the standard, browsers look at the first 1,024 bytes, but start over if the parser finds a declaration later. One
real page in eight relies on that."""

_XML_DECLARATION = re.compile(rb"""<\?xml[\s\x00][^>]*?encoding\s*=\s*["']([A-Za-z0-9._:-]+)["']""")


def find_xml_encoding(body: bytes, /) -> str | None:
    if body[:1] == b"<" and body[1:2] == b"\0" == body[3:4]:
        return "utf-16le"
    if body[:3] == b"\0<\0":
        return "utf-16be"
    match = _XML_DECLARATION.match(body[:_PRESCAN_BYTES])
    name = encoding_of_label(match[1].decode("ascii")) if match is not None else None
    # We could read the declaration as ASCII, so the document is not in UTF-16, whatever it declares.
    return "utf-8" if name is not None and name.startswith("utf-16") else name


_CSS_CHARSET = re.compile(rb'@charset "([\x00-!#-\x7f]{1,100})";')


def find_css_encoding(body: bytes, /) -> str | None:
    """By "determine the fallback encoding" of CSS Syntax, which allows one spelling only."""
    match = _CSS_CHARSET.match(body)
    name = encoding_of_label(match[1].decode("ascii")) if match is not None else None
    return "utf-8" if name is not None and name.startswith("utf-16") else name


def find_html_encoding(body: bytes, /) -> tuple[str, Literal["meta", "xml"]] | None:
    """The declared encoding, and where it was declared."""
    if (usual := _USUAL.match(body, 0, _PRESCAN_BYTES)) and (name := _encoding_named(usual[1] or usual[2])):
        return name, "meta"
    in_xml = find_xml_encoding(body) if body.startswith((b"<?xml", b"<\0?", b"\0<\0?")) else None
    if in_xml is not None and in_xml.startswith("utf-16"):
        return in_xml, "xml"
    for limit in (_PRESCAN_BYTES, _LATE_PRESCAN_BYTES):
        head = body[:limit]
        lower = head.lower()
        if b"<meta" in lower and b"charset" in lower and (in_meta := prescan(head, late=limit > _PRESCAN_BYTES)):
            return in_meta, "meta"
        if in_xml is not None:
            return in_xml, "xml"
    return None


_TAG = re.compile(rb"<(?:(!--)|(meta)(?=[\t\n\f\r /])|(/?[a-z])|[!/?])", re.IGNORECASE)
_ATTRIBUTE = re.compile(
    rb"""[\t\n\f\r /]*(=?[^\t\n\f\r />=]*)"""
    rb"""(?:[\t\n\f\r ]*=[\t\n\f\r ]*(?:"([^"]*)"|'([^']*)'|(?!["'])([^\t\n\f\r >]*)))?"""
)
_PLAIN_ATTRIBUTE = rb"[\t\n\f\r ]+[^\t\n\f\r \"'<>=/]+(?>(?:=(?:\"[^\"<]*\"|'[^'<]*'|[^\t\n\f\r \"'<>=/]+))?)"
_PLAIN_TAGS = rb"(?>(?:[^<]*</?(?!%%b)[a-zA-Z][^\t\n\f\r />\"'<=]*(?>(?:%b)*)[\t\n\f\r ]*/?>)*)" % _PLAIN_ATTRIBUTE
_DECLARATION = rb"(?i:meta)[\t\n\f\r />](?=[^<]*(?i:charset))"
_MARKUP: Final = re.compile(_PLAIN_TAGS % _DECLARATION)
_LATE_MARKUP: Final = re.compile(
    _PLAIN_TAGS % (rb"%b|(?i:script|style|title|textarea|iframe|xmp|noembed|noframes)[\t\n\f\r />]" % _DECLARATION)
)
"""Text and plain tags up to the next tag that needs a closer look."""
_USUAL: Final = re.compile(
    rb"[\t\n\f\r ]*<!doctype html>[\t\n\f\r ]*<html(?>(?:%b)*)[\t\n\f\r ]*>[\t\n\f\r ]*<head>[\t\n\f\r ]*"
    rb"<meta charset=(?:\"([0-9a-z_-]+)\"|([0-9a-z_-]+)(?=[\t\n\f\r >]))[\t\n\f\r ]*/?>" % _PLAIN_ATTRIBUTE,
    re.IGNORECASE,
)
"""The beginning of most pages, with the encoding that they declare. To prescan it takes 300 bytecodes."""
_NAME_END = re.compile(rb"[\t\n\f\r >]|$")
_CHARSET_VALUE = re.compile(
    rb"""charset[\t\n\f\r ]*=[\t\n\f\r ]*(?:"([^"]*)"|'([^']*)'|["']|([^\t\n\f\r ;]*))""", re.IGNORECASE
)


_RAW: Final = frozenset({b"script", b"style", b"title", b"textarea", b"iframe", b"xmp", b"noembed", b"noframes"})
"""Elements whose content is text, not markup."""


def prescan(head: bytes, /, *, late: bool = False) -> str | None:
    """The encoding that a <meta> in the first bytes declares, by "prescan a byte stream" of the HTML standard. If
    `late`, by the rules of the parser, which finds no tags within scripts."""
    position = 0
    skipped = _LATE_MARKUP if late else _MARKUP
    while (plain := skipped.match(head, position)) and (match := _TAG.search(head, plain.end())):
        position = match.end()
        if match[1]:
            # `<!-->` is a complete comment.
            position = head.find(b"-->", position - 2) + 3
            if position < 3:
                return None
        elif match[2]:
            attributes, position = _attributes(head, position)
            if name := _meta_encoding(attributes):
                return name
        elif match[3]:
            end = _NAME_END.search(head, position)
            start, position = match.start(3), end.start() if end else position
            tag = head[start:position].lower()
            _, position = _attributes(head, position)
            if late and tag in _RAW:
                closing = re.compile(rb"</%b[\t\n\f\r />]" % tag, re.IGNORECASE).search(head, position)
                if closing is None:
                    return None
                position = closing.start()
        else:
            position = head.find(b">", position - 1) + 1
            if position < 1:
                return None
    return None


def _attributes(head: bytes, position: int) -> tuple[dict[bytes, bytes], int]:
    """The attributes of the tag whose name ends at `position`, and where they end."""
    attributes: dict[bytes, bytes] = {}
    while True:
        match = _ATTRIBUTE.match(head, position)
        if match is None or match.end() == position or match.end() >= len(head):
            return attributes, len(head) if match is not None and match.end() >= len(head) else position
        position = match.end()
        if match[1]:
            attributes.setdefault(match[1].lower(), (match[2] or match[3] or match[4] or b""))
        if head[position : position + 1] == b">":
            return attributes, position + 1


def _meta_encoding(attributes: dict[bytes, bytes]) -> str | None:
    label = attributes.get(b"charset")
    if label is None:
        if attributes.get(b"http-equiv", b"").lower() != b"content-type":
            return None
        match = _CHARSET_VALUE.search(attributes.get(b"content", b""))
        if match is None:
            return None
        label = match[1] or match[2] or match[3] or b""
    return _encoding_named(label)


def _encoding_named(label: bytes) -> str | None:
    """The encoding that a <meta> means by a label."""
    name = encoding_of_label(label.decode("latin-1"))
    if name is None:
        return None
    if name.startswith("utf-16"):
        return "utf-8"
    return "windows-1252" if name == "x-user-defined" else name

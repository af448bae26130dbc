"""Rewrites XHTML and SVG so that an HTML parser reads them as an XML parser would.

The two differ in five points. `<script src="x"/>` is closed in XML, but open until `</script>` in HTML. A CDATA
section is text in XML, but a comment in HTML. A line break or tab in an attribute is a space in XML, which stays in a
URL as `%20`; a URL of HTML loses it. Elements of XML may have a prefix. A style sheet may be named by
`<?xml-stylesheet?>`, which is a comment in HTML. We do not use an XML parser, because much XHTML is broken XML, which
browsers refuse but a crawler should read.
"""

import re
from functools import cache
from typing import Final

_PREFIXED: Final = re.compile(rb"(</?)([^\t\n\r <>/:]+):")
_BREAK: Final = re.compile(rb"\r\n|[\t\n\r]")
_VOID: Final = frozenset(
    b"area base basefont bgsound br col embed frame hr img input keygen link meta param source track wbr".split()
)


@cache
def _token() -> re.Pattern[bytes]:
    return re.compile(
        rb"<!--.*?(?:-->|\Z)"
        rb"|<(?P<raw>script|style)(?=[\t\n\f\r >])[^<>]*+(?<!/)>.*?(?:</(?P=raw)|\Z)"
        rb"|<!\[CDATA\[(?P<text>.*?)(?:\]\]>|\Z)"
        rb"|<\?xml-stylesheet(?P<sheet>[\t\n\r ][^<>]*?)\?>"
        # In XML no attribute value contains `<`, so the expression never scans a tag twice.
        rb"|<(?P<name>[a-zA-Z][^\t\n\f\r <>/]*+)(?P<attributes>[^<>]*+)(?<=/)>",
        re.DOTALL,
    )


@cache
def _broken_tag() -> re.Pattern[bytes]:
    """A start tag in which the value of an attribute has line breaks or tabs."""
    return re.compile(
        rb"""<[a-zA-Z][^<>"']*(?:(?:"[^"<\t\n\r]*"|'[^'<\t\n\r]*')[^<>"']*)*"""
        rb"""(?:"[^"<\t\n\r]*[\t\n\r][^"<]*"|'[^'<\t\n\r]*[\t\n\r][^'<]*')"""
        rb"""[^<>"']*(?:(?:"[^"<]*"|'[^'<]*')[^<>"']*)*"""
    )


@cache
def _prefix() -> re.Pattern[bytes]:
    return re.compile(
        rb"""xmlns:([^\t\n\r =]{1,32})[\t\n\r ]*=[\t\n\r ]*["']http://www\.w3\.org/(?:1999/xhtml|2000/svg|1998/Math/MathML)["']"""
    )


def xhtml_to_html(xhtml: bytes, /) -> bytes:
    """Add an end tag to each empty element that needs one; turn CDATA into text, line breaks of attributes into spaces,
    `<?xml-stylesheet?>` into a <link> at the end; drop prefixes of elements. `xhtml` is in UTF-8."""
    if prefixes := set(_prefix().findall(xhtml)):
        xhtml = _PREFIXED.sub(lambda found: found[1] if found[2] in prefixes else found[0], xhtml)
    sheets: list[bytes] = []

    def rewrite(token: re.Match[bytes]) -> bytes:
        if token["sheet"] is None:
            return _rewrite_token(token)
        # Before the root, it would make libxml2 ignore the attributes of the root.
        sheets.append(b'<link rel="stylesheet"%b>' % token["sheet"])
        return b""

    return _token().sub(rewrite, _broken_tag().sub(lambda tag: _BREAK.sub(b" ", tag[0]), xhtml)) + b"".join(sheets)


def _rewrite_token(token: re.Match[bytes]) -> bytes:
    text, name = token["text"], token["name"]
    if text is not None:
        return text.replace(b"&", b"&amp;").replace(b"<", b"&lt;")
    if name is None or name in _VOID:
        return token[0]
    attributes = token["attributes"][:-1]
    if b"=" in attributes and not attributes.endswith((b'"', b"'", b" ", b"\t", b"\n", b"\r")):
        # This is not XML: in HTML the slash belongs to a value without quotes.
        return token[0]
    return b"<%b%b></%b>" % (name, attributes, name)

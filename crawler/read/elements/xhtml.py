"""XHTML, written so that an HTML parser reads it as an XML parser would.

The two differ in what ends an element, `<script src="x"/>`, which to HTML is open until `</script>`, and in CDATA
sections, which to HTML are comments. Much XHTML is broken XML, which browsers refuse and a crawler should read, so it
isn't left to an XML parser.
"""

import re
from typing import Final

_TOKEN: Final = re.compile(
    rb"<!--.*?(?:-->|\Z)"
    rb"|<(?P<raw>script|style)(?=[\t\n\f\r >])[^<>]*+(?<!/)>.*?(?:</(?P=raw)|\Z)"
    rb"|<!\[CDATA\[(?P<text>.*?)(?:\]\]>|\Z)"
    # In XML, no value has a `<`. So no tag is looked through twice, whatever is in it.
    rb"|<(?P<name>[a-zA-Z][^\t\n\f\r <>/]*+)(?P<attributes>[^<>]*+)(?<=/)>",
    re.DOTALL,
)
_VOID: Final = frozenset(
    b"area base basefont bgsound br col embed frame hr img input keygen link meta param source track wbr".split()
)


def as_html(xhtml: bytes, /) -> bytes:
    """The document in UTF-8 with an end tag for each empty element that needs one, and CDATA as plain text."""
    return _TOKEN.sub(_in_html, xhtml)


def _in_html(token: re.Match[bytes]) -> bytes:
    text, name = token["text"], token["name"]
    if text is not None:
        return text.replace(b"&", b"&amp;").replace(b"<", b"&lt;")
    if name is None or name in _VOID:
        return token[0]
    attributes = token["attributes"][:-1]
    if b"=" in attributes and not attributes.endswith((b'"', b"'", b" ", b"\t", b"\n", b"\r")):
        # No XML: to HTML the slash ends a value without quotes.
        return token[0]
    return b"<%b%b></%b>" % (name, attributes, name)

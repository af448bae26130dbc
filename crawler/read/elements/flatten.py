"""Removes the structure of a page, for pages whose structure would harm a parser.

Only tags with links or metadata remain, and each is closed at once. So a parser builds a flat tree, in time
proportional to the number of tags, and finds the same links. Tags are recognised as by the tokenizer of the HTML
standard, but without context; so we may miss a link, or find one that browsers do not see. The result is always flat.
"""

import re
from typing import Final

from crawler.read.elements.hostile import MAX_ATTRIBUTES
from crawler.read.elements.markup import ATTRIBUTE
from crawler.read.elements.readers_by_tag import ELEMENTS

_TOKEN = re.compile(
    rb"<(?:(?P<comment>!--)"
    rb"|(?P<end>/)?(?P<name>[a-z][^\t\n\f\r />]*+)(?P<attributes>(?>(?:%b){0,%d}))[\t\n\f\r /]*+(?P<complete>>)?"
    rb"|[!?/][^>]*+>?)" % (ATTRIBUTE, MAX_ATTRIBUTES),
    re.IGNORECASE,
)
_COMMENT_END = re.compile(rb"--!?>")
_RAW: Final = frozenset(
    {b"script", b"style", b"title", b"textarea", b"iframe", b"xmp", b"noembed", b"noframes", b"plaintext"}
)
"""Elements whose content is text, not markup."""
_RAW_AND_READ: Final = frozenset({b"script", b"style", b"title", b"noframes"})
_SHADOW_ROOT = re.compile(rb"shadowrootmode[\t\n\f\r ]*=[\t\n\f\r \"']*(?:open|closed)", re.IGNORECASE)
"""The attribute of a template that browsers show."""
_TABLES: Final = frozenset({b"table", b"tbody", b"td", b"tfoot", b"th", b"thead", b"tr"})
"""They have no meaning outside of each other."""
_READ: Final = frozenset(name.encode() for name in ELEMENTS) - _TABLES | {b"p"}
_WITHIN_LINES: Final = frozenset(
    b"abbr acronym b bdi bdo big cite code data del dfn em font head i ins kbd label mark q s samp small span strike "
    b"strong sub sup svg tt u var wbr".split()
)
"""Elements without a line of their own."""
_UNPAIRED: Final = frozenset({b"a", b"p"})
"""The next element of the same name closes them."""
_VOID: Final = frozenset({b"area", b"base", b"embed", b"img", b"input", b"link", b"meta", b"source", b"track"})
_SVG: Final = frozenset({b"feimage", b"image", b"use"})
_ROOTS: Final = frozenset({b"html", b"body"})
_LEFT_OPEN: Final = _UNPAIRED | _VOID | _ROOTS


def flatten(html: bytes, /, *, for_content: bool = False) -> bytes:
    """Keep only the elements that we read, with hardly anything but text within another. `html` is in UTF-8. With
    `for_content` keep what has an id, too, and break lines where other elements begin and end, so that no words run
    together."""
    output: list[bytes] = []
    position = templates = 0
    met: set[bytes] = set()
    is_new_line = True
    while token := _TOKEN.search(html, position):
        if not templates:
            text = html[position : token.start()]
            is_new_line = is_new_line and not text.strip()
            output.append(text.replace(b"<", b"&lt;"))
        position = token.end()
        if token["comment"]:
            # `<!-->` is a complete comment.
            end = _COMMENT_END.search(html, position - 2)
            position = end.end() if end else len(html)
        # The tag has too many attributes, or the document ends within it; by the standard the latter is not a tag.
        if not token["complete"]:
            continue
        name = token["name"].lower()
        if for_content and not (templates or is_new_line or name in _READ or name in _WITHIN_LINES):
            output.append(b"<br>")
            is_new_line = True
        if token["end"]:
            templates -= name == b"template" and templates > 0
            if name not in _ROOTS:
                met.discard(name)
            if name in _UNPAIRED and not templates:
                output.append(b"</%b>" % name)
            continue
        content = b""
        if name in _RAW:
            content, position = raw_content(html, position, name)
        templates += name == b"template" and (templates > 0 or _SHADOW_ROOT.search(token["attributes"]) is None)
        if not templates:
            output.append(_flat_element(name, token["attributes"], content, met, with_ids=for_content))
            met.add(name)
    if not templates:
        output.append(html[position:].replace(b"<", b"&lt;"))
    return b"".join(output)


def raw_content(html: bytes, start: int, name: bytes) -> tuple[bytes, int]:
    """The text of an element whose start tag ends at `start`, and where its end tag ends."""
    end = re.compile(rb"</%b(?=[\t\n\f\r />])|\Z" % name, re.IGNORECASE).search(html, start)
    assert end is not None
    return html[start : end.start()], html.find(b">", end.end()) + 1 or len(html)


def _flat_element(name: bytes, attributes: bytes, content: bytes, met: set[bytes], *, with_ids: bool) -> bytes:
    """The element, closed; only an anchor or a paragraph stays open. Empty for an element that we do not read. `met`
    holds the names of elements that are not closed yet; <html> and <body> stay in it."""
    if name not in _READ or (name in _ROOTS and name in met) or (name == b"p" and b"a" in met):
        # We read some attributes of every element. <wbr> has no other meaning, and needs no end tag.
        lower = attributes.lower()
        is_read = b"url(" in lower or b"image-set(" in lower or b"data-" in lower or (with_ids and b"id" in lower)
        return b"<wbr%b >" % attributes if is_read else b""
    if name == b"title" and b"svg" in met:
        return content.replace(b"<", b"&lt;")
    if name == b"a" and b"svg" in met:
        attributes = attributes.replace(b"xlink:href", b"href")
    if name in _LEFT_OPEN:
        before = b"</a>" if name == b"a" and name in met else b""
        return b"%b<%b%b >" % (before, name, attributes)
    if name == b"frame":
        # Parsers drop a <frame> outside of a frameset.
        name = b"iframe"
    if name in _RAW_AND_READ:
        # A comment in a script may hide the end of the script.
        return b"<%b%b >%b</%b>" % (name, attributes, content.replace(b"<!--", b""), name)
    element = b"<%b%b ></%b>" % (name, attributes, name)
    return b"<svg>%b</svg>" % element if name in _SVG else element

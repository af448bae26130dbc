"""A page without its structure, for pages whose structure no parser should see.

Of the tags only those remain that hold links or metadata, each closed at once: a parser makes a flat tree of them, in
time in proportion to their number, and finds the same links. Tags are told apart as the standard's tokenizer does it.
Where that errs, because it knows no context, a link may be lost, or found that browsers don't see; but whatever is
given, what is made is flat.
"""

import re
from typing import Final

from crawler.read.document import ELEMENTS
from crawler.read.hostile import ATTRIBUTE, MAX_ATTRIBUTES

_TOKEN = re.compile(
    rb"<(?:(?P<comment>!--)"
    rb"|(?P<end>/)?(?P<name>[a-z][^\t\n\f\r />]*+)(?P<attributes>(?:%b){0,%d}+)[\t\n\f\r /]*+>"
    rb"|[!?/][^>]*+>?)" % (ATTRIBUTE, MAX_ATTRIBUTES),
    re.IGNORECASE,
)
_RAW: Final = frozenset(
    {b"script", b"style", b"title", b"textarea", b"iframe", b"xmp", b"noembed", b"noframes", b"plaintext"}
)
"""Elements whose content is no markup."""
_RAW_AND_READ: Final = frozenset({b"script", b"style", b"title"})
_TABLES: Final = frozenset({b"table", b"td", b"th"})
"""They mean nothing outside of each other."""
_READ: Final = frozenset(name.encode() for name in ELEMENTS) - _TABLES | {b"p"}
_UNPAIRED: Final = frozenset({b"a", b"p"})
"""Closed by the next one of their kind."""
_VOID: Final = frozenset({b"area", b"base", b"embed", b"img", b"input", b"link", b"meta", b"source", b"track"})


def flattened(html: bytes, /) -> bytes:
    """The page in UTF-8 with nothing but the elements that are read, and hardly anything within another but text."""
    made: list[bytes] = []
    position = templates = 0
    in_svg = False
    roots: set[bytes] = set()
    while token := _TOKEN.search(html, position):
        if not templates:
            made.append(html[position : token.start()].replace(b"<", b"&lt;"))
        position = token.end()
        if token["comment"]:
            # `<!-->` is a whole comment.
            position = html.find(b"-->", position - 2) + 3
            if position < 3:
                break
            continue
        if token["name"] is None:
            continue
        name = token["name"].lower()
        if token["end"]:
            if name == b"template":
                templates = max(0, templates - 1)
            elif name == b"svg":
                in_svg = False
            elif name in _UNPAIRED and not templates:
                made.append(b"</%b>" % name)
            continue
        content = b""
        if name in _RAW:
            end = re.compile(rb"</%b(?=[\t\n\f\r />])|\Z" % name, re.IGNORECASE).search(html, position)
            assert end is not None
            content = html[position : end.start()]
            position = end.end() if end[0] else len(html)
            position = html.find(b">", position) + 1 or len(html)
        if name == b"template":
            templates += 1
        elif name == b"svg":
            in_svg = True
        if templates or name not in _READ:
            continue
        if in_svg and name == b"title":
            made.append(content.replace(b"<", b"&lt;"))
            continue
        made.append(_closed(name, token["attributes"], content, roots))
    else:
        if not templates:
            made.append(html[position:].replace(b"<", b"&lt;"))
    return b"".join(made)


def _closed(name: bytes, attributes: bytes, content: bytes, roots: set[bytes]) -> bytes:
    """An element that leaves nothing open but an anchor or a paragraph, which the next one closes."""
    if name in (b"html", b"body"):
        if name in roots:
            return b""
        roots.add(name)
        return b"<%b%b >" % (name, attributes)
    if name in _UNPAIRED or name in _VOID:
        return b"<%b%b >" % (name, attributes)
    if name == b"frame":
        # There is no place for it outside of a frameset.
        name = b"iframe"
    if name in _RAW_AND_READ:
        # A comment in a script may hide its end.
        return b"<%b%b >%b</%b>" % (name, attributes, content.replace(b"<!--", b""), name)
    element = b"<%b%b ></%b>" % (name, attributes, name)
    return b"<svg>%b</svg>" % element if name == b"image" else element

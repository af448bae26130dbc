"""A page without its structure, for pages whose structure no parser should see.

Of the tags only those remain that hold links or metadata, each closed at once: a parser makes a flat tree of them, in
time in proportion to their number, and finds the same links. Tags are told apart as the standard's tokenizer does it.
Where that errs, because it knows no context, a link may be lost, or found that browsers don't see; but whatever is
given, what is made is flat.
"""

import re
from typing import Final

from crawler.read.elements.element_readers import ELEMENTS
from crawler.read.elements.hostile import MAX_ATTRIBUTES
from crawler.read.elements.markup import ATTRIBUTE

_TOKEN = re.compile(
    rb"<(?:(?P<comment>!--)"
    rb"|(?P<end>/)?(?P<name>[a-z][^\t\n\f\r />]*+)(?P<attributes>(?>(?:%b){0,%d}))[\t\n\f\r /]*+(?P<whole>>)?"
    rb"|[!?/][^>]*+>?)" % (ATTRIBUTE, MAX_ATTRIBUTES),
    re.IGNORECASE,
)
_COMMENT_END = re.compile(rb"--!?>")
_RAW: Final = frozenset(
    {b"script", b"style", b"title", b"textarea", b"iframe", b"xmp", b"noembed", b"noframes", b"plaintext"}
)
"""Elements whose content is no markup."""
_RAW_AND_READ: Final = frozenset({b"script", b"style", b"title", b"noframes"})
_SHADOW_ROOT = re.compile(rb"shadowrootmode[\t\n\f\r ]*=[\t\n\f\r \"']*(?:open|closed)", re.IGNORECASE)
"""Of a template that is shown."""
_TABLES: Final = frozenset({b"table", b"td", b"th"})
"""They mean nothing outside of each other."""
_READ: Final = frozenset(name.encode() for name in ELEMENTS) - _TABLES | {b"p"}
_UNPAIRED: Final = frozenset({b"a", b"p"})
"""Closed by the next one of their kind."""
_VOID: Final = frozenset({b"area", b"base", b"embed", b"img", b"input", b"link", b"meta", b"source", b"track"})
_SVG: Final = frozenset({b"feimage", b"image", b"use"})
_ROOTS: Final = frozenset({b"html", b"body"})
_LEFT_OPEN: Final = _UNPAIRED | _VOID | _ROOTS


def flattened(html: bytes, /) -> bytes:
    """The page in UTF-8 with nothing but the elements that are read, and hardly anything within another but text."""
    made: list[bytes] = []
    position = templates = 0
    met: set[bytes] = set()
    while token := _TOKEN.search(html, position):
        if not templates:
            made.append(html[position : token.start()].replace(b"<", b"&lt;"))
        position = token.end()
        if token["comment"]:
            # `<!-->` is a whole comment.
            end = _COMMENT_END.search(html, position - 2)
            position = end.end() if end else len(html)
        # Without its end it is a tag of too many attributes, or one that the end of the document tears, which is none.
        if not token["whole"]:
            continue
        name = token["name"].lower()
        if token["end"]:
            templates -= name == b"template" and templates > 0
            if name not in _ROOTS:
                met.discard(name)
            if name in _UNPAIRED and not templates:
                made.append(b"</%b>" % name)
            continue
        content = b""
        if name in _RAW:
            end = re.compile(rb"</%b(?=[\t\n\f\r />])|\Z" % name, re.IGNORECASE).search(html, position)
            assert end is not None
            content = html[position : end.start()]
            position = html.find(b">", end.end()) + 1 or len(html)
        templates += name == b"template" and (templates > 0 or _SHADOW_ROOT.search(token["attributes"]) is None)
        if not templates:
            made.append(_closed(name, token["attributes"], content, met))
            met.add(name)
    if not templates:
        made.append(html[position:].replace(b"<", b"&lt;"))
    return b"".join(made)


def _closed(name: bytes, attributes: bytes, content: bytes, met: set[bytes]) -> bytes:
    """An element that leaves nothing open but an anchor or a paragraph; nothing for one that is not read. `met` are the
    names whose end was not met since; roots have none."""
    if name not in _READ or (name in _ROOTS and name in met) or (name == b"p" and b"a" in met):
        # Of all elements some attributes may be read; this one means nothing else, and needs no end.
        lower = attributes.lower()
        return b"<wbr%b >" % attributes if b"url(" in lower or b"data-" in lower else b""
    if name == b"title" and b"svg" in met:
        return content.replace(b"<", b"&lt;")
    if name == b"a" and b"svg" in met:
        attributes = attributes.replace(b"xlink:href", b"href")
    if name in _LEFT_OPEN:
        before = b"</a>" if name == b"a" and name in met else b""
        return b"%b<%b%b >" % (before, name, attributes)
    if name == b"frame":
        # There is no place for it outside of a frameset.
        name = b"iframe"
    if name in _RAW_AND_READ:
        # A comment in a script may hide its end.
        return b"<%b%b >%b</%b>" % (name, attributes, content.replace(b"<!--", b""), name)
    element = b"<%b%b ></%b>" % (name, attributes, name)
    return b"<svg>%b</svg>" % element if name in _SVG else element

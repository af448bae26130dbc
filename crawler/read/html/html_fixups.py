"""HTML written so that the `html.parser` of any Python reads it as the standard's tokenizer does.

Older ones take the contents of `title` and `textarea` for markup, `&region=` in an attribute for `®ion=`, and `<!-->`
for the beginning of a comment; they find the end of a script only with `>` right behind it. All take `<script/>` for a
whole one.
"""

import re
from html.entities import html5
from typing import Final

from crawler.read.elements.markup import ATTRIBUTE

_TOKEN: Final = re.compile(
    rb"<(?:(?P<comment>!--)|(?P<end>/)?(?P<name>[a-z][^\t\n\f\r />]*+)(?P<attributes>(?>(?:%b)*))"
    rb"(?P<closed>[\t\n\f\r /]*+)(?P<whole>>)?|\?(?P<declaration>xml)(?=[\t\n\f\r ]))" % ATTRIBUTE,
    re.IGNORECASE,
)
_COMMENT_END: Final = re.compile(rb"--!?>")
_SCRIPTS: Final = frozenset({b"script", b"style"})
_TEXTS: Final = frozenset({b"title", b"textarea", b"iframe", b"xmp", b"noembed", b"noframes", b"plaintext"})
"""Elements whose content is no markup."""
_FOREIGN: Final = frozenset({b"svg", b"math"})
_REFERENCE: Final = re.compile(rb"&([A-Za-z][A-Za-z0-9]*)(;?)(=?)")
_TORN: Final = re.compile(rb"<[a-z!/?]", re.IGNORECASE)


def mended(html: bytes, /) -> bytes:
    """The page in UTF-8, without what stands in comments."""
    made: list[bytes] = []
    position = 0
    in_foreign = in_anchor = False
    while token := _TOKEN.search(html, position):
        made.append(html[position : token.start()])
        position = token.end()
        if token["declaration"]:
            # Beautiful Soup warns of XML that this parser is none; it is meant to be none.
            made.append(b"<?")
        elif token["comment"]:
            # `<!-->` is a whole comment.
            end = _COMMENT_END.search(html, position - 2)
            position = end.end() if end else len(html)
            made.append(b"<!-- -->")
        elif token["end"] or not token["whole"]:
            name = token["name"].lower()
            in_foreign = in_foreign and name not in _FOREIGN
            in_anchor = in_anchor and name != b"a"
            made.append(token[0])
        else:
            name = token["name"].lower()
            is_closed = b"/" in token["closed"]
            in_foreign = in_foreign or (name in _FOREIGN and not is_closed)
            attributes = _REFERENCE.sub(_as_meant, token["attributes"])
            if (name in _SCRIPTS and not (in_foreign and is_closed)) or (name in _TEXTS and not in_foreign):
                content, position = _content(html, position, name)
                made.append(b"<%b%b >%b</%b>" % (name, attributes, content, name))
            else:
                if name == b"a" and not in_foreign:
                    # To this parser anchors nest; to the standard the next one ends the one before.
                    made.append(b"</a>" * in_anchor)
                    in_anchor = True
                # Outside of SVG and MathML the slash means nothing; this parser would close the element.
                closed = token["closed"] if in_foreign or name in _FOREIGN else b" " * bool(token["closed"])
                made.append(b"<%b%b%b>" % (name, attributes, closed))
    made.append(html[position:])
    return _without_torn_tag(b"".join(made))


def _content(html: bytes, start: int, name: bytes) -> tuple[bytes, int]:
    """What is in an element whose start tag ends there, harmless to a parser, and where its end tag ends."""
    end = re.compile(rb"</%b(?=[\t\n\f\r />])|\Z" % name, re.IGNORECASE).search(html, start)
    assert end is not None
    content = html[start : end.start()]
    return content if name in _SCRIPTS else content.replace(b"<", b"&lt;"), html.find(b">", end.end()) + 1 or len(html)


def _as_meant(found: re.Match[bytes]) -> bytes:
    """In an attribute, a reference without its semicolon is none if `=` or another letter follows."""
    name = found[1].decode("ascii")
    is_reference = f"{name};" in html5 if found[2] else name in html5 and not found[3]
    return found[0] if is_reference else b"&amp;" + found[0][1:]


def _without_torn_tag(html: bytes) -> bytes:
    """The page up to a tag or comment that its end tears. By the standard such a tag is none; and many of them take
    the `html.parser` of older Pythons time by the square of their number (CVE-2025-6069)."""
    torn = _TORN.search(html, html.rfind(b">") + 1)
    return html if torn is None else html[: torn.start()]

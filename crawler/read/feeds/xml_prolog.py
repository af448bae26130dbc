"""What stands before the root of an XML document, and which element is its root.

Sitemaps and feeds are often served with something before them: a warning of PHP, a blank line, the text of a template.
So the root is looked for behind whatever stands there. What is declared before it counts: entities of the DTD.
"""

import re
from typing import Final

import msgspec

MAX_PROLOG_BYTES: Final = 1 << 16
"""How far a root is looked for."""

READABLE: Final = frozenset({b"urlset", b"sitemapindex", b"rss", b"rdf", b"feed", b"sitemap", b"sitemaps"})
"""Roots, in lower case, of documents that have links."""
_UNMISTAKABLE: Final = frozenset({b"urlset", b"sitemapindex"})
"""They are the root wherever they stand. Other names have other meanings within other documents."""
_PAGES: Final = frozenset({b"html", b"head", b"body", b"svg"})
"""What stands within them is an example."""

_MARKUP: Final = re.compile(
    rb"<(?:(?P<comment>!--)|(?P<cdata>!\[CDATA\[)|(?P<instruction>\?)|(?P<doctype>!doctype)"
    rb"|(?:[a-z_][\w.-]*:)?(?P<name>[a-z_][\w.-]*))",
    re.IGNORECASE,
)
_SUBSET_END: Final = re.compile(rb"\]\s*>")
_ENTITY: Final = re.compile(
    rb"""<!ENTITY\s+([A-Za-z_][\w.-]*)\s+(?:"([^"]*)"|'([^']*)'|(?:SYSTEM|PUBLIC)\b)""", re.IGNORECASE
)
_REFERENCE: Final = re.compile(rb"&([A-Za-z_][\w.-]*);")
_OF_XML: Final = frozenset({b"amp", b"lt", b"gt", b"quot", b"apos"})
_MAX_EXPANDED_BYTES: Final = 10_000
"""Of one entity; URLs are shorter."""
_MAX_NESTING: Final = 16


class Root(msgspec.Struct, frozen=True):
    """Where the root element of a document begins."""

    name: bytes
    """Without its prefix, in lower case."""
    at: int
    is_first: bool
    """Whether nothing but white space and other prolog stands before it."""
    subset: bytes
    """The internal subset of the DTD, between its brackets."""


def find_root(head: bytes, /) -> Root | None:
    """The root of a document that is read, wherever it stands; else the first element; None if there is none. An
    element is the root if it is the first, or follows an XML declaration, or has a name that is unmistakable."""
    first: Root | None = None
    subset = b""
    position = 0
    may_be_root = True
    is_first = True
    while found := _MARKUP.search(head, position):
        is_first = is_first and not head[position : found.start()].strip()
        position = found.end()
        if found["name"]:
            name = found["name"].lower()
            root = Root(name, found.start(), is_first, subset)
            if name in _UNMISTAKABLE or (may_be_root and name in READABLE):
                return root
            first = first or root
            if name in _PAGES:
                break
            may_be_root = is_first = False
            continue
        if found["doctype"]:
            end, inner = _doctype_end(head, position)
            subset = inner or subset
        else:
            mark = b"-->" if found["comment"] else b"]]>" if found["cdata"] else b"?>"
            end = head.find(mark, position) + len(mark)
            end = -1 if end < len(mark) else end
        if end < 0:
            break
        may_be_root = may_be_root or head[position : position + 3].lower() == b"xml"
        position = end
    return first


def _doctype_end(head: bytes, position: int) -> tuple[int, bytes]:
    """Where a doctype ends that begins before the position, -1 if it doesn't; and its internal subset."""
    end = head.find(b">", position)
    bracket = head.find(b"[", position, end if end >= 0 else len(head))
    if bracket < 0:
        return (end + 1 if end >= 0 else -1), b""
    closed = _SUBSET_END.search(head, bracket)
    return (closed.end(), head[bracket + 1 : closed.start()]) if closed else (-1, b"")


class Entities:
    """What references to entities of a DTD stand for."""

    def __init__(self, subset: bytes, /) -> None:
        self.trouble: str | None = None
        """Why an entity was left out."""
        self._declared: dict[bytes, bytes | None] = {}
        for name, double, single in _ENTITY.findall(subset):
            # The first declaration counts. One of a document elsewhere has no value, and is not asked for.
            self._declared.setdefault(name, double or single or None)
        self._meanings: dict[bytes, bytes | None] = {}

    def __contains__(self, name: object) -> bool:
        return name in self._declared

    def meaning(self, name: bytes, /) -> bytes | None:
        """In XML; None of an entity that is not read."""
        meaning = self._inner(name, 0)
        if meaning is None and self.trouble is None:
            why = (
                "lies elsewhere"
                if self._declared[name] is None
                else f"stands for more than {_MAX_EXPANDED_BYTES} bytes"
            )
            self.trouble = f"its entity {name.decode('ascii')} {why}, and is not read"
        return meaning

    def _expanded(self, name: bytes, nesting: int) -> bytes | None:
        value = self._declared.get(name)
        if value is None or nesting > _MAX_NESTING:
            return None
        made: list[bytes] = []
        size = position = 0
        for reference in _REFERENCE.finditer(value):
            inner = reference[1]
            meaning = reference[0] if inner in _OF_XML or inner not in self._declared else self._inner(inner, nesting)
            if meaning is None:
                return None
            made += (value[position : reference.start()], meaning)
            size += len(meaning)
            position = reference.end()
            if size > _MAX_EXPANDED_BYTES:
                return None
        made.append(value[position:])
        whole = b"".join(made)
        return whole if len(whole) <= _MAX_EXPANDED_BYTES else None

    def _inner(self, name: bytes, nesting: int) -> bytes | None:
        # Remembered, also that it has none: entities of entities would be looked through by the power of their nesting.
        if name not in self._meanings:
            self._meanings[name] = None
            self._meanings[name] = self._expanded(name, nesting + 1)
        return self._meanings[name]

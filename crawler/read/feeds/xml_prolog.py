"""Finds the root of an XML document, and the entities that its DTD declares.

Servers often send something before a sitemap or feed: a warning of PHP, a blank line, the text of a template. So we
look for the root after any such text.
"""

import re
from typing import Final

import msgspec

MAX_PROLOG_BYTES: Final = 1 << 16
"""How far we look for a root."""

READABLE: Final = frozenset({b"urlset", b"sitemapindex", b"rss", b"rdf", b"feed", b"sitemap", b"sitemaps"})
"""Roots, in lower case, of the documents that we read."""
_UNMISTAKABLE: Final = frozenset({b"urlset", b"sitemapindex"})
"""These are the root wherever they stand. The other names have other meanings within other documents."""
_PAGES: Final = frozenset({b"html", b"head", b"body", b"svg"})
"""A sitemap within one of these is an example."""

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
"""Limit per entity; URLs are shorter."""
_MAX_NESTING: Final = 16


class Root(msgspec.Struct, frozen=True):
    """The root element of a document."""

    name: bytes
    """Without its prefix, in lower case."""
    at: int
    """Where it begins."""
    is_first: bool
    """Whether only white space and prolog stand before it."""
    subset: bytes
    """The internal subset of the DTD, between its brackets."""


def find_root(head: bytes, /) -> Root | None:
    """The root, if it is one that we read; otherwise the first element; None if there is no element. An element is the
    root if it is the first, or follows an XML declaration, or has an unmistakable name."""
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
    """Where the doctype that begins before `position` ends, -1 if it does not; and its internal subset."""
    end = head.find(b">", position)
    bracket = head.find(b"[", position, end if end >= 0 else len(head))
    if bracket < 0:
        return (end + 1 if end >= 0 else -1), b""
    closed = _SUBSET_END.search(head, bracket)
    return (closed.end(), head[bracket + 1 : closed.start()]) if closed else (-1, b"")


class Entities:
    """Expands references to the entities of a DTD."""

    def __init__(self, subset: bytes, /) -> None:
        self.trouble: str | None = None
        """Why an entity was not expanded."""
        self._declared: dict[bytes, bytes | None] = {}
        for name, double, single in _ENTITY.findall(subset):
            # The first declaration counts. An external entity has no value, and we do not load it.
            self._declared.setdefault(name, double or single or None)
        self._expansions: dict[bytes, bytes | None] = {}

    def __contains__(self, name: object) -> bool:
        return name in self._declared

    def expand(self, name: bytes, /) -> bytes | None:
        """The XML that a declared entity stands for; None if we do not read it."""
        expansion = self._expand_once(name, 0)
        if expansion is None and self.trouble is None:
            why = "is external" if self._declared[name] is None else f"expands to more than {_MAX_EXPANDED_BYTES} bytes"
            self.trouble = f"its entity {name.decode('ascii')} {why}, and is not read"
        return expansion

    def _expand(self, name: bytes, nesting: int) -> bytes | None:
        value = self._declared.get(name)
        if value is None or nesting > _MAX_NESTING:
            return None
        output: list[bytes] = []
        size = position = 0
        for reference in _REFERENCE.finditer(value):
            inner = reference[1]
            is_kept = inner in _OF_XML or inner not in self._declared
            expansion = reference[0] if is_kept else self._expand_once(inner, nesting)
            if expansion is None:
                return None
            output += (value[position : reference.start()], expansion)
            size += len(expansion)
            position = reference.end()
            if size > _MAX_EXPANDED_BYTES:
                return None
        output.append(value[position:])
        expanded = b"".join(output)
        return expanded if len(expanded) <= _MAX_EXPANDED_BYTES else None

    def _expand_once(self, name: bytes, nesting: int) -> bytes | None:
        # We remember failures too; otherwise entities within entities would take exponential time.
        if name not in self._expansions:
            self._expansions[name] = None
            self._expansions[name] = self._expand(name, nesting + 1)
        return self._expansions[name]

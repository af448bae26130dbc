"""Data that a page has for machines: JSON-LD and Open Graph.

Sources: https://www.w3.org/TR/json-ld11/#embedding-json-ld-in-html-documents and https://ogp.me.
"""

import json
from collections.abc import Iterable
from math import isfinite
from typing import Any, Final

import turbohtml

from crawler.url.urls import join

MAX_DEPTH: Final = 100
"""Of JSON-LD: objects and arrays within each other. Real data has about ten."""
_MAX_PROPERTIES: Final = 1000
_GROUPS: Final = ("og:", "article:", "book:", "profile:", "music:", "video:", "product:", "fb:", "twitter:")
"""Beginnings of the names of properties, of Open Graph and of those who do as it does."""
_URLS: Final = frozenset(
    "og:url og:image og:image:url og:image:secure_url og:video og:video:url og:video:secure_url og:audio og:audio:url "
    "og:audio:secure_url twitter:image twitter:image:src twitter:player".split()
)
_LEAST, _MOST = -(2**63), 2**64
_MOST_DIGITS: Final = 20
"""Of such a number, with its sign."""

OpenGraph = dict[str, str | list[str]]


def json_ld(tree: turbohtml.Document, max_bytes: int, troubles: list[str]) -> list[Any]:
    """The blocks of JSON-LD in document order, decoded. What can't be decoded is left out and noted."""
    found, left = [], max_bytes
    wrong: list[str] = []
    blocks = tree.select('script[type^="application/ld+json" i]')
    for number, block in enumerate(blocks, start=1):
        text = block.text
        left -= len(text.encode("utf-8", "replace"))
        if left < 0:
            troubles.append(
                f"its JSON-LD is left out from block {number} of {len(blocks)} on: longer than {max_bytes:,} bytes"
            )
            break
        try:
            value = json.loads(text, strict=False, parse_int=_integer, parse_float=_finite, parse_constant=_refuse)
        except RecursionError:
            wrong.append(f"block {number} is nested too deeply")
        except ValueError as error:
            wrong.append(f"block {number} is not JSON ({error})")
        else:
            if _is_deep(value):
                wrong.append(f"block {number} is nested too deeply")
            else:
                found.append(value)
    if wrong:
        more = f", and {len(wrong) - 1} others" if len(wrong) > 1 else ""
        troubles.append(f"its JSON-LD is incomplete: {wrong[0]}{more}")
    return found


def open_graph(tree: turbohtml.Document, base_url: str, max_bytes: int, troubles: list[str]) -> OpenGraph:
    """The properties of Open Graph by name; a list of values where a name comes more than once. URLs are absolute."""
    found: OpenGraph = {}
    left = max_bytes
    for name, value in _properties(tree.select("meta[content]")):
        if name in _URLS:
            value = join(base_url, value) or value  # noqa: PLW2901 - as the page has it, if it is no URL
        left -= len(name) + len(value.encode("utf-8", "replace"))
        if left < 0:
            troubles.append(f"its Open Graph properties are incomplete: longer than {max_bytes:,} bytes")
            break
        known = found.get(name)
        if known is None:
            found[name] = value
        elif isinstance(known, list):
            known.append(value)
        else:
            found[name] = [known, value]
    return found


def _properties(elements: Iterable[turbohtml.Element]) -> Iterable[tuple[str, str]]:
    count = 0
    for each in elements:
        # The standard says `property`; many pages have `name`.
        name = str(each.attrs.get("property") or each.attrs.get("name") or "").strip().lower()
        value = str(each.attrs.get("content") or "").strip()
        if value and name.startswith(_GROUPS):
            yield name, value
            count += 1
            if count == _MAX_PROPERTIES:
                return


def _integer(text: str) -> int | float | None:
    """No record can hold an integer that is larger than its numbers."""
    if len(text) > _MOST_DIGITS:
        return _finite(text)
    value = int(text)
    return value if _LEAST <= value < _MOST else float(text)


def _finite(text: str) -> float | None:
    """None for a number that is too large: JSON can't say infinity, and PostgreSQL refuses a row that tries."""
    value = float(text)
    return value if isfinite(value) else None


def _refuse(name: str) -> None:
    raise ValueError(f"{name} is no value of JSON")


def _is_deep(value: Any) -> bool:
    level = [value]
    for _ in range(MAX_DEPTH):
        level = [
            inner
            for outer in level
            if isinstance(outer, dict | list)
            for inner in (outer.values() if isinstance(outer, dict) else outer)
            if isinstance(inner, dict | list)
        ]
        if not level:
            return False
    return True

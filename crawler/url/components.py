"""Splits a serialised URL into its components."""

import re
from collections.abc import Callable

import msgspec


class UrlComponents(msgspec.Struct, frozen=True, gc=False):
    """A serialised URL without credentials and fragment, as canonical rules take and return it."""

    scheme: str
    host: str
    port: str
    """With its colon; empty if it is the scheme's own."""
    path: str
    query: str | None
    """Without its question mark; None if there is none, empty if there is only the mark."""

    def __str__(self) -> str:
        query = "" if self.query is None else f"?{self.query}"
        return f"{self.scheme}://{self.host}{self.port}{self.path}{query}"


Rule = Callable[[UrlComponents], UrlComponents]


class NamedRule(msgspec.Struct, frozen=True):
    """A rule that is given as a function."""

    identity: str
    """Two rules with the same identity have the same effect."""
    apply: Rule

    def __str__(self) -> str:
        return self.identity


_URL = re.compile(r"(https?)://([^/?#:\[\]]+|\[[0-9a-f:.]+\])(:[0-9]+)?(/[^?#]*)(?:\?([^#]*))?", re.ASCII)


def split_url(text: str) -> UrlComponents | None:
    """Split a URL; None if it is not of the form that `str(UrlComponents)` has."""
    found = _URL.fullmatch(text)
    if found is None:
        return None
    return UrlComponents(found[1], found[2], found[3] or "", found[4], found[5])

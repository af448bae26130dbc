"""Links to a part of a page that the page does not have."""

import sqlite3
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Final

from crawler.operate.report.lists.endings import Canonical, Endings
from crawler.operate.report.lists.forms import BrokenAnchor
from crawler.operate.report.lists.listed import Listed
from crawler.page.anchors import Anchors

_REMEMBERED: Final = 256
"""Pages whose anchors are kept in memory."""


class BrokenAnchors:
    """`add` all records first; then `rows` reads them once more. Only pages with `output.check_fragments` tell."""

    def __init__(self, database: sqlite3.Connection, canonical: Canonical, endings: Endings) -> None:
        self._database = database
        self._canonical = canonical
        self._endings = endings
        self._anchors_at = lru_cache(_REMEMBERED)(self._find)
        self.pages = 0
        """How many tell their anchors."""
        database.execute("CREATE TABLE anchors (name TEXT PRIMARY KEY, anchors TEXT) WITHOUT ROWID")

    def add(self, listed: Listed) -> None:
        if listed.anchors is not None:
            self.pages += 1
            row = self._canonical(listed.url), listed.anchors
            self._database.execute("INSERT OR REPLACE INTO anchors VALUES (?, ?)", row)

    def rows(self, records: Iterable[Listed]) -> Iterator[BrokenAnchor]:
        """Page by page, as they were written."""
        for listed in records:
            for own in listed.broken_fragments or ():
                yield BrokenAnchor(url=f"{listed.url}#{own}", page=listed.url, anchor=None, kind="link")
            seen: set[tuple[str, str, str | None]] = set()
            for link in listed.link_details or ():
                fragment = link.fragment
                if not fragment or (link.url, fragment, link.text) in seen:
                    continue
                seen.add((link.url, fragment, link.text))
                anchors = self._anchors_at(link.canonical or link.url)
                if anchors is not None and not anchors.have(fragment):
                    yield BrokenAnchor(
                        url=f"{link.url}#{fragment}", page=listed.url, anchor=link.text or None, kind=link.kind
                    )

    def _find(self, url: str) -> Anchors | None:
        """The anchors of the page to which a URL leads; None if nobody knows them."""
        name = self._canonical(self._endings.follow(url).url)
        found = self._database.execute("SELECT anchors FROM anchors WHERE name = ?", (name,)).fetchone()
        return None if found is None else Anchors(found[0])

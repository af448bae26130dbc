"""Pages that no sitemap names, although one should."""

import sqlite3
from collections.abc import Iterator
from http import HTTPStatus
from typing import Final

from crawler.operate.report.lists.endings import Canonical
from crawler.operate.report.lists.forms import FoundPage
from crawler.operate.report.lists.listed import Listed, is_html_page
from crawler.operate.report.lists.temporary import Rows
from crawler.page import LinkKind
from crawler.url.urls import host_of

_TABLES: Final = """
    CREATE TABLE in_sitemaps (name TEXT PRIMARY KEY, host TEXT) WITHOUT ROWID;
    CREATE TABLE indexable (name TEXT PRIMARY KEY, host TEXT, url TEXT, kind TEXT, via TEXT) WITHOUT ROWID;
"""


class Unlisted:
    """`add` all records first. Pages of a host of which no sitemap names a page are left out."""

    def __init__(self, database: sqlite3.Connection, canonical: Canonical) -> None:
        self._database = database
        self._canonical = canonical
        database.executescript(_TABLES)
        self._in_sitemaps = Rows(database, "INSERT OR IGNORE INTO in_sitemaps VALUES (?, ?)")
        self._indexable = Rows(database, "INSERT OR REPLACE INTO indexable VALUES (?, ?, ?, ?, ?)")
        self.sitemaps = 0
        """Those that name a page."""
        self.unread = 0
        """Sitemaps of which nobody knows what they name."""

    def add(self, listed: Listed) -> None:
        if listed.kind == LinkKind.SITEMAP and listed.status == HTTPStatus.OK:
            self.unread += listed.link_details is None
        named = [link.canonical or link.url for link in listed.link_details or () if link.kind == LinkKind.LISTED]
        self.sitemaps += bool(named)
        for name in named:
            self._in_sitemaps.add(name, host_of(name))
        if listed.status == HTTPStatus.OK and is_html_page(listed) and not listed.noindex:
            name = self._canonical(listed.url)
            if listed.canonical is None or self._canonical(listed.canonical) == name:
                self._indexable.add(name, host_of(name), listed.url, listed.kind, listed.via)

    def rows(self) -> Iterator[FoundPage]:
        """In the order of URLs; none if nobody knows what one of the sitemaps names."""
        if self.unread:
            return
        self._in_sitemaps.write()
        self._indexable.write()
        for url, kind, via in self._database.execute(
            "SELECT url, kind, via FROM indexable WHERE host IN (SELECT host FROM in_sitemaps) "
            "AND name NOT IN (SELECT name FROM in_sitemaps) ORDER BY name"
        ):
            yield FoundPage(url=url, kind=kind, via=via)

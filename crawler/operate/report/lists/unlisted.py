"""Pages that no sitemap names, although one should."""

import sqlite3
from collections.abc import Iterator
from http import HTTPStatus
from typing import Final

from crawler.operate.report.lists.endings import Canonical
from crawler.operate.report.lists.forms import FoundPage
from crawler.operate.report.lists.listed import Listed, is_html_page, named_in_sitemap
from crawler.operate.report.lists.temporary import add_tables
from crawler.page import LinkKind
from crawler.url.urls import host_of

_TABLES: Final = """
    CREATE TABLE in_sitemaps (name TEXT PRIMARY KEY, host TEXT) WITHOUT ROWID;
    CREATE TABLE without_links (name TEXT PRIMARY KEY) WITHOUT ROWID;
    CREATE TABLE listing (name TEXT PRIMARY KEY) WITHOUT ROWID;
    CREATE TABLE indexable (name TEXT PRIMARY KEY, host TEXT, url TEXT, kind TEXT, via TEXT) WITHOUT ROWID;
"""
_LIST: Final = "INSERT OR IGNORE INTO listing VALUES (?)"
"""Notes where the crawl has found the URLs that a sitemap lists."""
_AS_SITEMAPS: Final = frozenset({"application/xml", "text/xml", "application/gzip", "text/plain"})
"""Types of sitemaps. Without its links, nobody knows of a seed whether it is one, unless it has another type."""


class Unlisted:
    """`add` all records first. Pages of a host of which no sitemap names a page are left out."""

    def __init__(self, database: sqlite3.Connection, canonical: Canonical) -> None:
        self._database = database
        self._canonical = canonical
        add_tables(database, _TABLES)
        self.sitemaps = 0
        """Those that name a page."""

    def add(self, listed: Listed) -> None:
        if listed.status == HTTPStatus.OK and listed.link_details is None and not is_html_page(listed):
            name = self._canonical(listed.url)
            self._database.execute("INSERT OR IGNORE INTO without_links VALUES (?)", (name,))
            if listed.kind == LinkKind.SITEMAP or (
                listed.kind == LinkKind.SEED and listed.content_type in _AS_SITEMAPS
            ):
                self._database.execute(_LIST, (name,))
        if listed.kind == LinkKind.LISTED and listed.via is not None:
            self._database.execute(_LIST, (self._canonical(listed.via),))
        named = named_in_sitemap(listed)
        self.sitemaps += bool(named)
        for name in named:
            self._database.execute("INSERT OR IGNORE INTO in_sitemaps VALUES (?, ?)", (name, host_of(name)))
        if listed.status == HTTPStatus.OK and is_html_page(listed) and not listed.noindex:
            name = self._canonical(listed.url)
            if listed.canonical is None or self._canonical(listed.canonical) == name:
                row = name, host_of(name), listed.url, listed.kind, listed.via
                self._database.execute("INSERT OR REPLACE INTO indexable VALUES (?, ?, ?, ?, ?)", row)

    @property
    def unread(self) -> int:
        """How many sitemaps there are of which nobody knows what they name. One that is neither a seed nor named as a
        sitemap is known by the URLs that were found there first."""
        query = "SELECT count(*) FROM listing JOIN without_links USING (name)"
        return int(self._database.execute(query).fetchone()[0])

    def rows(self) -> Iterator[FoundPage]:
        """In the order of URLs; none if nobody knows what one of the sitemaps names."""
        if self.unread:
            return
        for url, kind, via in self._database.execute(
            "SELECT url, kind, via FROM indexable WHERE host IN (SELECT host FROM in_sitemaps) "
            "AND name NOT IN (SELECT name FROM in_sitemaps) ORDER BY name"
        ):
            yield FoundPage(url=url, kind=kind, via=via)

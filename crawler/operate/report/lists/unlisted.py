"""Pages that no sitemap names, although one should."""

import sqlite3
from collections.abc import Iterator
from http import HTTPStatus
from typing import Final

from crawler.operate.report.lists.endings import Canonical
from crawler.operate.report.lists.forms import FoundPage
from crawler.operate.report.lists.listed import Listed, is_html_page, other_canonical
from crawler.operate.report.lists.sitemaps import Sitemaps
from crawler.operate.report.lists.temporary import add_tables
from crawler.url.urls import host_of

_TABLES: Final = """
    CREATE TABLE indexable (name TEXT PRIMARY KEY, host TEXT, url TEXT, kind TEXT, via TEXT) WITHOUT ROWID;
"""


class Unlisted:
    """`add` all records first, here and to `sitemaps`. Pages of a host of which no sitemap names a page are left
    out."""

    def __init__(self, database: sqlite3.Connection, canonical: Canonical, sitemaps: Sitemaps) -> None:
        self._database = database
        self._canonical = canonical
        self._sitemaps = sitemaps
        add_tables(database, _TABLES)

    def add(self, listed: Listed) -> None:
        if listed.status != HTTPStatus.OK or not is_html_page(listed) or listed.noindex:
            return
        if other_canonical(listed, self._canonical) is None:
            name = self._canonical(listed.url)
            row = name, host_of(name), listed.url, listed.kind, listed.via
            self._database.execute("INSERT OR REPLACE INTO indexable VALUES (?, ?, ?, ?, ?)", row)

    def rows(self) -> Iterator[FoundPage]:
        """In the order of URLs; none if nobody knows what one of the sitemaps names."""
        if self._sitemaps.unread:
            return
        for url, kind, via in self._database.execute(
            "SELECT url, kind, via FROM indexable WHERE host IN (SELECT host FROM sitemap_hosts) "
            "AND NOT EXISTS (SELECT 1 FROM in_sitemaps WHERE in_sitemaps.name = indexable.name) ORDER BY name"
        ):
            yield FoundPage(url=url, kind=kind, via=via)

"""What sitemaps name, in a temporary file."""

import sqlite3
from http import HTTPStatus
from typing import Final

from crawler.operate.report.lists.endings import Canonical
from crawler.operate.report.lists.listed import Listed, is_html_page, name_of, named_in_sitemap
from crawler.operate.report.lists.temporary import add_tables
from crawler.page import LinkKind
from crawler.url.urls import host_of

_TABLES: Final = """
    CREATE TABLE sitemaps (number INTEGER PRIMARY KEY, url TEXT);
    CREATE TABLE in_sitemaps (
        name TEXT, sitemap INTEGER, url TEXT, refused TEXT, PRIMARY KEY (name, sitemap)
    ) WITHOUT ROWID;
    CREATE TABLE sitemap_hosts (host TEXT PRIMARY KEY) WITHOUT ROWID;
    CREATE TABLE without_links (name TEXT PRIMARY KEY) WITHOUT ROWID;
    CREATE TABLE listing (name TEXT PRIMARY KEY) WITHOUT ROWID;
"""
"""What a sitemap names has a name, the URL in the sitemap if that is another, and why the crawl did not follow it."""
_LIST: Final = "INSERT OR IGNORE INTO listing VALUES (?)"
"""Notes where the crawl has found the URLs that a sitemap lists."""
_AS_SITEMAPS: Final = frozenset({"application/xml", "text/xml", "application/gzip", "text/plain"})
"""Types of sitemaps. Without its links, nobody knows of a seed whether it is one, unless it has another type."""


class Sitemaps:
    """`add` all records first."""

    def __init__(self, database: sqlite3.Connection, canonical: Canonical) -> None:
        self._database = database
        self._canonical = canonical
        add_tables(database, _TABLES)
        self.count = 0
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
        if named := named_in_sitemap(listed):
            self.count += 1
            self._database.execute("INSERT INTO sitemaps VALUES (?, ?)", (self.count, listed.url))
            self._database.executemany(
                "INSERT OR IGNORE INTO in_sitemaps VALUES (?, ?, ?, ?)",
                ((name_of(link), self.count, link.canonical and link.url, link.refused) for link in named),
            )
            hosts = {host_of(name_of(link)) for link in named}
            self._database.executemany("INSERT OR IGNORE INTO sitemap_hosts VALUES (?)", zip(hosts, strict=True))

    @property
    def unread(self) -> int:
        """How many sitemaps there are of which nobody knows what they name. One that is neither a seed nor named as a
        sitemap is known by the URLs that were found there first."""
        query = "SELECT count(*) FROM listing JOIN without_links USING (name)"
        return int(self._database.execute(query).fetchone()[0])

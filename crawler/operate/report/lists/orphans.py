"""Pages that a sitemap or a list of seeds names, and to which no page links."""

import sqlite3
from collections.abc import Collection, Iterator
from typing import Final

from crawler.operate.report.lists.endings import Canonical, Endings
from crawler.operate.report.lists.forms import FoundPage
from crawler.operate.report.lists.listed import Listed, is_html_page, name_of, named_in_sitemap
from crawler.operate.report.lists.temporary import add_tables
from crawler.page import LinkKind

_TABLES: Final = """
    CREATE TABLE named (name TEXT PRIMARY KEY) WITHOUT ROWID;
    CREATE TABLE linked (name TEXT PRIMARY KEY, page TEXT) WITHOUT ROWID;
    CREATE TABLE html (name TEXT PRIMARY KEY, url TEXT, kind TEXT, via TEXT) WITHOUT ROWID;
"""
_NAME: Final = "INSERT OR IGNORE INTO named VALUES (?)"
_LINK: Final = (
    "INSERT INTO linked VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET page = NULL WHERE page IS NOT excluded.page"
)
"""The page that links there; NULL if several do."""
_NAMED: Final = (LinkKind.SEED, LinkKind.LISTED)
_LINKS: Final = (LinkKind.LINK, LinkKind.FRAME, LinkKind.FORM, LinkKind.REFRESH)
"""What leads a visitor to a page: <link> elements, feeds and what a page embeds do not."""


class Orphans:
    """`add` all records first. Home pages are no orphans, and neither are `seeds`, given by their names."""

    def __init__(
        self, database: sqlite3.Connection, canonical: Canonical, endings: Endings, seeds: Collection[str]
    ) -> None:
        self._database = database
        self._canonical = canonical
        self._endings = endings
        add_tables(database, _TABLES)
        self.unread = 0
        """HTML pages whose links nobody knows."""
        for name in seeds:
            database.execute(_LINK, (name, None))

    def add(self, listed: Listed) -> None:
        name = self._canonical(listed.url)
        if listed.kind in _NAMED:
            self._database.execute(_NAME, (name,))
        if _is_home(listed.url):
            self._database.execute(_LINK, (name, None))
        if is_html_page(listed):
            self.unread += listed.link_details is None
            row = name, listed.url, listed.kind, listed.via
            self._database.execute("INSERT OR REPLACE INTO html VALUES (?, ?, ?, ?)", row)
        for named in named_in_sitemap(listed):
            self._database.execute(_NAME, (name_of(named),))
        for link in listed.link_details or ():
            if link.kind in _LINKS:
                self._database.execute(_LINK, (name_of(link), name))

    def rows(self) -> Iterator[FoundPage]:
        """In the order of URLs; none if the links of any page are unknown."""
        if self.unread:
            return
        self._follow_redirects()
        for url, kind, via in self._database.execute(
            "SELECT url, kind, via FROM html JOIN named USING (name) LEFT JOIN linked USING (name) "
            "WHERE linked.name IS NULL OR linked.page = html.name ORDER BY html.name"
        ):
            yield FoundPage(url=url, kind=kind, via=via)

    def _follow_redirects(self) -> None:
        """Where a redirect leads is named and linked as the redirect is."""
        link = _LINK.replace("VALUES (?, ?)", "SELECT ?, page FROM linked WHERE name = ?")
        for lead in self._endings.redirects():
            names = self._canonical(lead.end.url), lead.name
            self._database.execute("INSERT OR IGNORE INTO named SELECT ? FROM named WHERE name = ?", names)
            self._database.execute(link, names)


def _is_home(url: str) -> bool:
    return url.endswith("/") and url.count("/") == 3

"""Every page that links to an error."""

import sqlite3
from collections.abc import Iterator
from typing import Final

from crawler.operate.report.forms import DeadLink
from crawler.operate.report.lists.endings import Canonical, Endings
from crawler.operate.report.lists.listed import Listed
from crawler.page import LinkKind

_TABLES: Final = """
    CREATE TABLE dead (
        name TEXT PRIMARY KEY, url TEXT, leads_to TEXT, status INTEGER, reason TEXT, via TEXT, anchor TEXT, kind TEXT,
        is_external INTEGER
    ) WITHOUT ROWID;
    CREATE TABLE links (
        name TEXT, page TEXT, text TEXT, how TEXT, PRIMARY KEY (name, page, text, how)
    ) WITHOUT ROWID;
    CREATE TABLE telling (via TEXT PRIMARY KEY) WITHOUT ROWID;
"""
_GUESSED: Final = (LinkKind.SITEMAP, LinkKind.SPECULATIVE)
"""Nobody has written a link to what the crawl has guessed, so it is told only where a page refers to it."""
_SIEVE_BITS: Final = 1 << 26


class DeadLinks:
    """First `find_dead`, when all URLs are in the endings, then `add` each record once more."""

    def __init__(self, database: sqlite3.Connection, canonical: Canonical) -> None:
        self._database = database
        self._canonical = canonical
        self._sieve = bytearray(_SIEVE_BITS >> 3)
        """Of the names of URLs that lead to an error, and of the pages on which they were found first."""
        self.is_whole = False
        """Whether all links are known, not only the first one to each URL."""
        self.count = 0
        """How many URLs lead to an error."""
        database.executescript(_TABLES)

    def find_dead(self, endings: Endings) -> None:
        for name, ending, first in endings.dead():
            for each in (name, first.via or name):
                bit = hash(each) % _SIEVE_BITS
                self._sieve[bit >> 3] |= 1 << (bit & 7)
            is_external = first.kind == LinkKind.EXTERNAL
            leads_to = ending.url if ending.url != first.url else None
            self._database.execute(
                "INSERT INTO dead VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    name,
                    first.url,
                    leads_to,
                    ending.status,
                    ending.reason,
                    first.via,
                    first.anchor,
                    None if is_external else first.kind,
                    is_external,
                ),
            )
            self.count += 1

    def add(self, listed: Listed) -> None:
        """The links of a page. Those to good URLs cost a look into memory."""
        if listed.link_details is None and listed.references is None:
            return
        self.is_whole = True
        if self._may_be_known(listed.url):
            self._database.execute("INSERT OR IGNORE INTO telling VALUES (?)", (listed.url,))
        links = [link for link in _links_of(listed) if self._may_be_known(link[0])]
        if links:
            page = self._canonical(listed.url)
            self._database.executemany(
                "INSERT OR IGNORE INTO links SELECT name, ?, ?, ? FROM dead WHERE name = ?",
                [(page, text, kind, name) for name, text, kind in links],
            )

    def _may_be_known(self, name: str) -> bool:
        bit = hash(name) % _SIEVE_BITS
        return bool(self._sieve[bit >> 3] & (1 << (bit & 7)))

    def rows(self) -> Iterator[DeadLink]:
        """In the order of URLs, then of pages. A URL to which no page links has one without: a seed, or one that was
        found on a page that no longer links to it."""
        for url, leads_to, status, reason, via, anchor, kind, page, text, how, is_external in self._database.execute(
            "SELECT dead.url, leads_to, status, reason, "
            "CASE WHEN page IS NULL AND via IN telling THEN NULL ELSE via END, "
            "anchor, kind, page, text, how, is_external "
            "FROM dead LEFT JOIN links USING (name) ORDER BY name, page, text, how"
        ):
            if page is None and kind in _GUESSED:
                continue
            is_first = page is None or (not how and via is not None and page == self._canonical(via))
            yield DeadLink(
                url=url,
                leads_to=leads_to,
                status=status,
                reason=reason,
                page=via if page is None else page,
                anchor=(anchor if via is not None else None) if is_first else text or None,
                kind=kind if is_first else how or None,
                external=bool(is_external),
            )


def _links_of(listed: Listed) -> set[tuple[str, str, str]]:
    """Names, texts and kinds of links that the page has and nobody has guessed; of references only the names."""
    if listed.link_details is None:
        return {(name, "", "") for name in listed.references or ()}
    return {
        (link.canonical or link.url, link.text or "", link.kind)
        for link in listed.link_details
        if link.kind not in _GUESSED
    }

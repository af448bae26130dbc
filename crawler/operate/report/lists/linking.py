"""Which pages link to some URLs, in a temporary file: every page that links to an error, or to a redirect."""

import sqlite3
from collections.abc import Iterable, Iterator
from typing import Final

import msgspec

from crawler.operate.report.counting import has_failed
from crawler.operate.report.lists.endings import Canonical, Endings, Lead
from crawler.operate.report.lists.forms import DeadLink, RedirectLink
from crawler.operate.report.lists.listed import Listed
from crawler.operate.report.lists.temporary import add_tables
from crawler.page import LinkKind
from crawler.url.urls import join

_TABLES: Final = """
    CREATE TABLE wanted (name TEXT PRIMARY KEY) WITHOUT ROWID;
    CREATE TABLE links (
        name TEXT, page TEXT, url TEXT, text TEXT, how TEXT, PRIMARY KEY (name, page, text, how)
    ) WITHOUT ROWID;
    CREATE TABLE revisited (page TEXT PRIMARY KEY, redirect TEXT) WITHOUT ROWID;
"""
_SIEVE_BITS: Final = 1 << 26


class Link(msgspec.Struct, frozen=True):
    """A page that links to a URL. None is what nobody knows."""

    page: str | None
    anchor: str | None
    kind: str | None


class Linking:
    """First `want` the URLs, then `read` the records once more."""

    def __init__(self, database: sqlite3.Connection, canonical: Canonical) -> None:
        self._database = database
        self._canonical = canonical
        self._sieve = bytearray(_SIEVE_BITS >> 3)
        """Bits for the names of wanted URLs, and for the pages on which they were found first."""
        self.is_whole = False
        """Whether all links are known, not only the first one to each URL."""
        self._taken_back: set[str] = set()
        add_tables(database, _TABLES)

    def want(self, leads: Iterable[Lead]) -> int:
        """Returns how many these are."""
        count = 0
        for count, lead in enumerate(leads, 1):  # noqa: B007 - the last one is returned
            for each in (lead.name, lead.via or lead.name):
                bit = hash(each) % _SIEVE_BITS
                self._sieve[bit >> 3] |= 1 << (bit & 7)
            self._database.execute("INSERT OR IGNORE INTO wanted VALUES (?)", (lead.name,))
        return count

    def take_back(self, names: Iterable[str]) -> None:
        """Sitemaps that robots.txt has named, and names no more. Only what pages link to them is left."""
        self._taken_back.update(names)

    def read(self, records: Iterable[Listed]) -> None:
        """Read the links of pages. Those to other URLs cost a look into memory."""
        for listed in records:
            self._add(listed)

    def _add(self, listed: Listed) -> None:
        has_links = listed.link_details is not None or listed.references is not None
        # Where the server says that there is no page, there is no link either, but for that of a redirect.
        is_no_page = listed.state == "done" and (listed.redirect is not None or has_failed(listed))
        # What was found at the first visit stood there then, also if its name follows from other rules by now.
        if listed.visit > 1 and (has_links or is_no_page) and self._may_be_known(listed.url):
            target = None if listed.redirect is None else self._canonical(listed.redirect)
            self._database.execute("INSERT OR REPLACE INTO revisited VALUES (?, ?)", (listed.url, target))
        if not has_links:
            return
        self.is_whole = True
        links = [link for link in _links_of(listed) if self._may_be_known(link[0])]
        if links:
            page = self._canonical(listed.url)
            self._database.executemany(
                "INSERT OR IGNORE INTO links SELECT name, ?, ?, ?, ? FROM wanted WHERE name = ?",
                [(page, listed.url, text, kind, name) for name, text, kind in links],
            )

    def _may_be_known(self, name: str) -> bool:
        bit = hash(name) % _SIEVE_BITS
        return bool(self._sieve[bit >> 3] & (1 << (bit & 7)))

    def links(self, lead: Lead) -> Iterator[Link]:
        """The links in the order of pages. Without any, a seed has one link without a page, and so has a URL whose
        first page no longer links to it, if others may. What the crawl has guessed has none then."""
        first_kind = None if lead.kind == LinkKind.EXTERNAL else lead.kind
        has_any = False
        for page, url, text, kind in self._database.execute(
            "SELECT page, url, text, how FROM links WHERE name = ? ORDER BY page, text, how", (lead.name,)
        ):
            has_any = True
            is_first = not kind and lead.via is not None and page == self._canonical(lead.via)
            yield Link(url, lead.anchor, first_kind) if is_first else Link(url, text or None, kind or None)
        if has_any or _may_be_guessed(lead) or lead.name in self._taken_back:
            return
        if lead.via is not None and self._may_link(lead.via, lead.name):
            yield Link(lead.via, lead.anchor, first_kind)
        elif lead.via is None or not self.is_whole:
            yield Link(None, None, first_kind)

    def _may_link(self, via: str, name: str) -> bool:
        """Whether it is not known what a later visit to the page found, or it redirects to that URL. A redirect that
        was only checked may never be visited again, so it links there as long as a page links to it."""
        seen: set[str] = set()  # such redirects may name each other, as after a change of canonical rules
        while True:
            found = self._database.execute("SELECT redirect FROM revisited WHERE page = ?", (via,)).fetchone()
            if found is not None:
                return bool(found[0] == name)
            seen.add(name)
            check = self._database.execute(
                "SELECT name, via, EXISTS (SELECT 1 FROM links WHERE links.name = endings.name) FROM endings "
                "WHERE name = ? AND name <> ? AND kind = 'external' AND via IS NOT NULL",
                (self._canonical(via), name),
            ).fetchone()
            if check is None or check[2]:
                return True
            name, via = check[0], check[1]
            if name in seen:
                return False


def _may_be_guessed(lead: Lead) -> bool:
    """Whether nobody may name the URL. A sitemap that an index or a page names stands among their links; one that
    robots.txt names has a text."""
    return lead.kind == LinkKind.SPECULATIVE or (lead.kind == LinkKind.SITEMAP and lead.anchor is None)


def is_named_by_robots(lead: Lead) -> bool:
    """Whether robots.txt has named it, not a page by a link with a title."""
    is_named = lead.kind == LinkKind.SITEMAP and lead.anchor is not None
    return is_named and lead.via is not None and lead.via == join(lead.via, "/robots.txt")


def _links_of(listed: Listed) -> set[tuple[str, str, str]]:
    """Names, texts and kinds of links that the page has and nobody has guessed; of references only the names."""
    if listed.link_details is None:
        return {(name, "", "") for name in listed.references or ()}
    return {
        (link.canonical or link.url, link.text or "", link.kind)
        for link in listed.link_details
        if link.kind != LinkKind.SPECULATIVE
    }


def dead_links(endings: Endings, linking: Linking) -> Iterator[DeadLink]:
    """In the order of URLs, then of pages."""
    for lead in endings.dead():
        for link in linking.links(lead):
            yield DeadLink(
                url=lead.url,
                leads_to=lead.end.url if lead.end.url != lead.url else None,
                status=lead.end.status,
                reason=lead.end.reason,
                page=link.page,
                anchor=link.anchor,
                kind=link.kind,
                external=lead.kind == LinkKind.EXTERNAL,
            )


def redirects(endings: Endings, linking: Linking) -> Iterator[RedirectLink]:
    """In the order of URLs, then of pages. URLs that the crawl has guessed redirect, too."""
    for lead in endings.redirects():
        for link in list(linking.links(lead)) or [Link(None, None, lead.kind)]:
            yield RedirectLink(
                url=lead.url,
                status=lead.status,
                hops=lead.end.hops,
                leads_to=lead.end.url,
                end_status=lead.end.status,
                end_reason=lead.end.reason,
                page=link.page,
                anchor=link.anchor,
                kind=link.kind,
                external=lead.kind == LinkKind.EXTERNAL,
            )

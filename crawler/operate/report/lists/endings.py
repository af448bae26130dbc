"""Where each URL ends, in a temporary file."""

import sqlite3
from collections.abc import Callable, Iterator
from typing import Final

import msgspec

from crawler.discover.links.filter import LinkRefusal
from crawler.operate.report.counting import has_failed
from crawler.operate.report.lists.listed import Listed
from crawler.operate.report.lists.temporary import add_tables
from crawler.page import EMBEDDED, REDIRECTS, LinkKind
from crawler.url.urls import BadUrl, join

MAX_HOPS: Final = 50
LOOP: Final = "redirect-loop"
_LOST: Final = tuple(map(str, (LinkRefusal.TOO_MANY_REDIRECTS, BadUrl.INVALID, BadUrl.INVALID_HOST)))
"""Why no browser follows a redirect either."""
_TABLES: Final = """
    CREATE TABLE endings (
        name TEXT PRIMARY KEY, url TEXT, status INTEGER, reason TEXT, target TEXT, is_dead INTEGER,
        kind TEXT, via TEXT, anchor TEXT, lost TEXT
    ) WITHOUT ROWID;
    CREATE TABLE link_texts (name TEXT, via TEXT, anchor TEXT, PRIMARY KEY (name, via)) WITHOUT ROWID;
"""
_ADD: Final = (
    "INSERT OR REPLACE INTO endings SELECT ?, ?, ?, ?, ?, ?, ?, ?, ?, ? WHERE ?7 IS NOT 'external' "
    "OR NOT EXISTS (SELECT 1 FROM endings WHERE name = ?1 AND kind IS NOT 'external')"
)
"""A page counts, however often it was checked, too, because other sites redirect to it."""
_ANCHOR: Final = (
    "coalesce(anchor, (SELECT anchor FROM link_texts AS first "
    "WHERE first.name = endings.name AND first.via = endings.via))"
)

Canonical = Callable[[str], str]
"""The name under which a crawl knows a URL."""


class Ending(msgspec.Struct, frozen=True):
    """Where a URL leads in the end."""

    url: str
    hops: int
    status: int | None = None
    """None if it has not been fetched, or had no answer."""
    reason: str | None = None
    is_dead: bool = False
    """Whether there is no page but an error, or only redirects."""


class Endings:
    """URLs by the names under which the crawl knows them. `add` all of them first."""

    def __init__(self, database: sqlite3.Connection, canonical: Canonical) -> None:
        self._database = database
        self._canonical = canonical
        add_tables(database, _TABLES)

    def add(self, listed: Listed) -> None:
        """If a URL redirects to itself, as to set a cookie, what comes later counts."""
        name = self._canonical(listed.url)
        target = None if listed.redirect is None else self._canonical(_absolute(listed.redirect, listed.url))
        row = (
            name,
            listed.url,
            listed.status,
            listed.reason,
            target,
            has_failed(listed) or (listed.status in REDIRECTS and target is None),
            listed.kind,
            listed.via,
            listed.anchor,
            None if target is None else next((each for each in _LOST if each in (listed.refused or ())), None),
        )
        self._database.execute(_ADD, row)

    def add_earlier(self, listed: Listed) -> None:
        """A visit of a URL that was fetched again: the record of the first one has the text of the link to it."""
        if listed.via is not None and listed.anchor is not None:
            row = self._canonical(listed.url), listed.via, listed.anchor
            self._database.execute("INSERT OR IGNORE INTO link_texts VALUES (?, ?, ?)", row)

    def follow(self, url: str) -> Ending:
        """Where a URL leads. A URL that is no redirect leads to itself."""
        name, shown = self._canonical(url), url
        seen: set[str] = set()
        lost: str | None = None
        while name not in seen and len(seen) < MAX_HOPS:
            found = self._database.execute(
                "SELECT url, status, reason, target, is_dead, lost FROM endings WHERE name = ?", (name,)
            ).fetchone()
            if found is None:
                # The crawl has given up there, as browsers do.
                return Ending(shown, len(seen), None, lost, lost is not None)
            shown, status, reason, target, is_dead, lost = found
            if target is None:
                return Ending(shown, len(seen), status, reason, bool(is_dead))
            seen.add(name)
            name, shown = target, target
        return Ending(shown, len(seen), None, LOOP, is_dead=True)

    def redirects(self) -> Iterator["Lead"]:
        """URLs that redirect, in the order of their names."""
        for lead, _ in self._leads("target IS NOT NULL"):
            yield lead

    def dead(self) -> Iterator["Lead"]:
        """URLs that lead to an error, in the order of their names."""
        for lead, is_dead in self._leads("is_dead OR target IS NOT NULL"):
            if lead.end.reason == LinkRefusal.TOO_MANY_REDIRECTS and self._is_target(lead):
                continue  # too far from where the crawl came; for who begins here it may be near enough
            if is_dead or lead.end.is_dead:
                yield lead

    def _is_target(self, lead: "Lead") -> bool:
        """Whether a redirect has led there. An embed may stay one then."""
        if lead.kind not in EMBEDDED or lead.via is None:
            return lead.kind == LinkKind.REDIRECT
        leads_there = "SELECT 1 FROM endings WHERE name = ? AND target = ?"
        return self._database.execute(leads_there, (self._canonical(lead.via), lead.name)).fetchone() is not None

    def _leads(self, condition: str) -> Iterator[tuple["Lead", bool]]:
        """Each with whether it is dead itself."""
        for name, url, status, kind, via, anchor, is_dead in self._database.execute(
            f"SELECT name, url, status, kind, via, {_ANCHOR}, is_dead FROM endings "  # noqa: S608 - no values in it
            f"WHERE {condition} ORDER BY name"
        ):
            yield Lead(name, url, status, kind, via, anchor, self.follow(url)), bool(is_dead)


def _absolute(href: str, base: str) -> str:
    """A target that was refused is recorded as the server wrote it."""
    return join(base, href) or href


class Lead(msgspec.Struct, frozen=True):
    """A URL that redirects, or leads to an error: where it ends, and how it was found first."""

    name: str
    url: str
    status: int | None
    kind: str
    via: str | None
    anchor: str | None
    end: Ending

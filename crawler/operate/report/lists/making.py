"""Makes the lists of a report from the records of a crawl."""

import sqlite3
from collections.abc import Callable, Collection, Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any, Final, TypeVar, get_args

from crawler.operate.report.lists.broken_anchors import BrokenAnchors
from crawler.operate.report.lists.duplicates import Duplicates
from crawler.operate.report.lists.endings import Canonical, Endings
from crawler.operate.report.lists.forms import (
    BrokenAnchorList,
    DeadLinkList,
    ListName,
    Lists,
    MislistedList,
    OrphanList,
    RedirectList,
    UnlistedList,
)
from crawler.operate.report.lists.last_visits import LastVisits
from crawler.operate.report.lists.linking import Linking, dead_links, is_named_by_robots, redirects
from crawler.operate.report.lists.listed import Listed
from crawler.operate.report.lists.mislisted import Mislisted
from crawler.operate.report.lists.most import Most
from crawler.operate.report.lists.orphans import Orphans
from crawler.operate.report.lists.refusals import Refusals
from crawler.operate.report.lists.sitemaps import Sitemaps
from crawler.operate.report.lists.temporary import temporary_database
from crawler.operate.report.lists.unlisted import Unlisted
from crawler.page import LinkKind
from crawler.write.records import extents_now, read_extents

SECTIONS: Final[tuple[ListName, ...]] = get_args(ListName)
MOST: Final = 10
"""How many of the slowest and the largest are listed, if nobody says."""
_WITH_ENDINGS: Final = {"dead-links", "redirects", "broken-anchors", "orphans", "mislisted"}
_WITH_SITEMAPS: Final = {"unlisted", "mislisted"}
_WITH_LINKS: Final = {"dead-links", "redirects"}
_Row = TypeVar("_Row")
SitemapsOf = Callable[[Iterable[str]], Iterable[tuple[str, Iterable[str]]]]
"""The sitemaps that robots.txt files name, each with the URL of the file, as far as that is known."""


def make_lists(
    directories: Collection[Path],
    sections: Collection[str],
    canonical: Canonical,
    limit: int | None,
    *,
    has_forgotten: bool = False,
    seeds: Collection[str] = (),
    sitemaps_of: SitemapsOf = lambda _: (),
) -> Lists:
    """The lists that `sections` name, with up to `limit` rows each. With None, of the slowest and the largest `MOST`,
    and all of the others. `has_forgotten`: whether URLs may have been fetched anew. `seeds` are the names of those that
    are no orphans."""
    with temporary_database() as database:
        records = _Records(directories, database, canonical, has_forgotten=has_forgotten)
        making = _Making(records, sections, database, canonical, seeds=seeds, most=MOST if limit is None else limit)
        making.read()
        making.find_links(sitemaps_of)
        return making.lists(limit)


class _Making:
    """`read` the records, then `find_links`, then make the `lists` that are wanted."""

    def __init__(
        self,
        records: "_Records",
        wanted: Collection[str],
        database: sqlite3.Connection,
        canonical: Canonical,
        *,
        seeds: Collection[str],
        most: int,
    ) -> None:
        self._wanted = frozenset(wanted)
        self._canonical = canonical
        self._records = records
        self._endings = Endings(database, canonical)
        self._linking = Linking(database, canonical)
        self._dead = self._redirecting = 0
        self._broken = BrokenAnchors(database, canonical, self._endings)
        self._orphans = Orphans(database, canonical, self._endings, seeds if "orphans" in self._wanted else ())
        self._sitemaps = Sitemaps(database, canonical)
        self._unlisted = Unlisted(database, canonical, self._sitemaps)
        self._mislisted = Mislisted(database, canonical, self._endings, self._sitemaps)
        self._duplicates = Duplicates(database, canonical)
        self._refusals = Refusals()
        self._slowest = Most(most, lambda listed: listed.duration_s)
        self._largest = Most(most, lambda listed: listed.size_bytes)

    def read(self) -> None:
        takers = {
            "broken-anchors": self._broken.add,
            "orphans": self._orphans.add,
            "unlisted": self._unlisted.add,
            "mislisted": self._mislisted.add,
            "duplicates": self._duplicates.add,
            "refused": self._refusals.add,
            "slowest": self._slowest.add,
            "largest": self._largest.add,
        }
        needs_endings = not self._wanted.isdisjoint(_WITH_ENDINGS)
        takes = [self._endings.add] if needs_endings else []
        takes += [] if self._wanted.isdisjoint(_WITH_SITEMAPS) else [self._sitemaps.add]
        takes += [take for name, take in takers.items() if name in self._wanted]
        for listed in self._records.all():
            if self._records.is_current(listed):
                for take in takes:
                    take(listed)
            elif needs_endings:
                self._endings.add_earlier(listed)

    def find_links(self, sitemaps_of: SitemapsOf) -> None:
        """Find the pages that link to dead URLs and to redirects."""
        if "dead-links" in self._wanted:
            self._dead = self._linking.want(self._endings.dead())
            self._take_back_sitemaps(sitemaps_of)
        if "redirects" in self._wanted:
            self._redirecting = self._linking.want(self._endings.redirects())
        if not self._wanted.isdisjoint(_WITH_LINKS):
            self._linking.read(self._records.current())

    def _take_back_sitemaps(self, sitemaps_of: SitemapsOf) -> None:
        """Take back the dead sitemaps that their robots.txt names no more."""
        named_by: dict[str, set[str]] = {}
        for lead in self._endings.dead():
            if is_named_by_robots(lead):
                named_by.setdefault(str(lead.via), set()).add(lead.name)
        for robots_txt, sitemaps in sitemaps_of(named_by) if named_by else ():
            self._linking.take_back(named_by[robots_txt].difference(map(self._canonical, sitemaps)))

    def lists(self, limit: int | None) -> Lists:
        broken, orphans, sitemaps = self._broken, self._orphans, self._sitemaps
        more: dict[str, int] = {}

        def first(name: ListName, rows: Iterator[_Row]) -> list[_Row]:
            found = list(islice(rows, limit))
            if left := sum(1 for _ in rows):
                more[name] = left
            return found

        makers: dict[ListName, Callable[[], Any]] = {
            "dead-links": lambda: DeadLinkList(
                urls=self._dead,
                is_whole=self._linking.is_whole,
                links=first("dead-links", dead_links(self._endings, self._linking)),
            ),
            "broken-anchors": lambda: BrokenAnchorList(
                pages=broken.pages, links=first("broken-anchors", broken.rows(self._records.current()))
            ),
            "orphans": lambda: OrphanList(unread=orphans.unread, pages=first("orphans", orphans.rows())),
            "unlisted": lambda: UnlistedList(
                sitemaps=sitemaps.count, unread=sitemaps.unread, pages=first("unlisted", self._unlisted.rows())
            ),
            "mislisted": lambda: MislistedList(
                sitemaps=sitemaps.count, unread=sitemaps.unread, entries=first("mislisted", self._mislisted.rows())
            ),
            "redirects": lambda: RedirectList(
                urls=self._redirecting,
                is_whole=self._linking.is_whole,
                links=first("redirects", redirects(self._endings, self._linking)),
            ),
            "duplicates": lambda: first("duplicates", self._duplicates.rows()),
            "refused": lambda: first("refused", self._refusals.rows()),
            "slowest": lambda: first("slowest", self._slowest.rows()),
            "largest": lambda: first("largest", self._largest.rows()),
        }
        made = {name.replace("-", "_"): make() for name, make in makers.items() if name in self._wanted}
        return Lists(**made, more=more)


def count_dead_checks(directories: Collection[Path], canonical: Canonical, *, has_forgotten: bool = False) -> int:
    """How many URLs out of scope answer with an error, or not at all, to which a page links as it is now."""
    with temporary_database() as database:
        records = _Records(directories, database, canonical, has_forgotten=has_forgotten)
        endings, linking = Endings(database, canonical), Linking(database, canonical)
        for listed in records.current():
            endings.add(listed)
        linking.want(endings.dead())
        linking.read(records.current())
        checks = (lead for lead in endings.dead() if lead.kind == LinkKind.EXTERNAL and not lead.end.hops)
        return sum(any(True for _ in linking.links(lead)) for lead in checks)


class _Records:
    """Records as far as they are written now, to be read several times."""

    def __init__(
        self,
        directories: Collection[Path],
        database: sqlite3.Connection,
        canonical: Canonical,
        *,
        has_forgotten: bool,
    ) -> None:
        self._extents = extents_now(*directories)
        self.is_current = LastVisits(database, canonical, self.all(), has_forgotten=has_forgotten).is_current

    def all(self) -> Iterator[Listed]:
        return read_extents(Listed, self._extents, last_only=True)

    def current(self) -> Iterator[Listed]:
        return filter(self.is_current, self.all())

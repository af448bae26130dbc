"""Makes the lists of a report from the records of a crawl."""

import sqlite3
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import closing
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
    OrphanList,
    RedirectList,
    UnlistedList,
)
from crawler.operate.report.lists.last_visits import LastVisits
from crawler.operate.report.lists.linking import Linking, dead_links, is_named_by_robots, redirects
from crawler.operate.report.lists.listed import Listed
from crawler.operate.report.lists.most import Most
from crawler.operate.report.lists.orphans import Orphans
from crawler.operate.report.lists.refusals import Refusals
from crawler.operate.report.lists.temporary import temporary_database
from crawler.operate.report.lists.unlisted import Unlisted
from crawler.page import LinkKind
from crawler.write.records import extents_now, read_extents

SECTIONS: Final[tuple[ListName, ...]] = get_args(ListName)
MOST: Final = 10
"""How many of the slowest and the largest are listed, if nobody says."""
_WITH_ENDINGS: Final = {"dead-links", "redirects", "broken-anchors", "orphans"}
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
    seeds: Collection[str] = (),
    sitemaps_of: SitemapsOf = lambda _: (),
) -> Lists:
    """The lists that `sections` name, with up to `limit` rows each. With None, of the slowest and the largest `MOST`,
    and all of the others. `seeds` are the names of those that are no orphans."""
    most, wanted = MOST if limit is None else limit, {*sections}
    needs_endings, needs_links = _WITH_ENDINGS & wanted, _WITH_LINKS & wanted
    with closing(temporary_database()) as database:
        records = _Records(directories, database, canonical)
        endings, linking = Endings(database, canonical), Linking(database, canonical)
        broken = BrokenAnchors(database, canonical, endings)
        orphans = Orphans(database, canonical, endings, seeds if "orphans" in wanted else ())
        unlisted, duplicates, refusals = Unlisted(database, canonical), Duplicates(database, canonical), Refusals()
        slowest = Most(most, lambda listed: listed.duration_s)
        largest = Most(most, lambda listed: listed.size_bytes)
        takers = {
            "broken-anchors": broken.add,
            "orphans": orphans.add,
            "unlisted": unlisted.add,
            "duplicates": duplicates.add,
            "refused": refusals.add,
            "slowest": slowest.add,
            "largest": largest.add,
        }
        takes = [endings.add] if needs_endings else []
        takes += [take for name, take in takers.items() if name in wanted]
        for listed in records.all():
            if records.is_current(listed):
                for take in takes:
                    take(listed)
            elif needs_endings:
                endings.add_earlier(listed)
        dead = linking.want(endings.dead()) if "dead-links" in wanted else 0
        if dead:
            _take_back_sitemaps(linking, endings, canonical, sitemaps_of)
        redirecting = linking.want(endings.redirects()) if "redirects" in wanted else 0
        if needs_links:
            linking.read(records.current())

        more: dict[str, int] = {}

        def first(rows: Iterator[_Row], name: ListName) -> list[_Row]:
            found = list(islice(rows, limit))
            if left := sum(1 for _ in rows):
                more[name] = left
            return found

        makers: dict[ListName, Callable[[], Any]] = {
            "dead-links": lambda: DeadLinkList(
                urls=dead, is_whole=linking.is_whole, links=first(dead_links(endings, linking), "dead-links")
            ),
            "broken-anchors": lambda: BrokenAnchorList(
                pages=broken.pages, links=first(broken.rows(records.current()), "broken-anchors")
            ),
            "orphans": lambda: OrphanList(unread=orphans.unread, pages=first(orphans.rows(), "orphans")),
            "unlisted": lambda: UnlistedList(
                sitemaps=unlisted.sitemaps, unread=unlisted.unread, pages=first(unlisted.rows(), "unlisted")
            ),
            "redirects": lambda: RedirectList(
                urls=redirecting, is_whole=linking.is_whole, links=first(redirects(endings, linking), "redirects")
            ),
            "duplicates": lambda: first(duplicates.rows(), "duplicates"),
            "refused": lambda: first(refusals.rows(), "refused"),
            "slowest": lambda: first(slowest.rows(), "slowest"),
            "largest": lambda: first(largest.rows(), "largest"),
        }
        made = {name.replace("-", "_"): make() for name, make in makers.items() if name in wanted}
        return Lists(**made, more=more)


def _take_back_sitemaps(linking: Linking, endings: Endings, canonical: Canonical, sitemaps_of: SitemapsOf) -> None:
    """Take back the dead sitemaps that their robots.txt names no more."""
    named_by: dict[str, set[str]] = {}
    for lead in endings.dead():
        if is_named_by_robots(lead):
            named_by.setdefault(str(lead.via), set()).add(lead.name)
    for robots_txt, sitemaps in sitemaps_of(named_by) if named_by else ():
        linking.take_back(named_by[robots_txt].difference(map(canonical, sitemaps)))


def count_dead_checks(directories: Collection[Path], canonical: Canonical) -> int:
    """How many URLs out of scope answer with an error, or not at all, to which a page links as it is now."""
    with closing(temporary_database()) as database:
        records = _Records(directories, database, canonical)
        endings, linking = Endings(database, canonical), Linking(database, canonical)
        for listed in records.current():
            endings.add(listed)
        linking.want(endings.dead())
        linking.read(records.current())
        checks = (lead for lead in endings.dead() if lead.kind == LinkKind.EXTERNAL and not lead.end.hops)
        return sum(any(True for _ in linking.links(lead)) for lead in checks)


class _Records:
    """Records as far as they are written now, to be read several times."""

    def __init__(self, directories: Collection[Path], database: sqlite3.Connection, canonical: Canonical) -> None:
        self._extents = extents_now(*directories)
        self.is_current = LastVisits(database, canonical, self.all()).is_current

    def all(self) -> Iterator[Listed]:
        return read_extents(Listed, self._extents, last_only=True)

    def current(self) -> Iterator[Listed]:
        return filter(self.is_current, self.all())

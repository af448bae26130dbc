"""URLs that a sitemap names, although it should not: what they lead to is no page for search engines."""

import sqlite3
from collections.abc import Iterator
from typing import Final

from crawler.discover.links.filter import LinkRefusal
from crawler.discover.quota import OverQuota
from crawler.discover.scope import ScopeRefusal
from crawler.discover.traps import Trap
from crawler.operate.report.lists.endings import Canonical, Endings
from crawler.operate.report.lists.forms import ERROR, REDIRECT, MislistedUrl
from crawler.operate.report.lists.listed import Listed, other_canonical
from crawler.operate.report.lists.sitemaps import Sitemaps
from crawler.operate.report.lists.temporary import add_tables
from crawler.page import LinkKind, counts_as_page
from crawler.politeness.response_policy import UNREACHABLE
from crawler.preferences.judging import REFUSED as REFUSED_FOR_PURPOSE

_TABLES: Final = "CREATE TABLE not_indexable (name TEXT PRIMARY KEY, asks TEXT, leads_to TEXT) WITHOUT ROWID;"
_SAY_NOTHING: Final = (
    *(LinkRefusal.OUTDATED, LinkRefusal.IRRELEVANT, LinkRefusal.UNWANTED_KIND, LinkRefusal.TOO_MANY_LINKS),
    ScopeRefusal.TOO_DEEP,
    *Trap,
    *OverQuota,
    REFUSED_FOR_PURPOSE,
    UNREACHABLE,
)
"""Why a crawl leaves URLs out that may well be in a sitemap: because of its own limits and its purpose, or as long as
robots.txt can't be had."""
_WHY: Final = f"""
    CASE
        WHEN endings.target IS NOT NULL THEN '{REDIRECT}'
        WHEN endings.is_dead THEN iif(endings.status IS NULL, coalesce(endings.reason, '{ERROR}'), '{ERROR}')
        WHEN endings.name IS NULL OR endings.kind = '{LinkKind.EXTERNAL.value}' THEN in_sitemaps.refused
        ELSE coalesce(endings.reason, not_indexable.asks)
    END
"""
"""A URL out of scope that was only checked has not been fetched."""


class Mislisted:
    """`add` all records first, here, to `endings` and to `sitemaps`."""

    def __init__(
        self, database: sqlite3.Connection, canonical: Canonical, endings: Endings, sitemaps: Sitemaps
    ) -> None:
        self._database = database
        self._canonical = canonical
        self._endings = endings
        self._sitemaps = sitemaps
        add_tables(database, _TABLES)

    def add(self, listed: Listed) -> None:
        if not counts_as_page(listed):
            return
        canonical = other_canonical(listed, self._canonical)
        if listed.noindex or canonical is not None:
            row = self._canonical(listed.url), *(("noindex", None) if listed.noindex else ("canonical", canonical))
            self._database.execute("INSERT OR REPLACE INTO not_indexable VALUES (?, ?, ?)", row)

    def rows(self) -> Iterator[MislistedUrl]:
        """Sitemap by sitemap, each in the order of URLs; none if nobody knows what one of the sitemaps names."""
        if self._sitemaps.unread:
            return
        unknown = ", ".join("?" * len(_SAY_NOTHING))
        for sitemap, name, url, why, status, canonical in self._database.execute(
            f"SELECT sitemaps.url, name, in_sitemaps.url, {_WHY} AS why, status, leads_to "  # noqa: S608 - only words of ours
            "FROM in_sitemaps JOIN sitemaps ON number = sitemap "
            "LEFT JOIN endings USING (name) LEFT JOIN not_indexable USING (name) "
            f"WHERE why NOT IN ({unknown}) ORDER BY sitemaps.url, name",
            list(map(str, _SAY_NOTHING)),
        ):
            end = self._endings.follow(name) if why == REDIRECT else None
            yield MislistedUrl(
                url=url or name,
                reason=why,
                status=status,
                leads_to=end.url if end else canonical,
                end_status=end.status if end else None,
                end_reason=end.reason if end else None,
                sitemap=sitemap,
            )

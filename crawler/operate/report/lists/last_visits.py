"""Which visit of a URL counts, if it was fetched again."""

import sqlite3
from collections.abc import Iterable
from http import HTTPStatus
from typing import Final, Protocol

from crawler.discover.marks import EXTERNAL, after_redirect
from crawler.operate.report.lists.endings import Canonical
from crawler.page import EMBEDDED, LinkKind

_ADD: Final = (
    "INSERT INTO visits VALUES (?, ?, ?) ON CONFLICT (name) DO UPDATE SET "
    "last = max(last, excluded.last), current = max(current, excluded.current)"
)
_MAY_BE_TARGETS: Final = frozenset({LinkKind.REDIRECT, LinkKind.EXTERNAL, *EMBEDDED})


class AnyVisit(Protocol):
    """A visit to a URL: some fields of a record."""

    @property
    def number(self) -> int: ...
    @property
    def url(self) -> str: ...
    @property
    def kind(self) -> str: ...
    @property
    def via(self) -> str | None: ...
    @property
    def visit(self) -> int: ...
    @property
    def status(self) -> int | None: ...


class LastVisits:
    """Knows the last visit to each URL, which says what became of the URL. The last visit that was not answered by 304
    is *current*: it says what the page holds, because a 304 says that the copy before it still holds.

    A URL that was visited once costs nothing, unless the crawl `has_forgotten` URLs: the first visit after that counts
    as visit 1 again."""

    def __init__(
        self,
        database: sqlite3.Connection,
        canonical: Canonical,
        visits: Iterable[AnyVisit],
        *,
        has_forgotten: bool = False,
    ) -> None:
        self._database = database
        self._canonical = canonical
        self._has_any = False
        database.execute("CREATE TABLE visits (name TEXT PRIMARY KEY, last INTEGER, current INTEGER) WITHOUT ROWID")
        for visit in visits:
            if has_forgotten or visit.visit > 1:
                self._has_any = True
                row = self._name(visit), visit.number, 0 if _tells_nothing(visit) else visit.number
                database.execute(_ADD, row)

    def is_current(self, visit: AnyVisit) -> bool:
        return not _tells_nothing(visit) and self.judge(visit)[1]

    def judge(self, visit: AnyVisit) -> tuple[bool, bool]:
        if not self._has_any:
            return True, True
        found = self._database.execute(
            "SELECT last, current FROM visits WHERE name = ?", (self._name(visit),)
        ).fetchone()
        if found is None:
            return True, True
        return visit.number >= found[0], not _tells_nothing(visit) and visit.number >= found[1]

    def _name(self, visit: AnyVisit) -> str:
        """A check of a page, to which another site redirects, is no visit to it. Nor is a redirect of a page to itself,
        as with a cookie, another visit to what has redirected."""
        canonical = name = self._canonical(visit.url)
        if visit.kind == LinkKind.EXTERNAL:
            name += EXTERNAL
        is_target = visit.kind in _MAY_BE_TARGETS and visit.via is not None and self._canonical(visit.via) == canonical
        return after_redirect(name, 1) if is_target else name


def _tells_nothing(visit: AnyVisit) -> bool:
    return visit.visit > 1 and visit.status == HTTPStatus.NOT_MODIFIED

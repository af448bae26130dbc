"""Which visit of a URL counts, if it was fetched again."""

import sqlite3
from collections.abc import Iterable
from http import HTTPStatus
from typing import Final, Protocol

from crawler.discover.marks import EXTERNAL, after_redirect
from crawler.operate.report.lists.endings import Canonical
from crawler.page import EMBEDDED, LinkKind
from crawler.url.urls import join

_TABLE: Final = """
    CREATE TABLE visits (
        name TEXT PRIMARY KEY, last INTEGER, current INTEGER, last_answer INTEGER, current_answer INTEGER
    ) WITHOUT ROWID
"""
_ADD: Final = (
    "INSERT INTO visits VALUES (?, ?, ?, ?, ?) ON CONFLICT (name) DO UPDATE SET "
    "last = max(last, excluded.last), current = max(current, excluded.current), "
    "last_answer = max(last_answer, excluded.last_answer), "
    "current_answer = max(current_answer, excluded.current_answer)"
)
_FIND: Final = "SELECT last, current, last_answer, current_answer FROM visits WHERE name = ?"
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
    @property
    def redirect(self) -> str | None: ...


class LastVisits:
    """Knows the last visit to each URL, which says what became of the URL. The last visit that was not answered by 304
    is *current*: it says what the page holds, because a 304 says that the copy before it still holds.

    A redirect of a page to itself, as with a cookie, counts beside the page, until the page answers without one. The
    crawl knows the target of such a redirect by another name, and asks for both again: the last answer is the page.

    A URL that was visited once costs nothing unless a redirect led there, or the crawl `has_forgotten` URLs: the first
    visit after that counts as visit 1 again."""

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
        self._has_any = self._has_targets = False
        database.execute(_TABLE)
        for visit in visits:
            is_repeat, is_target = has_forgotten or visit.visit > 1, self._is_target(visit)
            # Where a redirect leads back, as from a login, the crawl may know the page by another name, at its visit 1.
            if is_repeat or is_target or visit.kind == LinkKind.REDIRECT:
                self._has_any |= is_repeat
                self._has_targets |= is_target
                last, current = visit.number, 0 if _tells_nothing(visit) else visit.number
                of_answer = (0, 0) if self._redirects_to_itself(visit) else (last, current)
                database.execute(_ADD, (self._name(visit, is_target=is_target), last, current, *of_answer))

    def is_current(self, visit: AnyVisit) -> bool:
        return not _tells_nothing(visit) and self.judge(visit)[1]

    def judge(self, visit: AnyVisit) -> tuple[bool, bool]:
        """Whether the visit is the last one, and whether it is current."""
        if not self._has_any:
            return True, True
        is_target = self._is_target(visit)
        last, current, _, _ = self._find(self._name(visit, is_target=is_target))
        if self._has_targets and not self._redirects_to_itself(visit):
            last_of_other, _, last_answer, current_answer = self._find(self._name(visit, is_target=not is_target))
            if last_of_other == last_answer:
                last, current = max(last, last_answer), max(current, current_answer)
        return visit.number >= last, not _tells_nothing(visit) and visit.number >= current

    def _find(self, name: str) -> tuple[int, int, int, int]:
        found = self._database.execute(_FIND, (name,)).fetchone()
        return (0, 0, 0, 0) if found is None else found

    def _name(self, visit: AnyVisit, *, is_target: bool) -> str:
        """A check of a page, to which another site redirects, is no visit to it."""
        name = self._canonical(visit.url)
        if visit.kind == LinkKind.EXTERNAL:
            name += EXTERNAL
        return after_redirect(name, 1) if is_target else name

    def _is_target(self, visit: AnyVisit) -> bool:
        """Whether a redirect of the page to itself has led there."""
        return visit.kind in _MAY_BE_TARGETS and visit.via is not None and self._is_same(visit.via, visit.url)

    def _redirects_to_itself(self, visit: AnyVisit) -> bool:
        return visit.redirect is not None and self._is_same(join(visit.url, visit.redirect), visit.url)

    def _is_same(self, one: str | None, other: str) -> bool:
        return one is not None and (one == other or self._canonical(one) == self._canonical(other))


def _tells_nothing(visit: AnyVisit) -> bool:
    return visit.visit > 1 and visit.status == HTTPStatus.NOT_MODIFIED

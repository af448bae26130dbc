"""Both sides of a difference in one temporary table: what each URL was at its last visit."""

import sqlite3
from collections.abc import Callable, Collection, Iterator, Sequence
from enum import IntEnum
from pathlib import Path
from typing import Final

import msgspec

from crawler.operate.diff.forms import Answer
from crawler.operate.report.lists.last_visits import LastVisits
from crawler.operate.report.lists.temporary import temporary_database
from crawler.page import LinkKind, counts_as_page
from crawler.write.records import extents_now, read_extents

TABLE: Final = """
    CREATE TABLE urls (
        name TEXT, side INTEGER, is_page INTEGER, number INTEGER, body TEXT, answer TEXT, PRIMARY KEY (name, side)
    ) WITHOUT ROWID
"""
_NO_PART: Final = frozenset({LinkKind.SITEMAP, LinkKind.EXTERNAL})
"""These are none of the pages of a crawl, whatever they answer."""


class Side(IntEnum):
    BEFORE = 0
    AFTER = 1


class Visit(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Some fields of a record."""

    number: int
    url: str
    state: str
    kind: str
    via: str | None = None
    visit: int = 1
    status: int | None = None
    reason: str | None = None
    fetched_at: str | None = None
    redirect: str | None = None
    content_type: str | None = None
    title: str | None = None
    description: str | None = None
    canonical: str | None = None
    language: str | None = None
    noindex: bool = False
    size_bytes: int | None = None
    digest: str | None = None
    simhash: str | None = None


class Renaming(msgspec.Struct, frozen=True):
    """URLs of the earlier crawl that begin with the first of a pair, count as if they began with the second."""

    prefixes: Sequence[tuple[str, str]] = ()

    def __call__(self, url: str) -> str:
        for old, new in self.prefixes:
            if url.startswith(old):
                return new + url[len(old) :]
        return url


def read_side(
    database: sqlite3.Connection,
    side: Side,
    directories: Collection[Path],
    *,
    name_of: Callable[[str], str],
    renaming: Renaming,
    until: str | None = None,
) -> int:
    """Read the visits of one side from directories of records, and return how many URLs are pages. A URL counts by its
    last visit until then; None means now."""
    extents = extents_now(*directories)
    ends = [_end(of_one, until) for of_one in extents]

    def visits() -> Iterator[Visit]:
        for of_one, end in zip(extents, ends, strict=True):
            for at, visit in enumerate(read_extents(Visit, [of_one], last_only=True)):
                if until is None or (at < end if visit.fetched_at is None else visit.fetched_at <= until):
                    yield visit

    with temporary_database() as place:
        last_visits = LastVisits(place, name_of, visits())
        for visit in visits():
            page = counts_as_page(visit)
            if visit.kind in _NO_PART or (visit.kind == LinkKind.SPECULATIVE and not page):
                continue
            if not last_visits.is_current(visit):
                continue
            name, body = name_of(renaming(visit.url)), visit.digest if visit.size_bytes else None
            answer = msgspec.json.encode(_answer(visit, renaming)).decode()
            row = name, side, int(page), visit.number, body, answer
            database.execute("INSERT OR REPLACE INTO urls VALUES (?, ?, ?, ?, ?, ?)", row)
    found = database.execute("SELECT count(*) FROM urls WHERE side = ? AND is_page", (side,)).fetchone()
    return int(found[0])


def _end(of_one: Sequence[tuple[Path, int]], until: str | None) -> int:
    """The place of the last record of a directory that was fetched until then. A URL that was not asked for, as one
    that robots.txt excludes, has no time, so it counts if its record stands before."""
    if until is None:
        return 0
    visits = enumerate(read_extents(Visit, [of_one], last_only=True))
    return max((at for at, visit in visits if visit.fetched_at is not None and visit.fetched_at <= until), default=0)


def _answer(visit: Visit, renaming: Renaming) -> Answer:
    return Answer(
        url=visit.url,
        at=visit.fetched_at,
        state=visit.state,
        status=visit.status,
        reason=visit.reason,
        redirect=None if visit.redirect is None else renaming(visit.redirect),
        type=visit.content_type,
        title=visit.title,
        description=visit.description,
        canonical=None if visit.canonical is None else renaming(visit.canonical),
        language=visit.language,
        noindex=visit.noindex,
        body=visit.digest,
        size_bytes=visit.size_bytes,
        text=visit.simhash,
    )

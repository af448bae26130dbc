"""Searches a crawl: brings its index up to date, then asks it."""

import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Final

from crawler.disk.directory import CrawlDirectory
from crawler.disk.layout import record_directories
from crawler.export.settings import named_earlier
from crawler.export.snapshot import OnDamage
from crawler.protocols import ContentReading
from crawler.search.forms import Found
from crawler.search.gathering import Gathering
from crawler.search.index import IndexRefused, SearchIndex, delete_index, is_damage
from crawler.search.words import Query, read_query
from crawler.status import number_of, size

_MOST_NAMED: Final = 5
"""So many files that can't be read are named."""

OnProgress = Callable[[int, int], None]
"""Called with how many bytes of records were read, and how many there are."""


class Search:
    """Searches the crawl in a directory."""

    def __init__(
        self,
        directory: Path,
        index: Path,
        *,
        read_content: ContentReading,
        on_progress: OnProgress,
        on_damage: OnDamage,
        say: Callable[[str], None],
        goes_on: Callable[[], bool] = lambda: True,
    ) -> None:
        """`index` is the file of the index, which is made if it is missing. `say` is told what a person may want to
        know while records are read. Once `goes_on` says no, what was read so far is searched."""
        self._directory = directory
        self._index = index
        self._read_content = read_content
        self._on_progress = on_progress
        self._on_damage = on_damage
        self._say = say
        self._goes_on = goes_on

    def find(self, text: str, *, limit: int, skip: int = 0) -> Found:
        """The best pages for a query, without the first `skip`. Raises `BadQuery`, `IndexRefused`, `DirectoryRefused`,
        `ExportRefused` and `OSError`."""
        query = read_query(text)
        if not record_directories(self._directory):
            raise IndexRefused(
                f"the crawl in {self._directory} has no records to search: set output.records to true before the next "
                "crawl"
            )
        with _telling(self._index):
            try:
                return self._find(text, query, limit, skip)
            except (sqlite3.Error, UnicodeDecodeError) as error:
                if not is_damage(error):
                    raise
            self._say(f"{self._index} is damaged, so it is made anew")
            delete_index(self._index)
            return self._find(text, query, limit, skip)

    def _find(self, text: str, query: Query, limit: int, skip: int) -> Found:
        read = total = 0
        with SearchIndex(self._index) as index:
            gathering = Gathering(
                self._directory,
                index,
                earlier=named_earlier(CrawlDirectory(self._directory)),
                read_content=self._read_content,
                on_damage=self._on_damage,
                say=self._say,
            )
            for read, total in gathering.bring_up_to_date():
                self._on_progress(read, total)
                if not self._goes_on():
                    break
            else:
                read = total
            with index.reading():
                pages, hits = index.find(query, limit=limit, skip=skip)
                searched, with_text = index.counts()
                awaiting, unread = index.count_awaiting(), index.archive(self._directory).unread()
        notes = [
            *_reading(read, total),
            *_unread(gathering.unread),
            *_awaiting(awaiting, unread),
            *_lacking(searched - awaiting, with_text),
        ]
        return Found(
            query=text,
            pages=pages,
            searched=searched,
            with_text=with_text,
            read_bytes=read,
            records_bytes=total,
            hits=hits,
            notes=notes,
        )


def _reading(read: int, total: int) -> list[str]:
    if read == total:
        return []
    return [f"{size(read)} of {size(total)} of records were read so far; the same search goes on from there"]


def _unread(records: Mapping[str, str]) -> list[str]:
    return [
        f"{name} can't be read ({why}): of the pages in it, those are searched that were read before"
        for name, why in islice(records.items(), _MOST_NAMED)
    ]


def _awaiting(pages: int, unread: Mapping[str, str]) -> list[str]:
    if pages == 0:
        return []
    what = f"of {number_of(pages, 'page')} only title and path were searched"
    return [f"{what} as long as {name} can't be read ({why})" for name, why in islice(unread.items(), _MOST_NAMED)]


def _lacking(searched: int, with_text: int) -> list[str]:
    if searched == 0 or 2 * with_text >= searched:
        return []
    lacking = number_of(searched - with_text, "page")
    note = (
        f"of {lacking} only title and path were searched: set output.text or output.warc to true, and the crawl keeps "
        "the texts of pages that it fetches from then on"
    )
    return [note]


_REMEDY: Final = "free some space, or name another file with --index; then run the same command again"


@contextmanager
def _telling(path: Path) -> Iterator[None]:
    """A context in which an error of SQLite says which file it is about, and what to do."""
    try:
        yield
    except sqlite3.Error as error:
        code = error.sqlite_errorcode & 0xFF if hasattr(error, "sqlite_errorcode") else 0
        if "no such module: fts5" in str(error):
            raise IndexRefused("the SQLite library of this Python lacks FTS5, which a search needs") from error
        if code in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM):
            raise IndexRefused(
                f"the index of the search can't be written: {path}; name another file with --index"
            ) from error
        if code == sqlite3.SQLITE_BUSY:
            raise IndexRefused(
                f"another process writes {path}; run the same command again when it has ended"
            ) from error
        raise OSError(f"the index of the search can't be written: {path}: {error}; {_REMEDY}") from error

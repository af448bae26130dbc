"""Follows the references between archives from the newest to the oldest.

An archive *has* the bodies of its responses, and the captures of its URLs. It *needs* the bodies to which its revisit
records refer, and, where a server said that nothing has changed, the last capture before. All lie in a temporary file,
so that an archive of any size takes little memory.
"""

import sqlite3
from collections.abc import Collection, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Final

import msgspec

from crawler.files.temporary import with_databases
from crawler.page.digests import key_of
from crawler.prune.finished import OutputFile, sound_lines
from crawler.write.cdxj.lines import REVISIT, parse

_CACHE_KIB: Final = 16_000
_TABLES: Final = """
    CREATE TABLE need (key INTEGER PRIMARY KEY);
    CREATE TABLE has (key INTEGER PRIMARY KEY);
    CREATE TABLE asks (key INTEGER PRIMARY KEY, of_body INTEGER);
"""


def needed_by_others(archives: Sequence[OutputFile], chosen: Collection[OutputFile]) -> set[OutputFile]:
    """Those of the chosen archives to which others refer. `archives` are all of the crawl, in the order written. Raises
    `OSError`."""
    with with_databases(), closing(sqlite3.connect("", isolation_level=None)) as database:
        database.executescript(f"PRAGMA cache_size = -{_CACHE_KIB}; PRAGMA journal_mode = OFF; {_TABLES}")
        return set(_needed(database, archives, chosen))


def _needed(
    database: sqlite3.Connection, archives: Sequence[OutputFile], chosen: Collection[OutputFile]
) -> Iterator[OutputFile]:
    for archive in reversed(archives):
        database.execute("BEGIN")
        database.execute("DELETE FROM has")
        database.execute("DELETE FROM asks")
        try:
            for each in _references(archive.path):
                database.executemany("INSERT OR IGNORE INTO has VALUES (?)", [(key,) for key in each.has])
                if each.asks is not None:
                    database.execute("INSERT OR IGNORE INTO asks VALUES (?, ?)", (each.asks, each.asks_for_body))
        except FileNotFoundError:
            database.execute("COMMIT")
            continue
        is_needed = database.execute("SELECT 1 FROM need JOIN has USING (key) LIMIT 1").fetchone() is not None
        if is_needed or archive not in chosen:
            database.execute("DELETE FROM need WHERE key IN (SELECT key FROM has)")
            database.execute(
                "INSERT OR IGNORE INTO need SELECT key FROM asks WHERE NOT of_body OR key NOT IN (SELECT key FROM has)"
            )
        database.execute("COMMIT")
        if is_needed and archive in chosen:
            yield archive


class _Reference(msgspec.Struct, frozen=True, gc=False):
    """What a capture has, and what it needs."""

    has: tuple[int, ...] = ()
    asks: int | None = None
    asks_for_body: bool = False
    """Otherwise for an earlier capture of its URL, which its archive does not have."""


def _references(archive: Path) -> Iterator[_Reference]:
    surt, captured = "", set[str]()
    for line in sound_lines(archive):
        try:
            key, _, capture = parse(line)
        except ValueError:
            continue  # `inspect verify` reports it
        if key != surt:
            surt, captured = key, set()
        url = key_of(f"url {capture.url}")
        body = None if capture.digest is None else key_of(f"body {capture.digest}")
        if capture.mime != REVISIT:
            yield _Reference((url,) if body is None else (url, body))
        elif body is not None:
            yield _Reference((url,), body, asks_for_body=True)
        elif capture.url not in captured:
            yield _Reference(asks=url)
            continue
        captured.add(capture.url)

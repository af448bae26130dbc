"""The captures of all files of an archive, and their index in compressed blocks, of which replay reads only those that
it needs.

`index.cdx.gz` has the lines, each block as a gzip member. `index.idx` says where each block is, and how it begins.
"""

import gzip
import hashlib
import sqlite3
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Final, Self

import msgspec

from crawler.export.wacz.package import Package
from crawler.page.digests import key_of
from crawler.write.cdxj.heads import Head
from crawler.write.cdxj.lines import line_of, moment_of

_PAYLOADS: Final = ("response", "resource")
_LINES: Final = 1024
"""The number of lines in a block."""
_NAME: Final = "index.cdx.gz"


class Index:
    """Collects captures in a temporary file, so that an archive of any size takes little memory. As a context it
    removes that."""

    def __init__(self) -> None:
        self._store = sqlite3.connect("")
        self._store.executescript(
            "CREATE TABLE line (id INTEGER PRIMARY KEY, line TEXT, key INTEGER, has_failed INTEGER DEFAULT 0);"
            "CREATE TABLE payload (key INTEGER PRIMARY KEY) WITHOUT ROWID;"
            "CREATE TABLE revisit (key INTEGER PRIMARY KEY, url TEXT);"
            "CREATE TABLE captured (key INTEGER PRIMARY KEY) WITHOUT ROWID;"
            "CREATE VIEW looked_up AS SELECT line FROM line WHERE NOT has_failed OR key IN (SELECT key FROM revisit);"
            "CREATE VIEW lacking AS SELECT * FROM revisit WHERE key NOT IN (SELECT key FROM payload);"
        )
        self._last: tuple[str, str] | None = None
        self._last_id: int | None = None

    def add(self, head: Head, *, filename: str, offset: int, length: int) -> None:
        """Add a record, if replay looks it up: a response, a resource or a revisit of a payload. The rest is where it
        is in the archive."""
        capture = head.capture()
        if capture is None:
            return
        if head.kind in _PAYLOADS:
            self._store.executemany("INSERT OR IGNORE INTO payload VALUES (?)", [(key,) for key in payload_keys(head)])
        elif head.has_payload_elsewhere:
            wanted = _key(head.digest or "", *(head.refers_to or ()))
            self._store.execute("INSERT OR IGNORE INTO revisit VALUES (?, ?)", (wanted, head.url))
        else:
            return
        line = line_of(capture, offset=offset, length=length, filename=filename)
        row = (line.decode(), _key(head.digest or "", head.url, head.moment))
        self._last_id = self._store.execute("INSERT INTO line (line, key) VALUES (?, ?)", row).lastrowid
        self._last = (head.url, head.moment)
        self._store.execute("INSERT OR IGNORE INTO captured VALUES (?)", (_key(head.url, head.moment),))

    def has(self, url: str, fetched_at: str) -> bool:
        """Whether a URL was captured at a time in RFC 3339."""
        key = _key(url, moment_of(fetched_at))
        found = self._store.execute("SELECT 1 FROM captured WHERE key = ?", (key,)).fetchone()
        return found is not None

    def take_back(self, head: Head) -> None:
        """The request failed that this record is about: if what was added last is its response, replay must not look
        that up, unless other records refer to its payload."""
        if self._last == (head.url, head.moment):
            self._store.execute("UPDATE line SET has_failed = 1 WHERE id = ?", (self._last_id,))

    def lines(self) -> Iterator[bytes]:
        """The lines of a CDXJ file."""
        for (line,) in self._store.execute("SELECT line FROM looked_up ORDER BY line"):
            yield line.encode() + b"\n"

    def count(self) -> int:
        [count] = self._store.execute("SELECT count(*) FROM looked_up").fetchone()
        return int(count)

    def lacking(self) -> int:
        """How many payloads revisit records refer to that no record has."""
        [count] = self._store.execute("SELECT count(*) FROM lacking").fetchone()
        return int(count)

    def example(self) -> str:
        """The URL of such a revisit record."""
        [url] = self._store.execute("SELECT url FROM lacking LIMIT 1").fetchone()
        return str(url)

    def is_wanted(self, head: Head) -> bool:
        """Whether a record has a payload that is lacking."""
        if head.kind not in _PAYLOADS:
            return False
        query = "SELECT 1 FROM lacking WHERE key = ?"
        return any(self._store.execute(query, (key,)).fetchone() for key in payload_keys(head))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._store.close()


def payload_keys(head: Head) -> list[int]:
    """The keys by which revisit records may refer to a record."""
    return [_key(head.digest or ""), _key(head.digest or "", head.url, head.moment)]


def _key(*parts: str) -> int:
    return key_of("\n".join(parts))


class _Block(msgspec.Struct, frozen=True):
    offset: int
    length: int
    digest: str
    filename: str = _NAME


def write_index(package: Package, lines: Iterable[bytes]) -> None:
    """Write the sorted lines of a CDXJ index. Of each block, a hundred bytes stay in memory until the end."""
    table = [b"!meta 0 " + msgspec.json.encode({"format": "cdxj-gzip-1.0", "filename": _NAME}) + b"\n"]
    with package.member(f"indexes/{_NAME}", stored=True) as target:
        for first, block in _blocks(iter(lines)):
            digest = f"sha256:{hashlib.sha256(block).hexdigest()}"
            prefix = first.partition(b" {")[0]
            table.append(prefix + b" " + msgspec.json.encode(_Block(target.size, len(block), digest)) + b"\n")
            target.write(block)
    with package.member("indexes/index.idx") as target:
        for line in table:
            target.write(line)


def _blocks(lines: Iterator[bytes]) -> Iterator[tuple[bytes, bytes]]:
    """The first line of each block, and the block compressed."""
    while block := list(islice(lines, _LINES)):
        yield block[0], gzip.compress(b"".join(block), mtime=0)

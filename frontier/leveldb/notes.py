"""The `Notes` of a LevelDB store."""

from collections.abc import Iterator
from contextlib import suppress

from frontier.leveldb.database import Database
from frontier.leveldb.format.keys import NOTES_SPACE, text, untext
from frontier.leveldb.writer import Writer
from frontier.values import StoreFull


class LevelDBNotes:
    """Small values by name. While the disk is full, new values are kept in memory."""

    def __init__(self, database: Database, writer: Writer) -> None:
        self._database = database
        self._writer = writer
        self._unwritten: dict[str, bytes] = {}

    def get(self, key: str, /) -> bytes | None:
        if key in self._unwritten:
            return self._unwritten[key]
        return self._database.get(_stored_key(key))

    def put(self, key: str, value: bytes, /) -> None:
        try:
            self._database.write_one(_stored_key(key), value)
        except StoreFull:
            self._unwritten[key] = value

    def items(self, prefix: str, /) -> Iterator[tuple[str, bytes]]:
        unwritten = {key: value for key, value in self._unwritten.items() if key.startswith(prefix)}
        start = _stored_key(prefix)
        for stored_key, value in self._database.items(start, start + b"\xff"):
            key = untext(stored_key[1:])
            yield key, unwritten.pop(key, value)
        yield from unwritten.items()

    def set_aside(self, key: str, why: Exception, /) -> None:
        self._unwritten.pop(key, None)
        stored_key = _stored_key(key)
        with suppress(StoreFull):
            value = self._database.get(stored_key)
            if value is not None:
                self._writer.quarantine(stored_key, value, why)

    def write_rest(self) -> None:
        """Write what was kept in memory while the disk was full. If it is full again, what is not written yet stays in
        memory, and `StoreFull` is raised."""
        while self._unwritten:
            key, value = next(iter(self._unwritten.items()))
            self._database.write_one(_stored_key(key), value)
            del self._unwritten[key]


def _stored_key(key: str) -> bytes:
    return NOTES_SPACE + text(key)

"""Copies of the visited set on disk, so that opening a crawl need not read its whole ledger.

A snapshot is the file `snapshot-N`, where N is the journal's sequence number that it includes. It is written under
another name, synced and renamed. Then the store notes N and deletes the journal up to it, in small steps. A crash in
between leaves an unused file or unused entries, which the next save removes.
"""

import asyncio
import logging
import os
from io import BytesIO
from pathlib import Path

import msgspec

from frontier.store import Store
from visited import VisitedSet

log = logging.getLogger(__name__)

ALLOCATED_BYTES = 256 * 1024
"""A buffer is allocated in pieces of this size."""
TRIMMED_ENTRIES = 500
"""Journal entries that are deleted together: some milliseconds."""
SPARE_FACTOR = 1.1
"""The set goes on growing while a buffer is allocated."""


class Copy(msgspec.Struct, frozen=True):
    """The visited set as it was after a journal entry."""

    journal_end: int
    content: BytesIO


async def allocate_buffer(visited: VisitedSet) -> BytesIO:
    """A buffer for a copy of the set. The system needs four times as long to hand out this memory as the copy takes, so
    a thread does it beforehand."""
    return await asyncio.to_thread(_allocate, int(visited.describe().memory_bytes * SPARE_FACTOR))


def _allocate(size_bytes: int) -> BytesIO:
    # In small pieces, so that the thread of the event loop can run in between.
    buffer, piece = BytesIO(), bytes(ALLOCATED_BYTES)
    for _ in range(1 + size_bytes // ALLOCATED_BYTES):
        buffer.write(piece)
    buffer.seek(0)
    return buffer


class Snapshots:
    """The snapshots of one crawl, in a directory of their own. A new one is due when at least `every` URLs have been
    admitted since the last, and a quarter of all. So all of them together cost no more than a few times the last, and
    the journal stays short: a URL that is admitted again, as for each of its visits, counts each time."""

    def __init__(self, directory: Path, *, every: int = 500_000) -> None:
        self._directory = directory
        self._parent = _file_number(directory.parent)
        self._every = every
        self._admitted_before = 0
        self._number_before = 0

    def is_due(self, store: Store) -> bool:
        counters = store.counters
        # Each admission takes a number, also of a URL that was forgotten meanwhile. Imported URLs bring their own.
        since = max(counters.admitted - self._admitted_before, counters.next_number - self._number_before)
        return since >= max(self._every, self._admitted_before // 4)

    def copy(self, store: Store, visited: VisitedSet, *, into: BytesIO | None = None) -> Copy:
        """Copy the set as it is now, between two transitions. This blocks the event loop, but not for the disk; with a
        buffer from `allocate_buffer`, it only copies memory."""
        self.begin_count(store)
        content = BytesIO() if into is None else into
        visited.dump(content)
        content.truncate()
        return Copy(store.counters.journal_end, content)

    async def save(self, copy: Copy, store: Store) -> None:
        """Write a copy to the disk and note it in the store. One call at a time.

        If the disk does not accept it, that is only logged: the ledger has all the URLs.
        """
        path = self._path(copy.journal_end)
        try:
            await asyncio.to_thread(self._write, path, copy.content)
        except OSError as error:
            log.warning("no snapshot of the visited set was saved: %s; the next start takes longer", error)
            return
        store.journal.note_snapshot(copy.journal_end)
        for other in self._directory.glob("snapshot-*"):
            if other != path:
                other.unlink(missing_ok=True)
        await self._trim(store)

    async def skip(self, store: Store) -> None:
        """Drop the journal without a snapshot, because a server has what it says."""
        self.begin_count(store)
        store.journal.note_snapshot(store.counters.journal_end)
        await self._trim(store)

    async def _trim(self, store: Store) -> None:
        has_more = True
        while has_more:
            has_more = store.journal.trim(TRIMMED_ENTRIES)
            await asyncio.sleep(0)

    def load(self, journal_end: int, visited: VisitedSet) -> None:
        """Fill the set from the snapshot. Raises `SnapshotRefused` or `OSError`."""
        with self._path(journal_end).open("rb") as file:
            visited.load(file)

    def begin_count(self, store: Store, *, replayed: int = 0) -> None:
        """Count the URLs towards the next snapshot from now on, and those that were `replayed` from the journal."""
        self._admitted_before = store.counters.admitted - replayed
        self._number_before = store.counters.next_number - replayed

    def _path(self, journal_end: int) -> Path:
        return self._directory / f"snapshot-{journal_end}"

    def _write(self, path: Path, content: BytesIO) -> None:
        if _file_number(self._directory.parent) != self._parent:
            # Another crawl may be there, with snapshots of its own.
            raise OSError(f"{self._directory.parent} was deleted, moved or replaced")
        self._directory.mkdir(exist_ok=True)
        new = path.with_suffix(".new")
        with new.open("wb") as file:
            file.write(content.getbuffer())
            file.flush()
            os.fsync(file.fileno())
        new.replace(path)
        directory = os.open(self._directory, os.O_RDONLY)
        try:
            os.fsync(directory)
        finally:
            os.close(directory)


def _file_number(directory: Path) -> tuple[int, int] | None:
    """What tells a directory from another one of the same name; None if there is none."""
    try:
        status = directory.stat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    return status.st_dev, status.st_ino

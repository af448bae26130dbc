"""Copies of the visited set on disk, so that opening a crawl need not read its whole ledger.

A snapshot is the file `snapshot-N`, where N is the journal's sequence number that it includes. It is written aside,
synced and renamed; only then the store notes N and, bit by bit, drops the journal up to it. A crash in between leaves a
file that nobody names, or entries that nobody needs, which the next save removes.
"""

import asyncio
import logging
import os
from collections.abc import Callable, Iterable
from contextlib import suppress
from io import BytesIO
from pathlib import Path

import msgspec

from frontier.store import JournalDamaged, JournalDropped, JournalEntry, Store
from frontier.values import MEND, StoreFailed
from visited import CannotForget, SnapshotRefused, VisitedSet

log = logging.getLogger(__name__)

REBUILD_BATCH = 4096
TOUCHED_BYTES = 256 * 1024
TRIMMED_AT_ONCE = 500
"""Journal entries: some milliseconds."""
SPARE = 1.1
"""Times what the set takes: it goes on growing while a buffer is prepared."""


class Copy(msgspec.Struct, frozen=True):
    """The visited set as it was after a journal entry."""

    journal_end: int
    content: BytesIO


async def prepared(visited: VisitedSet) -> BytesIO:
    """A buffer for a copy of the set as large as it is now, in memory that the system has handed out already: that
    takes it four times as long as the copying does."""
    return await asyncio.to_thread(_touched, int(visited.describe().memory_bytes * SPARE))


def _touched(size_bytes: int) -> BytesIO:
    # By the piece, so that the thread of the event loop has its turns.
    buffer, piece = BytesIO(), bytes(TOUCHED_BYTES)
    for _ in range(1 + size_bytes // TOUCHED_BYTES):
        buffer.write(piece)
    buffer.seek(0)
    return buffer


class Snapshots:
    """The snapshots of one crawl, in a directory of their own. A new one is due after `every` admitted URLs, and at a
    quarter more than the last: so all of them together cost no more than a few times the last."""

    def __init__(self, directory: Path, *, every: int = 500_000) -> None:
        self._directory = directory
        self._every = every
        self._admitted_then = 0

    def is_due(self, store: Store) -> bool:
        return store.counters.admitted - self._admitted_then >= max(self._every, self._admitted_then // 4)

    def copy(self, store: Store, visited: VisitedSet, *, into: BytesIO | None = None) -> Copy:
        """The set as it is now, between two transitions. The event loop is held for this, not for the disk; with a
        buffer from `prepared`, for no longer than it takes to copy memory."""
        self._admitted_then = store.counters.admitted
        content = BytesIO() if into is None else into
        visited.dump(content)
        content.truncate()
        return Copy(store.counters.journal_end, content)

    async def save(self, copy: Copy, store: Store) -> None:
        """Write the copy to the disk and have the store note it; one call at a time.

        A disk that does not take it is no reason to stop, since the ledger has all of it: that is logged.
        """
        path = self._path(copy.journal_end)
        try:
            await asyncio.to_thread(self._write, path, copy.content)
        except OSError as error:
            log.warning("no snapshot of the visited set was saved: %s; the next start takes longer", error)
            return
        store.snapshot_saved(copy.journal_end)
        for other in self._directory.glob("snapshot-*"):
            if other != path:
                other.unlink(missing_ok=True)
        are_left = True
        while are_left:
            are_left = store.trim_journal(TRIMMED_AT_ONCE)
            await asyncio.sleep(0)

    def load(self, journal_end: int, visited: VisitedSet) -> None:
        """Fill the set from the snapshot. Raises `SnapshotRefused` or `OSError`."""
        with self._path(journal_end).open("rb") as file:
            visited.load(file)

    def replayed(self, store: Store, urls: int) -> None:
        """`urls` of the admitted ones came from the journal: they count towards the next snapshot."""
        self._admitted_then = store.counters.admitted - urls

    def _path(self, journal_end: int) -> Path:
        return self._directory / f"snapshot-{journal_end}"

    def _write(self, path: Path, content: BytesIO) -> None:
        self._directory.mkdir(parents=True, exist_ok=True)
        aside = path.with_suffix(".new")
        with aside.open("wb") as file:
            file.write(content.getbuffer())
            file.flush()
            os.fsync(file.fileno())
        aside.replace(path)
        directory = os.open(self._directory, os.O_RDONLY)
        try:
            os.fsync(directory)
        finally:
            os.close(directory)


async def restore(
    store: Store, visited: VisitedSet, snapshots: Snapshots | None, *, rebuilding: Callable[[int], None] | None = None
) -> None:
    """Fill an empty visited set with every URL of the ledger: from snapshot and journal, else by reading the ledger.

    Raises `StoreFailed` if the journal is damaged: then the ledger may be as well.
    """
    if store.counters.admitted == 0:
        return
    if snapshots is not None:
        try:
            journal = store.journal(store.snapshot_at or 0)
            snapshots.replayed(store, await replay(store.snapshot_at, journal, visited, snapshots))
        except (SnapshotRefused, OSError, JournalDropped, CannotForget) as error:
            log.warning("the visited set is rebuilt from the ledger: %s", error)
            _empty(visited)
        except JournalDamaged as error:
            raise StoreFailed(f"{error}: the frontier is damaged; {MEND}") from error
        else:
            return
    await _rebuild(store, visited, rebuilding)
    if snapshots is not None:
        await snapshots.save(snapshots.copy(store, visited), store)


async def replay(
    snapshot_at: int | None, journal: Iterable[JournalEntry], visited: VisitedSet, snapshots: Snapshots
) -> int:
    """Fill the set from the snapshot, if there is one, and from what the journal tells since; return its admissions.

    Raises `SnapshotRefused`, `OSError`, `JournalDamaged` or `CannotForget` where these don't serve; the set is then
    filled in part.
    """
    if snapshot_at is not None:
        snapshots.load(snapshot_at, visited)
    replayed = 0
    for entry in journal:
        replayed += len(entry.admitted)
        await visited.add_many(entry.admitted)
        if entry.forgotten:
            await visited.forget_many(entry.forgotten)
    return replayed


def _empty(visited: VisitedSet) -> None:
    # A set that refuses a snapshot is as empty as when made.
    with suppress(SnapshotRefused):
        visited.load(BytesIO())


async def _rebuild(store: Store, visited: VisitedSet, rebuilding: Callable[[int], None] | None) -> None:
    urls = 0
    batch: list[str] = []
    for canonical in store.ledger():
        batch.append(canonical)
        if len(batch) == REBUILD_BATCH:
            await visited.add_many(batch)
            urls += len(batch)
            batch = []
            if rebuilding is not None:
                rebuilding(urls)
            await asyncio.sleep(0)
    await visited.add_many(batch)
    if rebuilding is not None:
        rebuilding(urls + len(batch))

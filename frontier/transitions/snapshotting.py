"""Saves snapshots of the visited set while the crawl goes on."""

import asyncio
import logging
from contextlib import suppress

from frontier.snapshots.saving import Snapshots, allocate_buffer
from frontier.store import Store
from frontier.transitions.commit import Commit
from frontier.transitions.uncancellable import run_uncancellable
from frontier.values import StoreFull
from visited import DiskFull, SharedSet, VisitedSet

log = logging.getLogger(__name__)


class Snapshotting:
    """Saves a snapshot when one is due, and at the end. `lock` keeps the visited set and the ledger apart from
    transitions that are changing them."""

    def __init__(
        self, store: Store, visited: VisitedSet, snapshots: Snapshots | None, commit: Commit, lock: asyncio.Lock
    ) -> None:
        self._store = store
        self._visited = visited
        self._snapshots = snapshots
        self._commit = commit
        self._lock = lock
        self._saving = asyncio.Lock()

    async def save_if_due(self) -> None:
        if self._is_due():
            await run_uncancellable(self._save_in_turn(), on_cancel=self._commit.give_up_waiting)

    async def _save_in_turn(self) -> None:
        async with self._saving:
            if self._is_due():  # nobody else has saved one meanwhile
                await self._save()

    async def save(self) -> None:
        """Save a snapshot, unless the last one is still current."""
        async with self._saving:
            await self._save()

    async def _save(self) -> None:
        if self._snapshots is None or self._is_current():
            return
        if isinstance(self._visited, SharedSet):
            with self._commit.fail_on_error, suppress(StoreFull):
                await self._snapshots.skip(self._store)
            return
        buffer = await allocate_buffer(self._visited)
        try:
            async with self._lock:
                if self._commit.failure is not None or self._is_current():
                    return
                copy = self._snapshots.copy(self._store, self._visited, into=buffer)
            with self._commit.fail_on_error:
                await self._snapshots.save(copy, self._store)
        except (DiskFull, StoreFull) as error:
            log.warning("no snapshot of the visited set was saved: %s; the next start takes longer", error)

    def _is_due(self) -> bool:
        return self._snapshots is not None and self._snapshots.is_due(self._store)

    def _is_current(self) -> bool:
        return self._store.journal.snapshot_at == self._store.counters.journal_end

"""Fills the visited set when a crawl is opened, and the memory of a server when it has forgotten URLs."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from itertools import islice

from frontier.records import JournalDamaged, JournalDropped
from frontier.snapshots.saving import Snapshots
from frontier.store import Store
from frontier.values import REPAIR_ADVICE, StoreFailed
from visited import CannotForget, SharedSet, SnapshotRefused, VisitedSet, clear_set

log = logging.getLogger(__name__)

ADDED_TOGETHER = 4096


async def restore(
    store: Store, visited: VisitedSet, snapshots: Snapshots | None, *, rebuilding: Callable[[int], None] | None = None
) -> None:
    """Fill an empty visited set with every URL of the ledger: from snapshot and journal, or by reading the ledger.

    A `SharedSet` is filled only if the memory of its server may lack something.

    Raises `StoreFailed` if the journal is damaged, because the ledger may be damaged too, and what a `SharedSet`
    raises.
    """
    if isinstance(visited, SharedSet):
        await fill(store, visited, filling=rebuilding)
        if snapshots is not None:
            snapshots.begin_count(store)
        return
    if store.marks.memory is not None:
        store.marks.set_memory(None)  # from now on the server is not told what is new
    if store.counters.admitted == 0:
        if snapshots is not None:
            snapshots.begin_count(store)
        return
    if snapshots is not None:
        try:
            snapshots.begin_count(store, replayed=await replay(store, visited, snapshots))
        except (SnapshotRefused, OSError, JournalDropped, CannotForget) as error:
            if isinstance(error, FileNotFoundError):  # as after a division
                log.info("the visited set is rebuilt from the ledger, because it has no snapshot yet")
            else:
                log.warning("the visited set is rebuilt from the ledger: %s", error)
            clear_set(visited)
        except JournalDamaged as error:
            raise StoreFailed(f"{error}: the frontier is damaged; {REPAIR_ADVICE}") from error
        else:
            return
    await add_ledger(store, visited.add_many, rebuilding)
    if snapshots is not None:
        await snapshots.save(snapshots.copy(store, visited), store)


async def replay(store: Store, visited: VisitedSet, snapshots: Snapshots) -> int:
    """Fill the set from the snapshot, if there is one, and then from the journal. Returns how many URLs came from the
    journal.

    What was forgotten and found again is not forgotten here: a set that asks the ledger would be told that it is known,
    and count one URL less.

    Raises `SnapshotRefused`, `OSError`, `JournalDamaged` or `CannotForget`. The set may then be filled in part.
    """
    snapshot_at = store.journal.snapshot_at
    if snapshot_at is not None:
        snapshots.load(snapshot_at, visited)
    replayed = 0
    for entry in store.journal.entries(snapshot_at or 0):
        replayed += len(entry.admitted)
        await visited.add_many(entry.admitted)
        known = store.reads.knows_many(entry.forgotten)
        if gone := [url for url, is_known in zip(entry.forgotten, known, strict=True) if not is_known]:
            await visited.forget_many(gone)
    return replayed


async def fill(store: Store, visited: SharedSet, *, filling: Callable[[int], None] | None = None) -> None:
    """Connect, add every URL of the ledger if the memory may lack some, and trust it. `filling` is called with the
    number of URLs so far. Raises what a `SharedSet` raises; call again then."""
    memory = await visited.connect()
    if memory != store.marks.memory:
        urls = await add_ledger(store, visited.fill, filling)
        if urls:
            log.info("URLs told to the server of the visited set: %d", urls)
        if await visited.connect() != memory:
            return await fill(store, visited, filling=filling)
        store.marks.set_memory(memory)
    visited.trust(memory)
    return None


async def add_ledger(
    store: Store, add: Callable[[Sequence[str]], Awaitable[object]], progress: Callable[[int], None] | None
) -> int:
    """Call `add` with all URLs of the ledger, some at a time, and `progress` with the number so far. Returns their
    number."""
    urls, ledger = 0, store.reads.ledger()
    while batch := list(islice(ledger, ADDED_TOGETHER)):
        await add(batch)
        urls += len(batch)
        if progress is not None:
            progress(urls)
        await asyncio.sleep(0)
    return urls

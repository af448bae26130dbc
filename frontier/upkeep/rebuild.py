"""Gives each URL of a store the canonical form and the queue of new rules.

The store is changed in place, one batch of URLs at a time. After each batch all parts of the store agree. A mark says
that the store has URLs of both rules; until the last URL has been renamed, only a rebuild may open it. A rebuild that
was interrupted starts again at the first URL: URLs that have their new names keep them.

URLs that become the same are merged. The one that has progressed further stays: fetched before given up, before tried,
before waiting; of two fetched ones, the later. Afterwards the visited set has to be filled from the ledger.
"""

import asyncio
from collections.abc import Callable

from frontier.descriptor import Naming, RenameResult
from frontier.leveldb.store import LevelDBStore
from frontier.queues.settings import QueueSettings
from frontier.upkeep.renaming import Renaming
from frontier.values import Damaged

RENAMED_TOGETHER = 1000
"""URLs that are read between two writes, and renamed in one batch."""


async def rebuild(
    store: LevelDBStore, naming: Naming, *, settings: QueueSettings, progress: Callable[[int], None] | None = None
) -> RenameResult:
    """Rename all URLs of a store that nobody else writes to. `progress` is called with the number of URLs so far.

    May raise `StoreFailed` or be cancelled. The store must then be rebuilt again.
    """
    store.begin_rebuild()
    urls, renaming = 0, Renaming(store, naming, settings)
    for found in store.full_scan.entries():
        urls += 1
        if not isinstance(found, Damaged):
            renaming.rename(*found)
        if urls % RENAMED_TOGETHER == 0:
            renaming.flush()
            if progress is not None:
                progress(urls)
            await asyncio.sleep(0)
    renaming.flush()
    renaming.rename_parcels()
    if store.claims.is_open:
        store.claims.put([naming.name_pending(url) for url in store.claims.urls()])
    store.end_rebuild()
    return RenameResult(urls=urls, renamed=renaming.renamed, merged=renaming.merged)

"""Fills a visited set on a server with the ledger, unless its memory has it already."""

import asyncio
import logging
from collections.abc import Callable

from frontier.store import Store
from visited import SharedSet

log = logging.getLogger(__name__)

FILLED_TOGETHER = 4096


async def fill(store: Store, visited: SharedSet, *, filling: Callable[[int], None] | None = None) -> None:
    """Connect, add every URL of the ledger if the memory may lack some, and trust it. `filling` is called with the
    number of URLs so far. Raises what a `SharedSet` raises; call again then."""
    memory = await visited.connect()
    if memory != store.marks.memory:
        urls = await _fill(store, visited, filling)
        if urls:
            log.info("URLs told to the server of the visited set: %d", urls)
        if await visited.connect() != memory:
            return await fill(store, visited, filling=filling)
        store.marks.set_memory(memory)
    visited.trust(memory)
    return None


async def _fill(store: Store, visited: SharedSet, filling: Callable[[int], None] | None) -> int:
    urls = 0
    batch: list[str] = []
    for canonical in store.reads.ledger():
        batch.append(canonical)
        if len(batch) == FILLED_TOGETHER:
            await visited.fill(batch)
            urls += len(batch)
            batch = []
            if filling is not None:
                filling(urls)
            await asyncio.sleep(0)
    if batch:
        await visited.fill(batch)
        urls += len(batch)
    if filling is not None and urls:
        filling(urls)
    return urls

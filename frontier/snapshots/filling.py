"""Fills a visited set with the ledger. A server whose memory has it already is told nothing."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from itertools import islice

from frontier.store import Store
from visited import SharedSet

log = logging.getLogger(__name__)

ADDED_TOGETHER = 4096


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

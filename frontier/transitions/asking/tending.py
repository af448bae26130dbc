"""Notices, between questions, that the server of a visited set has forgotten URLs."""

import asyncio
import logging
from contextlib import suppress
from typing import Final

from frontier.snapshots.filling import fill
from frontier.store import Store
from frontier.transitions.commit import Commit
from frontier.values import StoreFailed, StoreFull
from visited import Forgotten, SharedSet, Unanswered, Unavailable, Unreachable, VisitedSet

log = logging.getLogger(__name__)

_LEFT_TO_NEXT_QUESTION: Final = (Forgotten, StoreFull, Unanswered, Unavailable, Unreachable)
"""Errors that are ignored here: the next question meets them too, and waits for the server or ends the crawl."""


async def tend(store: Store, visited: VisitedSet, commit: Commit, lock: asyncio.Lock) -> None:
    """See `frontier.Tended.tend`. A crawl that is paused, or whose hosts rest, may ask nothing for days, and others
    wait for it. `lock` is that of admission, so that nothing is asked meanwhile."""
    if not isinstance(visited, SharedSet):
        return
    async with lock:
        if commit.stopped or commit.closed:
            return
        with suppress(StoreFailed), commit.fail_on_error, suppress(*_LEFT_TO_NEXT_QUESTION):
            await _tell(store, visited)


async def _tell(store: Store, visited: SharedSet) -> None:
    try:
        await visited.register()
    except Forgotten as error:
        log.warning("the server of the visited set may have forgotten URLs: %s; it is told them again", error)
        await fill(store, visited)
        await visited.fill([url.canonical for url in store.claims.urls()])
        await visited.register()

"""Notices, between questions, that the server of a visited set has forgotten URLs."""

import asyncio
import logging
from contextlib import suppress
from typing import Final

from frontier.snapshots.filling import fill
from frontier.store import Store
from frontier.transitions.commit import Commit
from frontier.values import StoreFailed, StoreFull
from visited import Forgotten, KeptSet, SharedSet, Unanswered, Unavailable, Unreachable, VisitedSet

log = logging.getLogger(__name__)

_LEFT_TO_THE_NEXT_QUESTION: Final = (Forgotten, StoreFull, Unanswered, Unavailable, Unreachable)
"""That waits for the server, or ends the crawl."""


class Tending:
    """For a crawl that asks nothing for long, because it is paused or its hosts rest, while others wait for it."""

    def __init__(self, store: Store, visited: VisitedSet, commit: Commit, lock: asyncio.Lock) -> None:
        """`lock` is that of admission, so that nothing is asked meanwhile."""
        self._store = store
        self._visited = visited
        self._commit = commit
        self._lock = lock

    async def tend(self) -> None:
        """See `frontier.Tended.tend`."""
        visited = self._visited
        if not isinstance(visited, KeptSet) or not isinstance(visited, SharedSet):
            return
        async with self._lock:
            if self._commit.stopped or self._commit.closed:
                return
            with suppress(StoreFailed), self._commit.fail_on_error, suppress(*_LEFT_TO_THE_NEXT_QUESTION):
                await self._tell(visited, visited)

    async def _tell(self, visited: SharedSet, kept: KeptSet) -> None:
        try:
            await kept.register()
        except Forgotten as error:
            log.warning("the server of the visited set may have forgotten URLs: %s; it is told them again", error)
            await fill(self._store, visited)
            await visited.fill([url.canonical for url in self._store.claims.urls()])
            await kept.register()

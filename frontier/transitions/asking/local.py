"""Asks a visited set in this process."""

from collections.abc import Sequence
from functools import partial

from frontier.store import Store
from frontier.transitions.commit import Commit
from frontier.values import CrawlUrl
from visited import VisitedSet, is_prompt


class LocalAsking:
    """Asks a set in this process. It knows what the ledger knows."""

    def __init__(self, store: Store, visited: VisitedSet, commit: Commit) -> None:
        self._store = store
        self._visited = visited
        self._commit = commit
        self.is_prompt = is_prompt(visited)

    async def ask(self, _batch: Sequence[CrawlUrl], canonicals: Sequence[str], /) -> Sequence[bool]:
        return await self.enter(canonicals)

    async def enter(self, canonicals: Sequence[str], /) -> Sequence[bool]:
        return await self._commit.ask_visited(partial(self._visited.add_many, canonicals))

    async def claimed(self) -> list[CrawlUrl]:
        """There are some if the crawl has asked a server before."""
        claimed = self._store.claims.urls()
        verdicts = await self.enter([url.canonical for url in claimed])
        return [url for url, is_new in zip(claimed, verdicts, strict=True) if is_new]

    async def forget(self, canonicals: Sequence[str], /) -> None:
        await self._commit.ask_visited(partial(self._visited.forget_many, canonicals))

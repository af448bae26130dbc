"""Asks which URLs are new: what admission asks, and how a visited set is asked."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Protocol

from frontier.store import Store
from frontier.transitions.asking.shared import SharedAsking
from frontier.transitions.commit import Commit
from frontier.values import CrawlUrl
from visited import RecallingSet, SharedSet, VisitedSet, is_prompt


class Asking(Protocol):
    """The caller holds the lock of admission from asking until it has written the answer. It may call `recalls` without
    the lock, but not while another holds it: the set may know URLs then that are not written yet."""

    is_prompt: bool
    """Whether an answer never has to be waited for, except for space on the disk."""

    def recalls(self, canonicals: Sequence[str], /) -> bool:
        """Whether all of them are known, so that `ask` would call none of them new. If that can't be told at once, it
        is false."""
        ...

    async def ask(self, batch: Sequence[CrawlUrl], canonicals: Sequence[str], /) -> Sequence[bool]:
        """For each URL, whether it is new and must be admitted. Raises `StoreFull` if the crawl is stopped while it
        waits."""
        ...

    async def enter(self, canonicals: Sequence[str], /) -> Sequence[bool]:
        """The same for URLs that the caller brings again after a crash."""
        ...

    async def claimed(self) -> list[CrawlUrl]:
        """The URLs that were asked before a crash and that the ledger lacks. The visited set knows them now."""
        ...

    async def forget(self, canonicals: Sequence[str], /) -> None: ...


class LocalAsking:
    """Asks a set in this process. It knows what the ledger knows."""

    def __init__(self, store: Store, visited: VisitedSet, commit: Commit) -> None:
        self._store = store
        self._visited = visited
        self._commit = commit
        self.is_prompt = is_prompt(visited)
        self.recalls: Callable[[Sequence[str]], bool] = (
            visited.recalls if isinstance(visited, RecallingSet) else lambda _: False
        )

    async def ask(self, _batch: Sequence[CrawlUrl], canonicals: Sequence[str], /) -> Sequence[bool]:
        return await self._commit.ask_visited(partial(self._visited.add_many, canonicals))

    async def enter(self, canonicals: Sequence[str], /) -> Sequence[bool]:
        return await self._commit.ask_visited(partial(self._visited.add_many, canonicals))

    async def claimed(self) -> list[CrawlUrl]:
        """There are some if the crawl has asked a server before."""
        claimed = self._store.claims.urls()
        verdicts = await self.enter([url.canonical for url in claimed])
        return [url for url, is_new in zip(claimed, verdicts, strict=True) if is_new]

    async def forget(self, canonicals: Sequence[str], /) -> None:
        await self._commit.ask_visited(partial(self._visited.forget_many, canonicals))


def make_asking(store: Store, visited: VisitedSet, commit: Commit) -> Asking:
    """The asking of a set in this process, or of one on a server."""
    if isinstance(visited, SharedSet):
        return SharedAsking(store, visited, commit)
    return LocalAsking(store, visited, commit)

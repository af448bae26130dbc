"""What admission asks."""

from collections.abc import Sequence
from typing import Protocol

from frontier.values import CrawlUrl


class Asking(Protocol):
    """The caller holds the lock of admission from asking until it has written the answer."""

    is_prompt: bool
    """Whether an answer never has to be waited for, except for space on the disk."""

    async def ask(self, batch: Sequence[CrawlUrl], canonicals: Sequence[str], /) -> Sequence[bool]:
        """For each URL, whether it is new and must be admitted. Raises `StoreFull` if the crawl is stopped while it
        waits."""
        ...

    async def enter(self, canonicals: Sequence[str], /) -> Sequence[bool]:
        """The same for URLs whose caller comes again after a crash."""
        ...

    async def claimed(self) -> list[CrawlUrl]:
        """The URLs that were asked before a crash and that the ledger lacks. The visited set knows them now."""
        ...

    async def forget(self, canonicals: Sequence[str], /) -> None: ...

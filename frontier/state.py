"""What a frontier keeps between runs."""

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from frontier.protocol.look_ups import Notes
from frontier.protocol.serving import Frontier
from frontier.values import FrontierStats
from visited import VisitedSet


class FrontierState(Protocol):
    """What a frontier keeps, opened. It answers also while a frontier is open over it, from what is stored."""

    @property
    def identity(self) -> Mapping[str, str]:
        """The settings with which the crawl began, by name; see `Terms`."""
        ...

    @property
    def notes(self) -> Notes: ...

    def knows_many(self, canonicals: Sequence[str], /) -> list[bool]:
        """For each canonical URL, whether the ledger has it. Verified visited sets ask this for each page."""
        ...

    def describe(self) -> FrontierStats:
        """Where the URLs were at the last change. Needs no scan."""
        ...

    async def restore(self, visited: VisitedSet, /, *, rebuilding: Callable[[int], None] | None = None) -> None:
        """Fill an empty visited set with every URL of the ledger. If that needs to read the whole ledger, `rebuilding`
        is called with the number of URLs so far."""
        ...

    async def open_frontier(
        self, visited: VisitedSet, /, *, rebuilding: Callable[[int], None] | None = None
    ) -> Frontier:
        """Resume the crawl, or begin one, with an empty visited set, which is filled as by `restore`. One frontier at a
        time. Closing the frontier closes the state.

        After a crash nobody knows which servers had just been asked, so every queue first rests for its usual delay.
        """
        ...

    def close(self) -> None:
        """Closing twice is harmless."""
        ...

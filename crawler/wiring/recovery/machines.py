"""What other machines have of a crawl, so that nobody calls it missing here."""

from collections.abc import Callable, Iterable
from typing import Final

from crawler.page.number_set import NumberSet
from crawler.status import number_of
from frontier import LedgerEntry

_NUMBERS: Final = 1 << 64


class OtherMachines:
    """Tells what of a crawl may be on other machines: parts, and output from before the crawl was divided.

    The ledger says in which part a URL was settled, if that was before a division. Its number does not tell: a URL that
    waited keeps its number, and is settled in another part.
    """

    def __init__(
        self, *, lineages_here: Iterable[int] | None = None, has_queue: Callable[[str], bool] = lambda _: False
    ) -> None:
        """The output of these lineages is here. None: all of it is. `has_queue` tells from the key of a queue whether
        other machines have its part."""
        self.has_queue = has_queue
        self.has_nothing = lineages_here is None
        """Whether all output is here."""
        self._lineages = None if lineages_here is None else set(lineages_here)
        self._elsewhere: dict[int, NumberSet] = {}
        """Numbers whose output is on another machine, by lineage of that output."""
        self._missed: dict[int, NumberSet] = {}

    def note(self, entry: LedgerEntry) -> None:
        """Read in the ledger where the output of a URL is."""
        lineage = entry.settled_in
        if self._lineages is not None and lineage is not None and lineage not in self._lineages:
            self._elsewhere.setdefault(lineage, NumberSet()).add(entry.number)

    def excuse(self, number: int) -> bool:
        """Whether a number that is missing in the output here is on another machine, and counts as such. It may be
        signed. Its entry must have been noted."""
        number %= _NUMBERS
        for lineage, numbers in self._elsewhere.items():
            if number in numbers:
                self._missed.setdefault(lineage, NumberSet()).add(number)
                return True
        return False

    def told(self) -> list[str]:
        """Say to people what is on other machines."""
        return [
            f"{number_of(len(missed), 'record is', 'records are')} in the output of lineage {lineage}, "
            "from before the crawl was divided, on another machine"
            for lineage, missed in sorted(self._missed.items())
        ]

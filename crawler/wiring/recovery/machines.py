"""What other machines have of a crawl, so that nobody calls it missing here."""

from collections.abc import Callable, Iterable
from typing import Final

from crawler.disk.number_set import NumberSet

COUNTER_BITS: Final = 40
"""Above these, a record number has its lineage."""
LINEAGES: Final = 1 << 16


class OtherMachines:
    """Tells what of a crawl may be on other machines: parts, and output from before the crawl was divided."""

    def __init__(
        self, *, lineages_here: Iterable[int] | None = None, has_queue: Callable[[str], bool] = lambda _: False
    ) -> None:
        """Output of these lineages is here, and that of others which is seen. None: all of it is. `has_queue` tells
        from the key of a queue whether other machines have its part."""
        self.has_queue = has_queue
        self._lineages = None if lineages_here is None else set(lineages_here)
        self._missed: dict[int, NumberSet] = {}
        """By lineage."""

    def see(self, *lineages: int) -> None:
        """Note that the output here has these lineages."""
        if self._lineages is not None:
            self._lineages.update(lineages)

    def excuse(self, number: int) -> bool:
        """Whether a number that is missing in the output here must be on another machine, and counts as such. It may
        be signed. Ask when the output was read."""
        lineage = (number >> COUNTER_BITS) % LINEAGES
        if self._lineages is None or lineage in self._lineages:
            return False
        self._missed.setdefault(lineage, NumberSet()).add(number)
        return True

    def told(self) -> list[str]:
        """For people."""
        return [
            f"{len(missed):,} {'record is' if len(missed) == 1 else 'records are'} in the output of lineage {lineage}, "
            "from before the crawl was divided, on another machine"
            for lineage, missed in sorted(self._missed.items())
        ]


ALL_HERE: Final = OtherMachines()

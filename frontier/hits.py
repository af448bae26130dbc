"""How often links to known URLs were seen."""

from collections.abc import Sequence
from itertools import islice

HITS_KEPT = 100_000
"""URLs for which links are counted while they wait: a few megabytes."""


class Hits:
    """Counts the links to URLs that wait, of the latest `kept` of them."""

    def __init__(self, kept: int = HITS_KEPT) -> None:
        self._kept = kept
        self._hits: dict[str, int] = {}

    def count(self, canonicals: Sequence[str], verdicts: Sequence[bool]) -> None:
        """Links were seen; the new ones among them do not count."""
        if all(verdicts):
            return
        hits = self._hits
        for canonical, new in zip(canonicals, verdicts, strict=True):
            if not new:
                hits[canonical] = hits.get(canonical, 0) + 1
        if len(hits) > self._kept:
            # Many at once: each search for a dictionary's first key walks over those deleted before it.
            for canonical in list(islice(hits, len(hits) - self._kept * 9 // 10)):
                del hits[canonical]

    def of(self, canonical: str) -> int:
        return self._hits.get(canonical, 0)

    def drop(self, canonical: str) -> None:
        self._hits.pop(canonical, None)

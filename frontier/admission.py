"""What is asked of URLs before they are admitted, and how often links to known ones were seen."""

from collections.abc import Iterable, Sequence
from itertools import islice

from frontier.store import ORDINAL_BITS
from frontier.values import CrawlUrl

HITS_KEPT = 100_000
"""URLs for which links are counted while they wait: a few megabytes."""
PRECEDENCES = 1 << 64 - ORDINAL_BITS
MOST_COST = 1 << 31


class Hits:
    """Counts the links to URLs that wait, of the latest `kept` of them."""

    def __init__(self, kept: int = HITS_KEPT) -> None:
        self._kept = kept
        self._hits: dict[str, int] = {}

    def count(self, canonicals: Sequence[str], verdicts: Sequence[bool]) -> None:
        """Links were seen; the new ones among them do not count."""
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


def check_urls(urls: Iterable[CrawlUrl]) -> None:
    """Raises ValueError for what could not be stored, before the visited set has seen any of it."""
    texts: list[str] = []
    for url in urls:
        if not 0 <= url.precedence < PRECEDENCES:
            raise ValueError(f"precedence must be 0 to {PRECEDENCES - 1}, got {url.precedence} for {url.url}")
        if not 0 <= url.cost < MOST_COST:
            raise ValueError(f"cost must be 0 to {MOST_COST - 1}, got {url.cost} for {url.url}")
        if "\0" in url.queue_key:
            raise ValueError(f"a queue key holds no NUL, got {url.queue_key!r} for {url.url}")
        texts += (url.url, url.canonical, url.queue_key)
    try:
        "".join(texts).encode()
    except UnicodeEncodeError as error:
        raise ValueError(f"a URL can't be written as UTF-8: {error}") from error

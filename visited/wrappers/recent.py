"""A cache in front of a visited set: most links point to URLs that the crawl has just seen."""

from collections.abc import Iterator, Sequence
from typing import BinaryIO

import msgspec

from visited.batch import check_batch, check_sequence
from visited.protocol import VisitedSet, VisitedStats, is_prompt, list_urls
from visited.url_cache import UrlCache


class RecentUrls:
    """A visited set that knows at least the last `size` URLs itself, and asks the inner set about all others.

    In a crawl like Mercator's 50,000 entries answer about 80 % of the links (Broder, Najork and Wiener 2003).
    """

    def __init__(self, inner: VisitedSet, *, size: int) -> None:
        if size < 1:
            raise ValueError(f"size must be at least 1 URL, found {size!r}; use no wrapper for no cache")
        self._inner = inner
        self.is_prompt = is_prompt(inner)
        self._recent = UrlCache(size)
        self._hits = 0
        self._misses = 0

    def recalls(self, urls: Sequence[str], /) -> bool:
        if not self._recent.are_fresh(urls):
            return False
        self._hits += len(urls)
        return True

    async def add_many(self, urls: Sequence[str], /) -> list[bool]:
        check_sequence(urls)
        due = self._recent.due(urls)
        if not due:
            self._hits += len(urls)
            return [False] * len(urls)
        check_batch(urls)  # only now: the cache has no URL that is not a str
        batch = dict.fromkeys(due)
        asked = self._recent.absent(batch)
        # The cache changes only after the inner set has answered: that may fail, or be cancelled.
        verdicts = await self._inner.add_many(asked) if asked else []
        self._misses += len(asked)
        if len(asked) < len(urls):
            self._hits += len(urls) - len(asked)
            # A URL that occurs twice in the batch is new at its first place.
            answers = dict(zip(asked, verdicts, strict=True))
            verdicts = [answers.pop(url, False) for url in urls] if answers else [False] * len(urls)
        self._recent.see(batch, asked)
        return verdicts

    def urls(self) -> Iterator[str]:
        """List the URLs of the inner set. Raises `CannotList`."""
        return list_urls(self._inner)

    async def forget_many(self, urls: Sequence[str], /) -> int:
        check_batch(urls)
        self._recent.drop(urls)
        return await self._inner.forget_many(urls)

    def describe(self) -> VisitedStats:
        stats = self._inner.describe()
        return msgspec.structs.replace(
            stats,
            memory_bytes=stats.memory_bytes + self._recent.memory_bytes,
            details={
                **stats.details,
                "recent_urls": len(self._recent),
                "recent_hits": self._hits,
                "recent_misses": self._misses,
            },
        )

    def dump(self, file: BinaryIO, /) -> None:
        self._inner.dump(file)

    def load(self, file: BinaryIO, /) -> None:
        self._recent.clear()
        self._inner.load(file)

    def __len__(self) -> int:
        return len(self._inner)

    async def aclose(self) -> None:
        self._recent.clear()
        await self._inner.aclose()

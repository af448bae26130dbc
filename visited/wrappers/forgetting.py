"""Filters that forget: exceptions to what a filter says, until it is made anew."""

from collections.abc import Iterator, Sequence
from typing import BinaryIO

import msgspec

from visited.batch import check_batch, mark_new
from visited.digests.exact import ExactSet
from visited.protocol import CannotForget, SnapshotRefused, VisitedSet, VisitedStats, clear_set, is_prompt, list_urls
from visited.snapshot import read_snapshot, write_snapshot

BACKEND = "forgetting"
_FEW = 10_000
_SHARE = 50


def check_few(left: int, count: int) -> None:
    """Raise SnapshotRefused if a filter still has more than a fiftieth of forgotten URLs, so that it is made anew from
    the ledger, without them."""
    if left > max(_FEW, count // _SHARE):
        raise SnapshotRefused(f"the filter still has {left:,} forgotten URLs beside {count:,} others; rebuild it")


class ForgettingSet:
    """A visited set that forgets, although the inner set can't.

    Forgotten URLs stay in the inner set, and in an exact set of exceptions. Such a URL is new once more when it is
    added. A snapshot with too many exceptions is refused, so that the inner set is made anew without them.
    """

    def __init__(self, inner: VisitedSet) -> None:
        self._inner = inner
        self.is_prompt = is_prompt(inner)
        self._forgotten = ExactSet()

    async def add_many(self, urls: Sequence[str], /) -> list[bool]:
        check_batch(urls)
        verdicts = await self._inner.add_many(urls)
        if not len(self._forgotten):
            return verdicts
        batch = list(dict.fromkeys(urls))
        new_again = {url for url, had in zip(batch, self._forgotten.has_many(batch), strict=True) if had}
        await self._forgotten.forget_many(list(new_again))
        mark_new(verdicts, urls, new_again)
        return verdicts

    async def forget_many(self, urls: Sequence[str], /) -> int:
        check_batch(urls)
        try:
            return await self._inner.forget_many(urls)
        except CannotForget:
            batch = list(dict.fromkeys(urls))
        # To add them is the way to ask: unknown ones become exceptions as well, and so stay new.
        verdicts = await self._inner.add_many(batch)
        excepted = await self._forgotten.add_many(batch)
        return sum(excepted) - sum(verdicts)

    def urls(self) -> Iterator[str]:
        """List the URLs of the inner set that are not forgotten. Raises `CannotList`."""
        for url in list_urls(self._inner):
            if not self._forgotten.has_many([url])[0]:
                yield url

    def describe(self) -> VisitedStats:
        inner, forgotten = self._inner.describe(), self._forgotten.describe()
        return msgspec.structs.replace(
            inner,
            count=len(self),
            memory_bytes=inner.memory_bytes + forgotten.memory_bytes,
            details={**inner.details, "forgotten_in_filter": len(self._forgotten)},
        )

    def dump(self, file: BinaryIO, /) -> None:
        write_snapshot(file, backend=BACKEND, parameters={}, state={})
        self._forgotten.dump(file)
        self._inner.dump(file)

    def load(self, file: BinaryIO, /) -> None:
        self._forgotten = ExactSet()
        forgotten = ExactSet()
        try:
            read_snapshot(file, backend=BACKEND, parameters={})
            forgotten.load(file)
            self._inner.load(file)
            check_few(len(forgotten), len(self._inner))
        except SnapshotRefused:
            clear_set(self._inner)
            raise
        self._forgotten = forgotten

    def __len__(self) -> int:
        return len(self._inner) - len(self._forgotten)

    async def aclose(self) -> None:
        await self._inner.aclose()

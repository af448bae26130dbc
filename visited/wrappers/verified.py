"""A filter whose "known" is confirmed, so that it loses nothing."""

from collections.abc import Awaitable, Callable, Sequence
from typing import BinaryIO

import msgspec

from visited.batch import check_batch
from visited.digests.exact import ExactSet
from visited.protocol import CannotForget, SnapshotRefused, VisitedSet, VisitedStats
from visited.snapshot import Value, clear_set, read_snapshot, write_snapshot

BACKEND = "verified"

Lookup = Callable[[Sequence[str]], Awaitable[Sequence[bool]]]


class Verified:
    """A visited set that asks `lookup` about every URL that the inner set calls known.

    The lookup is the truth: it must know each URL for which an earlier call has answered "new", as the frontier's
    ledger does, which writes them before it adds again. What it does not know was a false positive, and is new. Then
    a filter costs memory and a lookup for each known URL, never a page.

    Within one call the lookup can't know yet what is new in it; so the call remembers that itself. The rescued URLs,
    few, are remembered for good: they are not in the filter, and forgetting one must not take bits from others.
    """

    def __init__(self, inner: VisitedSet, lookup: Lookup) -> None:
        self._inner = inner
        self._lookup = lookup
        self._rescued = ExactSet()
        self._caught = 0
        self._confirmed = 0
        self._left_in_filter = 0

    async def add_many(self, urls: Sequence[str], /) -> list[bool]:
        check_batch(urls)
        verdicts = await self._inner.add_many(urls)
        new_now = {url for url, new in zip(urls, verdicts, strict=True) if new}
        if len(self._rescued):
            await self._move_into_filter(urls, verdicts, list(new_now))
        doubtful = [url for url in dict.fromkeys(urls) if url not in new_now]
        unknown = await self._unknown(doubtful)
        self._confirmed += len(doubtful) - len(unknown)
        if unknown:
            rescued = await self._rescued.add_many(unknown)
            missing = {url for url, new in zip(unknown, rescued, strict=True) if new}
            self._caught += len(missing)
            for place, url in enumerate(urls):
                if url in missing:
                    missing.remove(url)
                    verdicts[place] = True
        return verdicts

    async def forget_many(self, urls: Sequence[str], /) -> int:
        """Forget what the lookup knows; the caller takes it from there too.

        An inner set that can't forget is no obstacle: what it goes on calling known is looked up, and found to be new.
        """
        check_batch(urls)
        asked = list(dict.fromkeys(urls))
        missing = set(await self._unknown(asked))
        known = [url for url in asked if url not in missing]
        in_filter = [url for url, rescued in zip(known, self._rescued.has_many(known), strict=True) if not rescued]
        await self._rescued.forget_many(known)
        try:
            await self._inner.forget_many(in_filter)
        except CannotForget:
            self._left_in_filter += len(in_filter)
        return len(known)

    def describe(self) -> VisitedStats:
        inner, rescued = self._inner.describe(), self._rescued.describe()
        return msgspec.structs.replace(
            inner,
            count=len(self),
            memory_bytes=inner.memory_bytes + rescued.memory_bytes,
            false_positive_rate=0.0,
            expected_lost=0.0,
            rate_sigma=0.0,
            lost_sigma=0.0,
            details={
                **inner.details,
                "false_positives_caught": self._caught,
                "confirmed": self._confirmed,
                "unverified_false_positive_rate": inner.false_positive_rate,
            },
        )

    def dump(self, file: BinaryIO, /) -> None:
        state: dict[str, Value] = {
            "caught": self._caught,
            "confirmed": self._confirmed,
            "left_in_filter": self._left_in_filter,
        }
        write_snapshot(file, backend=BACKEND, parameters={}, state=state)
        self._rescued.dump(file)
        self._inner.dump(file)

    def load(self, file: BinaryIO, /) -> None:
        self._rescued = ExactSet()
        self._caught = self._confirmed = self._left_in_filter = 0
        try:
            snapshot = read_snapshot(file, backend=BACKEND, parameters={})
            caught, confirmed = snapshot.integer("caught"), snapshot.integer("confirmed")
            left = snapshot.integer("left_in_filter")
            rescued = ExactSet()
            rescued.load(file)
        except SnapshotRefused:
            clear_set(self._inner)
            raise
        self._inner.load(file)
        self._rescued = rescued
        self._caught, self._confirmed, self._left_in_filter = caught, confirmed, left

    def __len__(self) -> int:
        return len(self._inner) + len(self._rescued) - self._left_in_filter

    async def aclose(self) -> None:
        await self._inner.aclose()

    async def _move_into_filter(self, urls: Sequence[str], verdicts: list[bool], new_now: list[str]) -> None:
        """Rescued URLs that the filter took just now: since they were rescued, it has forgotten what hid them."""
        known = {url for url, rescued in zip(new_now, self._rescued.has_many(new_now), strict=True) if rescued}
        if known:
            await self._rescued.forget_many(list(known))
            for place, url in enumerate(urls):
                if url in known:
                    verdicts[place] = False

    async def _unknown(self, urls: list[str]) -> list[str]:
        """The URLs that the lookup does not know."""
        if not urls:
            return []
        return [url for url, known in zip(urls, await self._lookup(urls), strict=True) if not known]

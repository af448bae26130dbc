"""A filter whose false positives are corrected, so that it loses no URL."""

from collections.abc import Callable, Iterator, Sequence
from typing import BinaryIO

import msgspec

from visited.batch import check_batch, mark_new
from visited.digests.exact import ExactSet
from visited.protocol import CannotForget, SnapshotRefused, VisitedSet, VisitedStats, clear_set, is_prompt, list_urls
from visited.snapshot import Value, read_snapshot, write_snapshot
from visited.wrappers.forgetting import check_few

BACKEND = "verified"

Lookup = Callable[[Sequence[str]], Sequence[bool]]


class VerifiedSet:
    """A visited set that calls `lookup` for every URL that the inner set calls known.

    The lookup decides. It must know each URL for which an earlier call has returned True, like the frontier's ledger,
    which stores them before the next call. A URL that it does not know was a false positive, and is new. So a filter
    costs a lookup for each known URL, but never a page. Once the inner set has forgotten URLs, it may also call known
    ones new, and each new URL is looked up, too.

    Within one call the lookup does not know the new URLs of the batch yet, so the call remembers them. The few rescued
    URLs stay in memory: they are not in the filter, and forgetting one must not clear bits of other URLs.
    """

    def __init__(self, inner: VisitedSet, lookup: Lookup) -> None:
        self._inner = inner
        self.is_prompt = is_prompt(inner)
        self._lookup = lookup
        self._rescued = ExactSet()
        self._caught = 0
        self._confirmed = 0
        self._left_in_filter = 0
        self._may_lack_known = False
        """Whether the inner set may call known URLs new: it has forgotten URLs, of which some may never have been in
        it. After the set was filled from the ledger, nobody knows which ones were false positives."""

    async def add_many(self, urls: Sequence[str], /) -> list[bool]:
        check_batch(urls)
        verdicts = await self._inner.add_many(urls)
        new_now = {url for url, new in zip(urls, verdicts, strict=True) if new}
        if len(self._rescued):
            await self._move_into_filter(urls, verdicts, list(new_now))
        if self._may_lack_known:
            unknown_now = set(self._find_unknown(list(new_now)))
            verdicts = [new and url in unknown_now for url, new in zip(urls, verdicts, strict=True)]
        doubtful = [url for url in dict.fromkeys(urls) if url not in new_now]
        unknown = self._find_unknown(doubtful)
        self._confirmed += len(doubtful) - len(unknown)
        if unknown:
            rescued = await self._rescued.add_many(unknown)
            missing = {url for url, new in zip(unknown, rescued, strict=True) if new}
            self._caught += len(missing)
            mark_new(verdicts, urls, missing)
        return verdicts

    def urls(self) -> Iterator[str]:
        """List the URLs of the inner set, without rescued ones. Raises `CannotList`."""
        return list_urls(self._inner)

    async def forget_many(self, urls: Sequence[str], /) -> int:
        """Forget the URLs that the lookup knows. The caller removes them from there too.

        The inner set need not be able to forget: it may still call them known, but then the lookup finds that they are
        new.
        """
        check_batch(urls)
        asked = list(dict.fromkeys(urls))
        missing = set(self._find_unknown(asked))
        known = [url for url in asked if url not in missing]
        in_filter = [url for url, rescued in zip(known, self._rescued.has_many(known), strict=True) if not rescued]
        # Also those that the lookup lacks: a journal is replayed by the ledger of a later moment.
        await self._rescued.forget_many(asked)
        try:
            if await self._inner.forget_many(in_filter):
                self._may_lack_known = True
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
            "may_lack_known": self._may_lack_known,
        }
        write_snapshot(file, backend=BACKEND, parameters={}, state=state)
        self._rescued.dump(file)
        self._inner.dump(file)

    def load(self, file: BinaryIO, /) -> None:
        self._rescued = ExactSet()
        self._caught = self._confirmed = self._left_in_filter = 0
        self._may_lack_known = False
        try:
            snapshot = read_snapshot(file, backend=BACKEND, parameters={})
            caught, confirmed = snapshot.integer("caught"), snapshot.integer("confirmed")
            left, may_lack_known = snapshot.integer("left_in_filter"), bool(snapshot.integer("may_lack_known"))
            rescued = ExactSet()
            rescued.load(file)
            self._inner.load(file)
            check_few(left, len(self._inner))
        except SnapshotRefused:
            clear_set(self._inner)
            raise
        self._rescued = rescued
        self._may_lack_known = may_lack_known
        self._caught, self._confirmed, self._left_in_filter = caught, confirmed, left

    def __len__(self) -> int:
        # A set that was filled from the ledger counts none of the filter's errors, because the lookup knows them all.
        return max(0, len(self._inner) + len(self._rescued) - self._left_in_filter)

    async def aclose(self) -> None:
        await self._inner.aclose()

    async def _move_into_filter(self, urls: Sequence[str], verdicts: list[bool], new_now: list[str]) -> None:
        """Handle rescued URLs that the filter has just accepted, because it has forgotten the URLs that hid them."""
        known = {url for url, rescued in zip(new_now, self._rescued.has_many(new_now), strict=True) if rescued}
        if known:
            await self._rescued.forget_many(list(known))
            for place, url in enumerate(urls):
                if url in known:
                    verdicts[place] = False

    def _find_unknown(self, urls: list[str]) -> list[str]:
        """Return the URLs that the lookup does not know."""
        if not urls:
            return []
        return [url for url, known in zip(urls, self._lookup(urls), strict=True) if not known]

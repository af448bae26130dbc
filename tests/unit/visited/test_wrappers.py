"""What stands around a visited set: recent URLs, verification, white list, shards."""

import asyncio
import io
import random
from collections.abc import Sequence
from typing import BinaryIO

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.visited.sets import urls_of
from visited import CannotForget, SnapshotRefused, VisitedSet, VisitedStats
from visited.baselines.raw_urls import RawUrlSet
from visited.digests.exact import ExactSet
from visited.filters.bloom import BloomSet
from visited.filters.counting import CountingSet
from visited.wrappers.recent import RecentUrls
from visited.wrappers.sharded import ShardedSet
from visited.wrappers.verified import VerifiedSet
from visited.wrappers.whitelist import WhiteListSet


class Asked:
    """An exact set that keeps what it was asked, and fails or waits when it is told to."""

    def __init__(self) -> None:
        self._inner = ExactSet()
        self.batches: list[list[str]] = []
        self.fails = False
        self.waits: list[asyncio.Event] = []
        """What the answers of the next requests wait for."""

    async def add_many(self, urls: Sequence[str], /) -> list[bool]:
        self.batches.append(list(urls))
        if self.fails:
            raise OSError("no space left on device")
        verdicts = await self._inner.add_many(urls)
        if self.waits:
            await self.waits.pop(0).wait()
        return verdicts

    async def forget_many(self, urls: Sequence[str], /) -> int:
        return await self._inner.forget_many(urls)

    def describe(self) -> VisitedStats:
        return self._inner.describe()

    def dump(self, file: BinaryIO, /) -> None:
        self._inner.dump(file)

    def load(self, file: BinaryIO, /) -> None:
        self._inner.load(file)

    def __len__(self) -> int:
        return len(self._inner)

    async def aclose(self) -> None:
        await self._inner.aclose()


class Ledger:
    """What a frontier remembers of the URLs that were new."""

    def __init__(self) -> None:
        self.urls: set[str] = set()
        self.asked = 0

    def lookup(self, urls: Sequence[str]) -> list[bool]:
        self.asked += len(urls)
        return [url in self.urls for url in urls]

    async def add(self, visited: VisitedSet, urls: list[str]) -> list[bool]:
        verdicts = await visited.add_many(urls)
        self.urls.update(url for url, new in zip(urls, verdicts, strict=True) if new)
        return verdicts


async def test_recent_urls_are_not_asked_for_again() -> None:
    inner = Asked()
    visited = RecentUrls(inner, size=3)
    assert await visited.add_many(["a", "b", "a"]) == [True, True, False]
    assert await visited.add_many(["b", "c", "a"]) == [False, True, False]
    assert inner.batches == [["a", "b"], ["c"]]
    assert await visited.add_many(["a", "b"]) == [False, False]
    assert inner.batches == [["a", "b"], ["c"]]


async def test_the_one_that_was_met_longest_ago_makes_room() -> None:
    inner = Asked()
    visited = RecentUrls(inner, size=2)
    await visited.add_many(["a", "b"])
    await visited.add_many(["a"])
    await visited.add_many(["c"])
    await visited.add_many(["a"])
    assert inner.batches == [["a", "b"], ["c"]]
    await visited.add_many(["b"])
    assert inner.batches[-1] == ["b"]
    assert visited.describe().details["recent_urls"] == 2


@given(
    size=st.integers(1, 100),
    seed=st.integers(0, 1000),
    known=st.integers(1, 300),
)
@settings(max_examples=60, deadline=None)
async def test_at_least_the_last_urls_are_known_and_not_many_more(size: int, seed: int, known: int) -> None:
    chance = random.Random(seed)
    inner = Asked()
    visited = RecentUrls(inner, size=size)
    seen: dict[str, None] = {}
    for _ in range(150):
        batch = [str(int(known ** chance.random())) for _ in range(chance.randrange(1, 12))]
        asked = len(inner.batches)
        await visited.add_many(batch)
        last = list(seen)[-size:]
        assert not set(last) & {url for urls in inner.batches[asked:] for url in urls}
        for url in batch:
            seen.pop(url, None)
        seen |= dict.fromkeys(batch)
        stats = visited.describe()
        recent = stats.details["recent_urls"]
        assert isinstance(recent, int)
        assert recent <= size + 2 * (size // 16)
    assert visited.describe().details["recent_misses"] == sum(map(len, inner.batches))


async def test_only_urls_that_were_met_just_now_are_recalled() -> None:
    inner = Asked()
    visited = RecentUrls(inner, size=32)
    await visited.add_many(["a", "b"])
    assert visited.recalls(["a", "b", "a"])
    assert not visited.recalls(["a", "c"])
    assert await visited.add_many(["c"]) == [True]
    assert not visited.recalls(["a"])  # more than a sixteenth of the size was fresh: nothing is any more
    assert await visited.add_many(["a"]) == [False]
    assert visited.recalls(["a"])
    await visited.forget_many(["a"])
    assert not visited.recalls(["a"])
    details = visited.describe().details
    assert (details["recent_hits"], details["recent_misses"]) == (5, 3)


async def test_hits_are_counted() -> None:
    visited = RecentUrls(ExactSet(), size=10)
    await visited.add_many(["a", "b", "a"])
    await visited.add_many(["a", "c"])
    details = visited.describe().details
    assert (details["recent_hits"], details["recent_misses"]) == (2, 3)


async def test_what_the_inner_set_did_not_take_is_not_remembered() -> None:
    inner = Asked()
    visited = RecentUrls(inner, size=10)
    inner.fails = True
    with pytest.raises(OSError, match="no space"):
        await visited.add_many(["a"])
    inner.fails = False
    assert await visited.add_many(["a"]) == [True]


async def test_a_forgotten_url_is_new_again_however_late_an_answer_about_it_was() -> None:
    inner, url = Asked(), "https://example.org/"
    visited = RecentUrls(inner, size=160)
    soon, late = asyncio.Event(), asyncio.Event()
    inner.waits += [soon, late]
    async with asyncio.TaskGroup() as tasks:
        first = tasks.create_task(visited.add_many([url]))
        tasks.create_task(visited.add_many([url]))
        await asyncio.sleep(0)
        soon.set()
        await first
        for other in urls_of(0, 175):
            await visited.add_many([other])
        late.set()
    await visited.add_many(urls_of(175, 182))
    await visited.forget_many([url])
    assert await visited.add_many([url]) == [True]


def test_a_cache_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="at least 1 URL"):
        RecentUrls(ExactSet(), size=0)


async def test_most_links_of_a_crawl_are_answered_by_a_small_cache() -> None:
    """Links go mostly to few URLs: by Zipf's law, a cache for a tenth of them answers most."""
    chance = random.Random(1)
    visited = RecentUrls(ExactSet(), size=2_000)
    for _ in range(300):
        await visited.add_many([f"http://h/{int(20_000 ** chance.random())}" for _ in range(60)])
    details = visited.describe().details
    hits, misses = details["recent_hits"], details["recent_misses"]
    assert isinstance(hits, int)
    assert isinstance(misses, int)
    assert hits / (hits + misses) > 0.6


async def test_a_verified_filter_loses_nothing_and_counts_what_it_would_have_lost() -> None:
    ledger = Ledger()
    visited = VerifiedSet(BloomSet(capacity=200, error_rate=0.3), ledger.lookup)
    for start in range(0, 2_000, 50):
        assert await ledger.add(visited, urls_of(start, start + 50)) == [True] * 50
        assert await ledger.add(visited, urls_of(0, start + 50)) == [False] * (start + 50)
    stats = visited.describe()
    caught = stats.details["false_positives_caught"]
    assert isinstance(caught, int)
    assert caught > 1_000
    assert stats.count == len(visited) == 2_000
    assert (stats.false_positive_rate, stats.expected_lost) == (0, 0)
    unverified = stats.details["unverified_false_positive_rate"]
    assert isinstance(unverified, float)
    assert unverified > 0.5


async def test_new_urls_are_not_looked_up() -> None:
    ledger = Ledger()
    visited = VerifiedSet(BloomSet(capacity=1_000, error_rate=1e-6), ledger.lookup)
    await ledger.add(visited, [*urls_of(0, 500), *urls_of(0, 500)])
    assert ledger.asked == 0
    await ledger.add(visited, urls_of(0, 500))
    assert ledger.asked == 500


async def test_a_rescued_url_is_new_once_in_its_batch_and_also_where_the_ledger_lags() -> None:
    ledger = Ledger()
    full = BloomSet(capacity=1, error_rate=0.5)
    await full.add_many(urls_of(0, 500))
    visited = VerifiedSet(full, ledger.lookup)
    assert await visited.add_many(["a", "b", "a"]) == [True, True, False]
    assert await visited.add_many(["b", "c"]) == [False, True]
    ledger.urls.update("abc")
    assert await visited.add_many(["a", "b", "c"]) == [False] * 3


async def test_forgetting_a_rescued_url_takes_no_bits_from_others() -> None:
    ledger = Ledger()
    visited = VerifiedSet(CountingSet(capacity=200, error_rate=0.3), ledger.lookup)
    urls = urls_of(0, 1_000)
    for start in range(0, 1_000, 40):
        await ledger.add(visited, urls[start : start + 40])
    for start in range(0, 500, 40):
        gone = urls[start : min(start + 40, 500)]
        assert await visited.forget_many(gone) == len(gone)
        ledger.urls.difference_update(gone)
    assert len(visited) == 500
    assert await ledger.add(visited, urls) == [True] * 500 + [False] * 500


async def test_a_rescued_url_is_not_new_when_what_hid_it_is_forgotten() -> None:
    ledger = Ledger()
    visited = VerifiedSet(CountingSet(capacity=100, error_rate=0.3), ledger.lookup)
    urls = urls_of(0, 600)
    for start in range(0, 600, 20):
        await ledger.add(visited, urls[start : start + 20])
    gone = urls[:200]
    assert await visited.forget_many(gone) == 200
    ledger.urls.difference_update(gone)
    assert await ledger.add(visited, urls[200:]) == [False] * 400
    assert len(visited) == 400


async def test_a_verified_filter_can_forget_even_where_the_filter_can_not() -> None:
    ledger = Ledger()
    bloom = BloomSet(capacity=1_000, error_rate=0.001)
    with pytest.raises(CannotForget):
        await bloom.forget_many(["a"])
    visited = VerifiedSet(bloom, ledger.lookup)
    await ledger.add(visited, ["a", "b"])
    assert await visited.forget_many(["a", "x"]) == 1
    ledger.urls.discard("a")
    assert len(visited) == 1
    assert await ledger.add(visited, ["a", "b"]) == [True, False]
    assert len(visited) == 2


async def test_what_a_journal_says_was_forgotten_is_new_again_although_the_ledger_lacks_it_already() -> None:
    ledger = Ledger()
    visited = VerifiedSet(BloomSet(capacity=1_000, error_rate=1e-6), ledger.lookup)
    await ledger.add(visited, ["a"])
    await visited.forget_many(["a"])
    ledger.urls.discard("a")
    assert await ledger.add(visited, ["a"]) == [True]
    ledger.urls.discard("a")  # the process died before it saved that the set has forgotten it too
    await visited.forget_many(["a"])
    assert await ledger.add(visited, ["a"]) == [True]


async def test_forgetting_calls_no_known_url_new_after_the_set_was_filled_from_the_ledger() -> None:
    """The lookup knows all URLs meanwhile, so nobody notices which of them are false positives."""
    ledger, urls = Ledger(), urls_of(0, 1_000)
    ledger.urls.update(urls)
    visited = VerifiedSet(CountingSet(capacity=1_000, error_rate=0.05), ledger.lookup)
    for start in range(0, 1_000, 50):
        await visited.add_many(urls[start : start + 50])
    assert await visited.forget_many(urls[:500]) == 500
    ledger.urls.difference_update(urls[:500])
    saved = io.BytesIO()
    visited.dump(saved)
    loaded = VerifiedSet(CountingSet(capacity=1_000, error_rate=0.05), ledger.lookup)
    loaded.load(io.BytesIO(saved.getvalue()))
    for each in (visited, loaded):
        assert await each.add_many(urls[500:]) == [False] * 500
        assert await each.add_many(urls[:500]) == [True] * 500


async def test_a_white_listed_url_is_never_swallowed() -> None:
    full = BloomSet(capacity=1, error_rate=0.5)
    await full.add_many(urls_of(0, 500))
    assert await full.add_many(["http://must/1"]) == [False]
    visited = WhiteListSet(full, ["http://must/1", "http://must/2"])
    assert await visited.add_many(["http://must/1", "x", "http://must/1"]) == [True, False, False]
    assert await visited.add_many(["http://must/2"]) == [True]
    assert visited.describe().details["white_list_met"] == 2
    file = io.BytesIO()
    visited.dump(file)
    again = WhiteListSet(BloomSet(capacity=1, error_rate=0.5), ["http://must/1", "http://must/2"])
    again.load(io.BytesIO(file.getvalue()))
    assert await again.add_many(["http://must/1", "http://must/2"]) == [False, False]
    other = WhiteListSet(BloomSet(capacity=1, error_rate=0.5), ["http://must/1"])
    with pytest.raises(SnapshotRefused, match="digest"):
        other.load(io.BytesIO(file.getvalue()))


async def test_shards_share_the_urls_evenly() -> None:
    visited = ShardedSet([RawUrlSet() for _ in range(4)])
    await visited.add_many(urls_of(0, 8_000))
    details = visited.describe().details
    # 2,000 each, and five standard deviations of a binomial law.
    assert isinstance(details["fewest_in_a_shard"], int)
    assert isinstance(details["most_in_a_shard"], int)
    assert 1_800 < details["fewest_in_a_shard"] <= details["most_in_a_shard"] < 2_200


async def test_sharding_leaves_the_rate_of_the_shards_as_it_is() -> None:
    """The shard is chosen by another hash than the bits: else each filter would see only URLs that look alike to it."""
    visited = ShardedSet([BloomSet(capacity=5_000, error_rate=0.01) for _ in range(4)])
    await visited.add_many(urls_of(0, 20_000))
    rate = visited.describe().false_positive_rate
    lost = 30_000 - sum(await visited.add_many(urls_of(20_000, 50_000)))
    assert rate == pytest.approx(0.01, rel=0.1)
    assert lost == pytest.approx(visited.describe().expected_lost, rel=0.1)


async def test_a_snapshot_of_other_shards_is_refused_and_all_shards_are_empty() -> None:
    first = ShardedSet([ExactSet(), ExactSet()])
    await first.add_many(urls_of(0, 100))
    file = io.BytesIO()
    first.dump(file)
    second = ShardedSet([ExactSet(), ExactSet()])
    await second.add_many(urls_of(0, 50))
    with pytest.raises(SnapshotRefused, match="shard 1 of 2"):
        second.load(io.BytesIO(file.getvalue()[:-10]))
    assert len(second) == 0
    third = ShardedSet([ExactSet()] * 3)
    with pytest.raises(SnapshotRefused, match="shards = 2, this set has 3"):
        third.load(io.BytesIO(file.getvalue()))
    with pytest.raises(ValueError, match="at least one"):
        ShardedSet([])

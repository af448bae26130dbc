"""What a visited set answers, and what it says about itself."""

import math
import random
from contextlib import aclosing, suppress
from pathlib import Path
from typing import Any, Final

import msgspec
import pytest

from crawler.testing.loops import in_event_loop
from crawler.testing.visited.suite import Make, VisitedSetSuite, dump_and_close, load, urls_of
from visited import CannotForget, CannotList, ListingSet, is_prompt
from visited.descriptor import Cost, Descriptor

STRANGE: Final = (
    *("", " ", "a\x00b", "é", "e\u0301", "\ud800", "\udcff\ud800", "😀"),
    *("a" * 100_000, "http://x/\n", "http://\udcff/"),
)
"""Strings that no URL parser would let pass."""
_MANY: Final = 5_000


class AnswerTests(VisitedSetSuite):
    """A URL is new once."""

    @in_event_loop
    async def test_a_url_is_new_once(self, make: Make) -> None:
        async with aclosing(make()) as visited:
            urls = urls_of(0, 500)
            assert await visited.add_many(urls) == [True] * 500
            assert await visited.add_many(urls) == [False] * 500
            assert len(visited) == 500

    @in_event_loop
    async def test_a_set_that_says_that_it_never_waits_does_not(self, make: Make) -> None:
        async with aclosing(make()) as visited:
            if is_prompt(visited):
                for urls in (urls_of(0, 500), urls_of(200, 2_000)):
                    with pytest.raises(StopIteration):
                        visited.add_many(urls).send(None)
                with pytest.raises((StopIteration, CannotForget)):
                    visited.forget_many(urls_of(0, 10)).send(None)

    @in_event_loop
    async def test_a_url_that_stands_twice_in_a_batch_is_new_once(self, make: Make) -> None:
        async with aclosing(make()) as visited:
            one, two = urls_of(0, 2)
            assert await visited.add_many([one, two, one, one, two]) == [True, True, False, False, False]
            assert len(visited) == 2

    @in_event_loop
    async def test_an_empty_batch_changes_nothing(self, make: Make) -> None:
        async with aclosing(make()) as visited:
            assert await visited.add_many([]) == []
            assert len(visited) == 0

    @in_event_loop
    async def test_any_string_is_a_url_to_it(self, make: Make) -> None:
        visited = make()
        assert await visited.add_many(STRANGE) == [True] * len(STRANGE)
        assert await visited.add_many(STRANGE[::-1]) == [False] * len(STRANGE)
        again = load(make, await dump_and_close(visited)) if self.has_snapshots else visited
        assert await again.add_many(STRANGE) == [False] * len(STRANGE)
        await again.aclose()

    @in_event_loop
    async def test_a_batch_that_is_no_sequence_of_strings_is_refused_and_changes_nothing(self, make: Make) -> None:
        """`visited.batch.check_batch` checks it."""
        async with aclosing(make()) as visited:
            with pytest.raises(TypeError, match="int"):
                await visited.add_many(["http://a/", 7])  # type: ignore[list-item]
            with pytest.raises(TypeError, match="str"):
                await visited.add_many("http://a/")
            for batch in (iter(["http://a/"]), {"http://a/"}, {"http://a/": 1}):
                with pytest.raises(TypeError, match=type(batch).__name__):
                    await visited.add_many(batch)  # type: ignore[arg-type]
                with pytest.raises((TypeError, CannotForget), match=r".+"):
                    await visited.forget_many(batch)  # type: ignore[arg-type]
            assert len(visited) == 0
            assert await visited.add_many(["http://a/"]) == [True]

    @in_event_loop
    async def test_the_way_urls_are_cut_into_batches_does_not_matter(self, make: Make, tmp_path: Path) -> None:
        chance = random.Random(3)
        known = urls_of(0, 900)
        urls = [chance.choice(known) for _ in range(2_000)]
        visited = make()
        whole = await visited.add_many(urls)
        await visited.aclose()
        other = self.make_set(tmp_path / "other")
        verdicts: list[bool] = []
        start = 0
        while start < len(urls):
            batch = urls[start : start + chance.randint(1, 90)]
            verdicts += await other.add_many(batch)
            start += len(batch)
        assert verdicts == whole
        await other.aclose()

    @in_event_loop
    async def test_it_can_be_asked_without_remembering(self, make: Make) -> None:
        """`has_many`, which a comparison calls. A set without a descriptor may lack it."""
        async with aclosing(make()) as visited:
            if self.descriptor is None and not hasattr(visited, "has_many"):
                pytest.skip("it can't be asked without remembering")
            local: Any = visited
            urls = [*urls_of(0, 200), *STRANGE]
            await visited.add_many(urls)
            for _ in range(2):
                assert local.has_many([*urls_of(200, 300), *urls, urls[0]]) == [False] * 100 + [True] * (len(urls) + 1)
            assert local.has_many([]) == []
            assert len(visited) == len(urls)
            assert await visited.add_many(urls_of(200, 300)) == [True] * 100
            with suppress(CannotForget):
                await visited.forget_many(urls[:50])
                assert local.has_many(urls) == [False] * 50 + [True] * (len(urls) - 50)

    @in_event_loop
    async def test_stats_add_up(self, make: Make) -> None:
        async with aclosing(make()) as visited:
            before = visited.describe()
            assert before.count == 0
            assert before.expected_lost == 0
            await visited.add_many(urls_of(0, 800))
            stats = visited.describe()
            assert stats.count == len(visited) == 800
            assert stats.memory_bytes > 0
            assert 0 <= stats.false_positive_rate < 0.02
            assert 0 <= stats.expected_lost < 8
            assert stats.fill is None or 0 < stats.fill < 1
            assert stats.backend
            assert msgspec.json.decode(msgspec.json.encode(stats), type=type(stats)) == stats

    @in_event_loop
    async def test_forgotten_urls_are_new_again_or_it_says_that_it_can_not_forget(self, make: Make) -> None:
        async with aclosing(make()) as visited:
            urls = urls_of(0, 300)
            await visited.add_many(urls)
            try:
                assert await visited.forget_many([*urls[:100], *urls_of(5_000, 5_100)]) == 100
            except CannotForget:
                assert len(visited) == 300
                assert await visited.add_many(urls) == [False] * 300
            else:
                assert len(visited) == 200
                assert await visited.forget_many(urls[:100]) == 0
                assert await visited.add_many(urls) == [True] * 100 + [False] * 200
                assert await visited.forget_many([urls[0], urls[0]]) == 1

    @in_event_loop
    async def test_it_lists_the_urls_that_it_called_new_if_it_keeps_them(self, make: Make) -> None:
        visited = make()
        if not isinstance(visited, ListingSet):
            await visited.aclose()
            pytest.skip("it does not list URLs")
        urls = [*urls_of(0, 300), *STRANGE]
        await visited.add_many([*urls, *urls[::3]])
        try:
            assert sorted(visited.urls()) == sorted(urls)
        except CannotList:
            await visited.aclose()
            pytest.skip("it does not keep its URLs")
        with suppress(CannotForget):
            await visited.forget_many(urls[:50])
            urls = urls[50:]
        assert sorted(visited.urls()) == sorted(urls)
        again = load(make, await dump_and_close(visited))
        assert isinstance(again, ListingSet)
        assert sorted(again.urls()) == sorted(urls)
        await again.aclose()

    @in_event_loop
    async def test_closing_twice_is_harmless(self, make: Make) -> None:
        visited = make()
        await visited.add_many(urls_of(0, 3))
        await visited.aclose()
        await visited.aclose()


class DescriptionTests(VisitedSetSuite):
    """Configuration, comparison and advice believe the descriptor."""

    @pytest.fixture
    def described(self) -> Descriptor:
        if self.descriptor is None:
            pytest.skip("this set has no descriptor")
        return self.descriptor

    def test_its_options_have_defaults(self, described: Descriptor) -> None:
        assert msgspec.convert({}, described.options) == described.options()

    def test_its_formula_tells_what_it_costs(self, described: Descriptor) -> None:
        """Advice and `auto` compare it with others for any number of URLs."""
        if described.cost is None:
            pytest.skip("it has no formula for its cost")
        options = msgspec.convert(self.options, described.options)
        for count in (1, 1_000, 10**6, 10**9):
            for error_rate in (0.5, 0.01, 1e-9):
                cost = described.cost(count, error_rate, options)
                assert isinstance(cost, Cost)
                assert 0 <= cost.memory_bytes < math.inf
                assert 0 <= cost.disk_bytes < math.inf
                assert 0 <= cost.false_positive_rate <= 1
                assert 0 <= cost.expected_lost <= count
                assert not described.is_exact or cost.false_positive_rate == cost.expected_lost == 0

    @in_event_loop
    async def test_it_can_forget_if_its_descriptor_says_so(self, make: Make, described: Descriptor) -> None:
        async with aclosing(make()) as visited:
            await visited.add_many(urls_of(0, 100))
            if described.can_forget:
                assert await visited.forget_many(urls_of(0, 10)) == 10
            else:
                with pytest.raises(CannotForget):
                    await visited.forget_many(urls_of(0, 10))

    @in_event_loop
    async def test_it_is_exact_if_its_descriptor_says_so(self, make: Make, described: Descriptor) -> None:
        async with aclosing(make()) as visited:
            await visited.add_many(urls_of(0, _MANY))
            assert (visited.describe().false_positive_rate == 0) == described.is_exact

    @in_event_loop
    async def test_it_writes_files_only_if_it_has_a_folder(
        self, make: Make, described: Descriptor, tmp_path: Path
    ) -> None:
        visited = make()
        await visited.add_many(urls_of(0, _MANY))
        await visited.aclose()
        assert bool(list(tmp_path.iterdir())) == (described.folder is not None)

"""What a visited set on a server promises to those who share it."""

import pytest

from crawler.testing.loops import in_event_loop
from crawler.testing.visited.suite import VisitedSetSuite, urls_of
from visited import Forgotten, SharedSet, Unsaved, VisitedSet


class SharingTests(VisitedSetSuite):
    """Several clients of one set. `make_sharing` makes one of them; `lose_memory` lets the server forget all."""

    has_snapshots = False

    def make_sharing(self) -> VisitedSet:
        """A client of the same set at each call, until `lose_memory`."""
        raise NotImplementedError

    def lose_memory(self) -> None:
        raise NotImplementedError

    @in_event_loop
    async def test_a_url_is_new_to_one_of_those_who_share_the_set(self) -> None:
        first, second = self.make_sharing(), self.make_sharing()
        assert await first.add_many(urls_of(0, 700)) == [True] * 700
        assert await second.add_many(urls_of(300, 1_500)) == [False] * 400 + [True] * 800
        assert await first.add_many(urls_of(0, 1_501)) == [False] * 1_500 + [True]
        assert len(first) == 1_501
        await first.aclose()
        await second.aclose()

    @in_event_loop
    async def test_it_outlives_those_who_ask_it(self) -> None:
        first = self.make_sharing()
        await first.add_many(urls_of(0, 50))
        await first.aclose()
        second = self.make_sharing()
        assert await second.add_many(urls_of(0, 60)) == [False] * 50 + [True] * 10
        assert len(second) == 60
        await second.aclose()

    @in_event_loop
    async def test_a_memory_has_one_name_until_it_is_lost(self) -> None:
        first, second = _shared(self.make_sharing()), _shared(self.make_sharing())
        memory = await first.connect()
        assert await second.connect() == memory
        first.trust(memory)
        assert await first.add_many(urls_of(0, 20)) == [True] * 20
        self.lose_memory()
        with pytest.raises(Forgotten, match=r".+"):
            await first.add_many(urls_of(20, 30))
        changed = await first.connect()
        assert changed != memory
        with pytest.raises(Forgotten, match=r".+"):
            await first.add_many(urls_of(20, 30))
        await first.fill([*urls_of(0, 20), *urls_of(0, 5)])
        first.trust(changed)
        assert await first.add_many(urls_of(20, 30)) == [True] * 10  # it had remembered none of them
        assert await second.add_many(urls_of(0, 31)) == [False] * 30 + [True]  # it trusts none in particular
        assert await second.connect() == changed
        for each in (first, second):
            await each.aclose()

    @in_event_loop
    async def test_it_asks_only_about_urls_that_it_does_not_know_itself(self) -> None:
        visited = _shared(self.make_sharing())
        one, two = urls_of(0, 2)
        assert visited.asks([one, two, one]) == [one, two]
        await visited.add_many([one])
        assert two in visited.asks([one, two])
        await visited.aclose()

    @in_event_loop
    async def test_it_has_no_snapshots_and_says_so(self) -> None:
        visited = self.make_sharing()
        with pytest.raises(Unsaved, match="snapshot"):
            visited.dump(None)  # type: ignore[arg-type]
        with pytest.raises(Unsaved, match="snapshot"):
            visited.load(None)  # type: ignore[arg-type]
        await visited.aclose()


def _shared(visited: VisitedSet) -> SharedSet:
    assert isinstance(visited, SharedSet)
    return visited

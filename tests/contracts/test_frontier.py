"""The promises of every frontier, kept by ours."""

import msgspec
import pytest

from crawler.shared_pace.frontier import PacedFrontier, PaceGroup
from crawler.shared_pace.table import PaceTable
from crawler.testing import FrontierContract
from crawler.testing.frontier.crawls import Crawl, Opening, no_lease_for, page, settle
from crawler.testing.loops import in_virtual_time
from frontier import CrawlUrl, Frontier
from frontier.backends import descriptor
from frontier.descriptor import Parameters
from frontier.memory.store import MemoryStore
from frontier.shell import QueueFrontier
from frontier.states.store_state import StoreState
from frontier.terms import Terms
from tests.contracts.active_queues import ActiveQueueTests
from tests.contracts.parts import PART, PartFrontier, owner
from tests.unit.frontier.crawls import open_over

UNSTORABLE = {
    "precedence must be": page("a", "low", precedence=-1),
    "precedence must be 0 to 255": page("a", "high", precedence=256),
    "must not contain NUL": CrawlUrl(url="http://a.test/", canonical="http://a.test/", queue_key="a\0b"),
    "can't be encoded": CrawlUrl(url="http://a.test/", canonical="http://a.test/\ud800", queue_key="a"),
}


def state_in_memory(store: MemoryStore, opening: Opening) -> StoreState[MemoryStore]:
    return StoreState(store, Parameters(terms=Terms(identity={}), settings=opening.settings, clock=opening.clock))


class OurContract(ActiveQueueTests):
    """What our frontier promises beyond, whatever store it has."""

    @pytest.mark.parametrize("message", UNSTORABLE)
    @in_virtual_time
    async def test_the_refusal_of_a_url_says_why(self, crawl: Crawl, message: str) -> None:
        async with crawl.opened() as frontier:
            with pytest.raises(ValueError, match=message):
                await frontier.add([page("a", "good"), UNSTORABLE[message]])
            assert await frontier.add([page("a", "good")]) == 1
            assert len(crawl.visited) == 1

    @in_virtual_time
    async def test_waits_that_are_cancelled_leave_nothing(self, crawl: Crawl) -> None:
        async with crawl.opened() as frontier:
            assert isinstance(frontier, QueueFrontier)
            await frontier.add([page("a")])
            lease = await anext(frontier)
            for _ in range(50):
                assert await no_lease_for(frontier, 1)
            assert not frontier._active.waiters.waiting
            await settle(frontier, lease)


class TestMemory(OurContract):
    descriptor = descriptor("memory")
    can_reopen = True

    @pytest.fixture(autouse=True)
    def _store(self) -> None:
        self.store = MemoryStore()

    async def open(self, opening: Opening) -> QueueFrontier:
        return await open_over(self.store, opening)

    def open_state(self, opening: Opening) -> StoreState[MemoryStore]:
        return state_in_memory(self.store, opening)


class TestLevelDB(OurContract):
    descriptor = descriptor("leveldb")


class TestPartOfACrawl(FrontierContract):
    """A part as it runs: behind the limit of pages of all parts."""

    descriptor = descriptor("leveldb")

    def parameters(self, opening: Opening) -> Parameters:
        parameters = super().parameters(opening)
        terms = msgspec.structs.replace(parameters.terms, part=PART)
        return msgspec.structs.replace(parameters, terms=terms, owner=owner)

    async def open(self, opening: Opening) -> Frontier:
        inner = await super().open(opening)
        assert isinstance(inner, QueueFrontier)
        return await PartFrontier.open(inner)


class TestPaceSharedWithOtherCrawls(FrontierContract):
    """A crawl of a daemon whose hosts no other crawl asks."""

    descriptor = descriptor("memory")
    can_reopen = True

    @pytest.fixture(autouse=True)
    def _store(self, tmp_path_factory: pytest.TempPathFactory) -> None:
        self.store = MemoryStore()
        self.pace = tmp_path_factory.mktemp("pace") / "pace"

    async def open(self, opening: Opening) -> Frontier:
        inner, settings = await open_over(self.store, opening), opening.settings

        def groups_of(queue_key: str, _: str, address: str | None) -> list[PaceGroup]:
            names = settings.grouping.groups_of(queue_key, address)
            limits = {name: settings.grouping.limit_of(name) for name in names}
            return [
                PaceGroup(name=f"host {queue_key}", at_once=64, delay_s=0.0, shares_cooldown=True),
                *(
                    PaceGroup(
                        name=name,
                        at_once=limit.at_once or 64,
                        delay_s=limit.rest_s,
                        shares_cooldown=limit.shares_cooldown,
                    )
                    for name, limit in limits.items()
                ),
            ]

        table = PaceTable(self.pace, clock=opening.clock)
        return PacedFrontier(
            inner,
            table,
            groups_of,
            prerequisite_of=lambda _: None,
            rest_alone_of=lambda _: None,
            host_rest_of=lambda _: 0.0,
        )

    def open_state(self, opening: Opening) -> StoreState[MemoryStore]:
        return state_in_memory(self.store, opening)

"""Random crawls that are divided on their way end with the same pages as one that is not."""

import asyncio
import shutil
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given, settings
from hypothesis import strategies as st

from crawler.testing.frontier.crawls import DONE
from crawler.testing.loops import in_virtual_time
from frontier import CrawlUrl, Lease, Place
from frontier.queues.lifecycle import IllegalTransition
from frontier.shell import QueueFrontier
from tests.unit.frontier.regrouping import Divided, url_at

PAGES = 40
HOSTS = 9


def page(number: int) -> CrawlUrl:
    return url_at(f"h{number % HOSTS}", f"{number}")


def links_of(url: str) -> list[CrawlUrl]:
    number = int(url.rpartition("/")[2])
    return [page((number * 7 + 1) % PAGES), page((number * 3 + 5) % PAGES), page((number + 1) % PAGES)]


def reachable() -> set[str]:
    found: set[str] = set()
    waiting = [page(0).url]
    while waiting:
        url = waiting.pop()
        if url not in found:
            found.add(url)
            waiting += [link.url for link in links_of(url)]
    return found


class Walk:
    """A crawl in parts without processes: frontiers that are opened together, and links that are carried by hand."""

    def __init__(self, base: Path) -> None:
        self.divided = Divided(base)
        self.done: list[str] = []
        self.leases: list[tuple[int, Lease]] = []
        self.frontiers: list[QueueFrontier] = []

    async def open(self) -> None:
        self.frontiers = [await self.divided.open(number) for number in range(len(self.divided.parts))]
        for frontier in self.frontiers:
            own = [url for url in [page(0)] if frontier.part_links is None or frontier.part_links.owns(url.queue_key)]
            await frontier.add(own)

    async def close(self, *, dies: bool) -> None:
        """End all frontiers; if they die, with what is on the disk at this moment."""
        moments = [(place.directory, place.directory.with_name("moment")) for place in self.divided.parts]
        for directory, moment in moments if dies else []:
            shutil.copytree(directory, moment)
        for number, lease in self.leases:
            self.frontiers[number].release(lease)
        self.leases.clear()
        for frontier in self.frontiers:
            await frontier.aclose()
        for directory, moment in moments if dies else []:
            shutil.rmtree(directory)
            moment.rename(directory)

    async def lease(self, choice: int) -> None:
        number = choice % len(self.frontiers)
        if self.frontiers[number].describe().ready_queues:
            self.leases.append((number, await anext(self.frontiers[number])))

    async def settle(self, choice: int) -> None:
        if not self.leases:
            return
        number, lease = self.leases.pop(choice % len(self.leases))
        frontier = self.frontiers[number]
        await frontier.add(links_of(lease.url.url))
        match choice % 5:
            case 0 if lease.url.attempt < 2:
                await frontier.retry(lease, after_s=float(choice % 50), cooldown_s=1.0, reason="no-answer")
            case 1 if lease.url.attempt < 2:
                await frontier.retry(lease, after_s=None, cooldown_s=float(choice % 9))
            case 2:
                frontier.release(lease, cooldown_s=2.0)
            case _:
                await frontier.done(lease, cooldown_s=float(choice % 3), outcome=DONE)
                self.done.append(lease.url.url)

    async def carry(self, choice: int, *, trims: bool) -> None:
        """Carry what waits in one part for another; what it has is safe there only if the sender is told."""
        number = choice % len(self.frontiers)
        links = self.frontiers[number].part_links
        for receiver, other in enumerate(self.frontiers):
            if links is None or receiver == number or not (waiting := links.waiting(receiver)):
                continue
            assert other.part_links is not None
            trimmed = links.trimmed(receiver)
            first = 1 if trimmed is None or trimmed.incarnation != links.incarnation else trimmed.sequence + 1
            last = first + waiting - 1
            place = Place(links.incarnation, last)
            await other.part_links.admit(number, place, links.parcels(receiver, first, last))
            if trims:
                await links.trim(receiver, place)

    async def retire(self, choice: int) -> None:
        await self.operate(f"test,h{choice % HOSTS}", retires=bool(choice % 2))

    async def operate(self, key: str, *, retires: bool) -> None:
        for frontier in self.frontiers:
            if frontier.part_links is None or frontier.part_links.owns(key):
                with suppress(IllegalTransition):  # it is retired already, or is not
                    await (frontier.retire if retires else frontier.unretire)(key)

    async def finish(self) -> None:
        """Crawl to the end."""
        for host in range(HOSTS):
            await self.operate(f"test,h{host}", retires=False)
        quiet = 0
        while quiet < 2:
            before = len(self.done)
            for number, frontier in enumerate(self.frontiers):
                await self.carry(number, trims=True)
                while (stats := frontier.describe()).pending or stats.retrying:
                    lease = await anext(frontier)
                    await frontier.add(links_of(lease.url.url))
                    await frontier.done(lease, cooldown_s=0.0, outcome=DONE)
                    self.done.append(lease.url.url)
            quiet = quiet + 1 if len(self.done) == before else 0


NUMBERS = st.integers(0, 999)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.sampled_from(["lease", "lease", "settle", "settle", "retire"]), NUMBERS),
        st.tuples(st.sampled_from(["carry", "arrive"]), NUMBERS),
        st.tuples(st.just("sleep"), st.integers(1, 60)),
        st.tuples(st.sampled_from(["divide", "divide after a crash"]), st.integers(1, 4)),
    ),
    max_size=25,
)


@settings(max_examples=8, deadline=None)
@given(STEPS)
def test_a_crawl_that_is_divided_on_its_way_ends_with_the_same_pages(
    steps: list[tuple[str, int]],
) -> None:
    with TemporaryDirectory() as folder:
        _crawl(Path(folder), steps)


@in_virtual_time
async def _crawl(folder: Path, steps: list[tuple[str, int]]) -> None:
    walk = Walk(folder)
    await walk.open()
    # So that each crawl has links on their way.
    for name, choice in [("lease", 0), ("settle", 3), *steps, ("divide", 3), *steps]:
        match name:
            case "lease":
                await walk.lease(choice)
            case "settle":
                await walk.settle(choice)
            case "retire":
                await walk.retire(choice)
            case "carry" | "arrive":
                await walk.carry(choice, trims=name == "carry")
            case "sleep":
                await asyncio.sleep(choice)
            case _:
                await walk.close(dies=name != "divide")
                await walk.divided.divide(choice)
                walk.divided.check()
                await walk.open()
    await walk.finish()
    await walk.close(dies=False)
    walk.divided.check()
    assert set(walk.done) == reachable()
    assert walk.divided.urls() == reachable()
    states = walk.divided.counters()
    assert (states.admitted, states.done, states.pending) == (len(reachable()), len(reachable()), 0)

"""Queues URLs again whose output is missing, or that may lead to lost ones, and moves damaged output aside."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from contextlib import AsyncExitStack
from itertools import chain
from pathlib import Path

from crawler.operate.upkeep.places import Place, Places, reconciliation
from crawler.operate.upkeep.repairing import Say
from crawler.status import number_of
from crawler.wiring.backends import lacks
from crawler.wiring.recovery.entries import batches
from crawler.wiring.recovery.reconciliation import DAMAGED
from crawler.wiring.recovery.setting_aside import move_damage_aside
from crawler.wiring.storage import open_state, reaching_server, visited_set
from frontier import CrawlUrl, Recovering
from frontier.state import FrontierState


async def refetch(places: Places, say: Say) -> None:
    """Queue the URLs again whose output is missing, and move damaged bytes of the output aside.

    If URLs were lost without a trace, also queue all pages of the crawl, because those of any part may link to them."""
    async with AsyncExitStack() as stack:
        states: dict[int, FrontierState] = {}
        for place in places.each:
            states[place.part or 0] = state = open_state(place.loaded.config, place.directory)
            stack.callback(state.close)
        lost = sum(state.describe().lost for state in states.values())
        frontiers = {place.part or 0: await _open(place, states[place.part or 0], stack) for place in places.each}
        found = reconciliation(places, list(states.values()), places.other_machines())
        missing: dict[str, CrawlUrl] = {}
        damaged: set[Path] = set()
        for each in found.differences():
            if each.again is not None:
                missing[each.again.canonical] = each.again
            if each.problem.kind == DAMAGED:
                damaged.add(Path(each.problem.where))
        count = await _add(places, frontiers, missing.values())
        say(f"{number_of(count, 'URL')} whose output is missing will be fetched again")
        for aside in chain.from_iterable(map(move_damage_aside, sorted(damaged))):
            say(f"{number_of(aside.stat().st_size, 'damaged byte')} moved to {aside}")
        if not lost:
            return
        leading = 0
        for batch in batches(found.pages()):
            leading += await _add(places, frontiers, batch)
        for frontier in frontiers.values():
            await frontier.set_lost(0)
        say(
            f"lost to damage: {number_of(lost, 'URL')}; {number_of(leading, 'page')} that may link to them "
            "will be fetched again"
        )


async def _open(place: Place, state: FrontierState, stack: AsyncExitStack) -> Recovering:
    visited = visited_set(place.loaded.config, place.directory, state.knows_many)
    stack.push_async_callback(visited.aclose)
    with reaching_server(place.loaded.config):
        frontier = await state.open_frontier(visited)
    stack.push_async_callback(frontier.aclose)
    if not isinstance(frontier, Recovering):
        raise lacks(place.loaded.config, "fetch pages again whose copies are lost")
    return frontier


async def _add(places: Places, frontiers: Mapping[int, Recovering], urls: Iterable[CrawlUrl]) -> int:
    """Each URL at its owner."""
    by_owner: defaultdict[int, list[CrawlUrl]] = defaultdict(list)
    for url in urls:
        by_owner[places.owner(url.queue_key)].append(url)
    return sum([await frontiers[number].add_anew(of_one) for number, of_one in by_owner.items()])

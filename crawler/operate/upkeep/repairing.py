"""Repairs or rebuilds a state, from what is left of it and from the output. Has fetched again what the output lacks."""

import asyncio
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from contextlib import AsyncExitStack, closing
from functools import partial
from itertools import chain
from pathlib import Path

import msgspec

from crawler.files.folders import delete_folders
from crawler.operate.actions.added import add_noted
from crawler.operate.actions.imported import enter_lines, is_known, read_imported
from crawler.operate.actions.noting import read_added, read_recrawls
from crawler.operate.actions.selecting import recrawl_noted
from crawler.operate.upkeep.places import Place, Places, open_states, reconciliation
from crawler.status import number_of
from crawler.wiring.backends import frontier_backend, lacks
from crawler.wiring.components import discovering
from crawler.wiring.recovery.entries import batches
from crawler.wiring.recovery.reconciliation import DAMAGED
from crawler.wiring.recovery.recover import RecoveringFrontier, recover
from crawler.wiring.recovery.setting_aside import move_damage_aside
from crawler.wiring.recovery.sources import Sources
from crawler.wiring.storage import open_state, reaching_server, repair_state, visited_set
from frontier import CrawlUrl, FrontierStats, LedgerReads, Recovering, Recrawling
from frontier.state import FrontierState

Say = Callable[[str], None]
"""Tells people what is done."""


class Repairing:
    """Repairs the states of a crawl, one after another."""

    def __init__(self, places: Places, say: Say) -> None:
        self._places = places
        self._say = say
        self._rebuilt: list[int] = []
        """Parts that now have all links which the others have found."""

    def has_output(self) -> bool:
        return any(directory.has_output() for directory in self._places.outputs)

    def repair(self, place: Place) -> None:
        copy = place.directory.new_copy()
        mended = repair_state(place.loaded.config, place.directory, copy)
        self._say(f"{place.named}repaired: {', '.join(mended.done) or 'nothing'}")
        if mended.is_copied:
            self._tell_copy(place, copy)
        if self.has_output() and mended.is_incomplete:
            self._recover(place, mended.state)
        else:
            mended.state.close()

    def rebuild(self, place: Place) -> FrontierStats:
        """Rebuild the frontier from the output. Until that is done, the old one stays, also if this is killed."""
        directory, config = place.directory, place.loaded.config
        new = directory.rebuilding()
        delete_folders((new.frontier, new.visited))  # of a rebuild that was killed
        try:
            self._recover(msgspec.structs.replace(place, directory=new), open_state(config, new, may_begin=True))
        except BaseException:
            delete_folders((new.frontier, new.visited))
            self._say(f"{place.named}the old frontier is as it was")
            raise
        if (copy := directory.take_rebuilt()) is not None:
            self._tell_copy(place, copy)
        state = open_state(config, directory, may_begin=True)
        stats = state.describe()
        state.close()
        return stats

    def finish(self) -> None:
        """After the last state: let those that were rebuilt agree with the others about links on their way."""
        places = self._places
        take_positions = frontier_backend(places.loaded.config).upkeep.take_positions
        if not places.is_in_parts or take_positions is None:
            return
        if len(places.each) + len(places.broken) < places.count:
            self._say(
                f"{places.each[0].named}links on their way between the parts were not compared, and may lack what was "
                f"damaged: `onceover inspect {places.path} fsck --repair` mends them with all parts"
            )
            return
        for place in self._places_that_lack_links() if self.has_output() else ():
            self._recover(place, open_state(place.loaded.config, place.directory))
        if not self._rebuilt:
            return
        with open_states(places) as (states, _):
            if len(states) == places.count:
                for part in self._rebuilt:
                    take_positions([states[number] for number in range(places.count)], part)

    def _places_that_lack_links(self) -> list[Place]:
        """Parts that have lost links from other parts, and were not rebuilt."""
        places = self._places
        find = frontier_backend(places.loaded.config).upkeep.parts_that_lack_links
        with open_states(places) as (states, _):
            if find is None or len(states) < places.count:
                return []
            lacking = set(find([states[number] for number in range(places.count)])) - set(self._rebuilt)
        return [place for place in places.each if place.part in lacking]

    def _tell_copy(self, place: Place, copy: Path) -> None:
        self._say(f"{place.named}a copy of the old frontier is kept in {copy}; delete it when the crawl works")

    def _sources(self, place: Place) -> Sources:
        if place.part is None:
            return Sources(own=place.directory)
        owner, number = self._places.owner, place.part
        others = [each for each in self._places.outputs if each.original != place.directory.original]
        return Sources(
            own=place.directory,
            others=others,
            lineages=self._places.earlier_lineages(),
            owns=lambda queue_key: owner(queue_key) == number,
        )

    def _recover(self, place: Place, state: FrontierState) -> None:
        """Recover from the output what the state has lost. Closes the state."""
        with closing(state):
            stats = state.describe()
            before = stats.lost
            recovered = asyncio.run(
                recover(
                    place.loaded,
                    self._sources(place),
                    state,
                    progress=lambda count: self._say(f"{number_of(count, 'record')} read"),
                    queue_again=partial(self._queue_noted, place, is_anew=not stats.admitted),
                )
            )
        output = place.loaded.config.output
        if place.part is not None and not recovered.unread_elsewhere and (output.records or output.warc):
            self._rebuilt.append(place.part)
        settled, found = number_of(recovered.settled, "settled URL"), number_of(recovered.found, "new link")
        self._say(f"{place.named}from the output: {settled} and {found}, of {number_of(recovered.records, 'record')}")
        if recovered.again:
            self._say(
                f"{place.named}{number_of(recovered.again, 'URL')} queued again, as `recrawl` or `add` had done before"
            )
        if recovered.unread:
            unread = number_of(recovered.unread, "page")
            self._say(
                f"{place.named}the links of {unread} are not known: output.links was off, and the "
                "archive does not have the pages, or only revisit records of them"
            )
        if recovered.pruned:
            pruned = number_of(recovered.pruned, "record was", "records were")
            self._say(
                f"{place.named}{pruned} pruned (see {place.directory.pruned.name}), so their "
                "URLs are not known any more unless others link to them; these are fetched again"
            )
        if before and not recovered.unread:
            self._say(f"{place.named}all lost URLs are known again to which a fetched page links")

    async def _queue_noted(
        self, place: Place, frontier: RecoveringFrontier, ledger: LedgerReads, *, is_anew: bool
    ) -> int:
        """Enter what was imported, and queue what operators had queued, as far as it was not visited since. `is_anew`
        says that the frontier began with nothing, so that it lacks the links that imported lines count."""
        count = imported = 0
        owner, part, read = self._places.owner, place.part, partial(discovering.read_url, place.loaded.config)

        def owns(queue_key: str) -> bool:
            return part is None or owner(queue_key) == part

        for lines in read_imported(place.directory.imported):
            new = lines if is_anew else [line for line in lines if not is_known(line, ledger, read)]
            imported += await enter_lines(frontier, frontier, new, read)
            await asyncio.sleep(0)
        if imported:
            self._say(f"{place.named}{number_of(imported, 'URL')} entered again, as an import had done before")
        recrawls, added = read_recrawls(place.directory.recrawls), read_added(place.directory.added)
        # What is queued now has a number that tells when it is through, as that of the lost frontier did.
        for number in (*chain(*(each.numbers for each in recrawls)), *(each.number for each in added)):
            await frontier.skip_numbers((number or 1) - 1)
        if recrawls and isinstance(frontier, Recrawling):
            count += await recrawl_noted(place.loaded, ledger, frontier, recrawls)
        if added:
            count += await add_noted(place.loaded, frontier, added, owns=owns)
        return count


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
        for frontier in frontiers.values():
            for number in found.highest.values():
                await frontier.skip_numbers(number)
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


async def _open(place: Place, state: FrontierState, stack: AsyncExitStack) -> RecoveringFrontier:
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

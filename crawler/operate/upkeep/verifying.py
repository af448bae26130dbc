"""Proves that ledger, records, archive and the tables of sinks agree, of all parts of a crawl."""

from collections.abc import Callable, Sequence
from contextlib import closing

import msgspec

from crawler.operate.upkeep.places import Places, joined_ledger, open_states
from crawler.status import number_of
from crawler.wiring.recovery.facts import Told
from crawler.wiring.recovery.indexes import repair_indexes
from crawler.wiring.recovery.setting_aside import SetAside, list_set_aside
from crawler.wiring.recovery.verification import Verification
from frontier.descriptor import Problem
from frontier.state import FrontierState


class AgreementReport(msgspec.Struct, frozen=True, kw_only=True):
    """What was read of a crawl, and what does not agree."""

    told: list[Told]
    """The ledger, then each output. Of the ledger, settled URLs."""
    problem_count: int
    problems: list[Problem]
    """The first of them."""
    elsewhere: list[str] = []
    """What was not compared, because it is on other machines."""
    set_aside: list[SetAside] = []
    """Damage that was repaired, and is no problem."""
    bodiless: int = 0
    """Records of what rendered pages loaded, and the like, whose bodies were moved aside."""


async def repair(places: Places, say: Callable[[str], None]) -> None:
    """Write again, from the records, what databases lack, and make wrong indexes of archives anew. Raises `ConfigError`
    and `OSError`."""
    with open_states(places) as (states, broken):
        if broken:
            return  # `verify` tells
        with closing(_verification(places, list(states.values()))) as verification:
            async for _ in verification.problems():
                pass
            for name, repaired in (await verification.repair_sinks()).items():
                say(f"{name}: {number_of(repaired.written, 'page')} written again")
                if (first := repaired.first) is not None:
                    refused = number_of(repaired.refused, "page is", "pages are")
                    example = f"{first.url} (number {first.number}): {first.why}"
                    say(f"{name}: {refused} left out. The database refuses the row of {example}")
            if indexes := sum(repair_indexes(each.warc) for each in places.outputs):
                say(f"{number_of(indexes, 'index', 'indexes')} made anew")


async def verify(places: Places, *, limit: int) -> AgreementReport:
    """Compare everything; list up to `limit` problems. Raises `ConfigError` for a frontier that can't list its
    ledger."""
    with open_states(places) as (states, broken):
        problems = [Problem("damaged", str(places.directory_of(part)), why) for part, why in broken.items()]
        if broken:
            # What is in the output of the others may belong to a broken part.
            return AgreementReport(told=[], problem_count=len(problems), problems=problems[:limit])
        with closing(_verification(places, list(states.values()))) as verification:
            count = 0
            async for problem in verification.problems():
                count += 1
                if count <= limit:
                    problems.append(problem)
            told, elsewhere = verification.counts(), verification.others.told()
            aside = list_set_aside(places.outputs)
            return AgreementReport(
                told=told,
                problem_count=count,
                problems=problems,
                elsewhere=elsewhere,
                set_aside=aside,
                bodiless=verification.bodiless,
            )


def _verification(places: Places, states: Sequence[FrontierState]) -> Verification:
    ledger = joined_ledger(places, states)
    return Verification(places.loaded, places.outputs, ledger, others=places.other_machines())

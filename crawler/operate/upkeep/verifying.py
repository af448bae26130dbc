"""Proves that ledger, records, archive and the tables of sinks agree, of all parts of a crawl."""

import msgspec

from crawler.operate.upkeep.places import Places, joined_ledger, open_states
from crawler.wiring.recovery.verification import Told, Verification
from crawler.wiring.storage import rules_version
from frontier.descriptor import Problem


class AgreementReport(msgspec.Struct, frozen=True, kw_only=True):
    """What was read of a crawl, and what does not agree."""

    told: list[Told]
    """The ledger, then each output. Of the ledger, settled URLs."""
    problem_count: int
    problems: list[Problem]
    """The first of them."""


async def verify(places: Places, *, limit: int) -> AgreementReport:
    """Compare everything; list up to `limit` problems. Raises `ConfigError` for a frontier that can't list its
    ledger."""
    with open_states(places) as (states, broken):
        problems = [Problem("damaged", str(places.directories[part]), why) for part, why in broken.items()]
        if broken:
            # What is in the output of the others may belong to a broken part.
            return AgreementReport(told=[], problem_count=len(problems), problems=problems[:limit])
        found = list(states.values())
        verification = Verification(
            places.loaded, places.outputs, joined_ledger(places, found), rules_version=rules_version(found[0])
        )
        try:
            count = 0
            async for problem in verification.problems():
                count += 1
                if count <= limit:
                    problems.append(problem)
            return AgreementReport(told=verification.counts(), problem_count=count, problems=problems)
        finally:
            verification.close()

"""Enters the settled URLs that an output tells of into a frontier."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from typing import Protocol

import msgspec

from crawler.wiring.recovery.entries import batches
from frontier import Frontier, LedgerEntry, LedgerReads, Recovering
from visited import CannotForget


class RecoveringFrontier(Frontier, Recovering, Protocol):
    """A frontier that can be given what only the output knows."""


QueueAgain = Callable[[RecoveringFrontier, LedgerReads], Awaitable[int]]
"""Queues settled URLs that an operator had queued again. Returns how many these are."""


async def enter_settled(
    frontier: RecoveringFrontier, found: Iterable[LedgerEntry | None], *, keeps_counts: bool
) -> int:
    """Enter them, with the counts of links that they have if it `keeps_counts`, and return how many are new. Of several
    entries of one URL the first counts. None stands for a visit that tells nothing.

    If there are several in an empty frontier, its predecessor had forgotten the URL and met it again: one visit does
    not tell of another then. The frontier has to know this, because its reports count each URL once.
    """
    was_empty = not frontier.describe().admitted
    settled, twice = 0, list[str]()
    for batch in batches(found):
        known = [each if keeps_counts else msgspec.structs.replace(each, hit_count=0) for each in batch if each]
        new = await frontier.record(known)
        settled += new
        if was_empty and not twice and new < len(known):
            twice = [known[0].canonical]
        await asyncio.sleep(0)  # so that a signal is heard
    for canonical in twice:
        entry = await frontier.status_of(canonical)
        with suppress(CannotForget):
            await frontier.forget([canonical])
        await frontier.record(filter(None, [entry]))
    return settled

"""URLs that somebody adds: notes them before they are queued, and queues them again in a rebuild of the frontier."""

import asyncio
import time
from collections.abc import Callable, Sequence
from contextlib import suppress

import msgspec

from config import Loaded
from crawler.control.requests import Add
from crawler.disk.directory import CrawlDirectory
from crawler.operate.actions.noting import Added, has_number_since, is_since, next_number, note_added
from crawler.wiring import seeding
from crawler.wiring.components import discovering
from crawler.wiring.recovery.entries import batches
from frontier import CrawlUrl, Frontier, LedgerEntry
from frontier.descriptor import Durability
from frontier.state import FrontierState


class AddedNotes:
    """Notes the URLs that are added to a crawl."""

    def __init__(self, directory: CrawlDirectory, state: FrontierState, durability: Durability) -> None:
        self._path = directory.added
        self._state = state
        self._durability = durability

    async def note(self, frontier: Frontier, urls: Sequence[CrawlUrl], request: Add) -> list[LedgerEntry | None]:
        """Note those of the URLs of a request that will wait because of it. Returns what the frontier knows of each.
        Raises `OSError`."""
        before = [await frontier.status_of(url.canonical) for url in urls]
        at, number = time.time(), next_number(self._state)
        noted = [
            Added(at=at, number=number, request=msgspec.structs.replace(request, urls=texts))
            for texts in batches(
                # A seed without a scheme is known as it was written.
                url.anchor or url.url
                for url, entry in zip(urls, before, strict=True)
                if request.force or entry is None
            )
        ]
        if noted:
            stats = frontier.describe()
            is_first = not (stats.pending or stats.retrying or stats.retired)
            note_added(self._path, noted, is_first=is_first, durability=self._durability)
        return before


async def add_noted(loaded: Loaded, frontier: Frontier, noted: Sequence[Added], *, owns: Callable[[str], bool]) -> int:
    """Enqueue again what was added earlier, as far as it was not visited since. Returns how many URLs these are. `owns`
    says whether the frontier has the queue with that key."""
    discovery = discovering.rules_of(loaded).discovery
    taken, now = 0, time.time()
    for each in noted:
        again: list[CrawlUrl] = []
        for text in each.request.urls:
            with suppress(ValueError):  # by the rules of today it is no URL
                (url,) = discovery.seeds([text])
                before = await frontier.status_of(url.canonical)
                if owns(url.queue_key) and not (before is not None and _is_through(before, each, now)):
                    again.append(with_precedence(url, each.request.precedence))
        # What is settled although it was new then had been forgotten.
        taken += await seeding.enqueue(frontier, again, force=True)
        await asyncio.sleep(0)
    return taken


def _is_through(entry: LedgerEntry, added: Added, now: float) -> bool:
    return is_since(entry, added.at, now) or (added.number is not None and has_number_since(entry, added.number))


def with_precedence(url: CrawlUrl, precedence: int | None) -> CrawlUrl:
    return url if precedence is None else msgspec.structs.replace(url, precedence=precedence)

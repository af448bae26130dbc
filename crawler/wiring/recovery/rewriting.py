"""Writes pages again to a sink that lacks them or has them otherwise."""

import asyncio
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Final

import msgspec

from crawler.page import PageRecord
from crawler.seams import Sink
from crawler.write.descriptor import LeavesOut, LeftOut
from crawler.write.records import extents_now, read_extents

AT_ONCE: Final = 500
"""Pages that are written to a sink at the same time."""


class Repaired(msgspec.Struct):
    """What was written again to a sink. Counts of pages."""

    written: int = 0
    refused: int = 0
    """Those that its database does not take are not written."""
    first: LeftOut | None = None
    """The first of them."""

    def note_refused(self, page: LeftOut) -> None:
        self.written -= 1
        self.refused += 1
        self.first = self.first or page


async def write_again(sink: Sink, records: Path, is_wanted: Callable[[int], bool], repaired: Repaired) -> None:
    """Write the wanted numbers from a directory of records, without files that can't be read. Raises `OSError`."""
    if isinstance(sink, LeavesOut):
        sink.tell_refusals(repaired.note_refused)
    read = read_extents(PageRecord, extents_now(records), last_only=True, on_unread=lambda *_: None)
    wanted = (record for record in read if is_wanted(record.number))
    while batch := list(islice(wanted, AT_ONCE)):
        await asyncio.gather(*(sink.write(None, record) for record in batch))
        repaired.written += len(batch)

"""Since when the records have each page that was visited.

If a run writes no records, the next one that does has no record of what pages held. A server that says that such a page
has not changed would leave it without any. So the first visit after that run asks for the whole page.
"""

import math
from collections.abc import Callable, Sequence
from datetime import datetime

import msgspec

from crawler.disk.directory import CrawlDirectory
from crawler.disk.layout import replaced_directories
from crawler.disk.pruned import Began, Cycle, lacked_before, read_pruned, write_pruned
from crawler.page import rfc3339
from crawler.prune.finished import output_files
from frontier import VisitsSince


def recorded_since(
    own: CrawlDirectory,
    *,
    records: bool,
    is_resumed: bool,
    next_number: Callable[[], int],
    latest_at: Callable[[], float | None],
    clock: Callable[[], float],
) -> VisitsSince:
    """The visits of which the records tell, in a run that writes `records`. `is_resumed` tells whether a run before may
    have fetched pages. Notes in the `own` directory what the next run must know. A part also heeds what was noted
    before the crawl was divided; what other parts write tells nothing of its pages. Raises `OSError` and
    `DirectoryRefused`."""
    replaced = [CrawlDirectory(each) for each in replaced_directories(own.original)]
    pruned, before = read_pruned(own), [read_pruned(each) for each in replaced]
    has_records = _has_records([own, *replaced])
    if not records:
        if has_records and not pruned.lacks_records:
            write_pruned(own, msgspec.structs.replace(pruned, lacks_records=True))
        return VisitsSince()
    lacks_before = pruned.records is None and lacked_before(
        own.original, lacks=lambda each: each.lacks_records, began=lambda each: each.records is not None
    )
    if pruned.lacks_records or lacks_before or (is_resumed and not has_records):
        now, latest = clock(), latest_at()
        latest = None if latest is None else max(latest, now)
        began = Began(began=rfc3339(now), number=next_number(), latest_at=latest)
        pruned = msgspec.structs.replace(pruned, lacks_records=False, records=began)
        write_pruned(own, pruned)
    moments = [datetime.fromisoformat(each.records.began) for each in (pruned, *before) if each.records is not None]
    return visits_since(pruned.records, at=max((each.timestamp() for each in moments), default=0.0))


def visits_since(began: Began | Cycle | None, *, at: float) -> VisitsSince:
    """The visits since then, and since another moment; None stands for those of all numbers."""
    if began is None:
        return VisitsSince(at=at)
    return VisitsSince(number=began.number, at=at, latest_at=math.inf if began.latest_at is None else began.latest_at)


def _has_records(outputs: Sequence[CrawlDirectory]) -> bool:
    """Whether there are records, or were until they were deleted. Opening them makes an empty file."""
    is_any_there = any(not file.is_archive and file.bytes for file in output_files(outputs))
    return is_any_there or any(read_pruned(each).total("records").files for each in outputs)

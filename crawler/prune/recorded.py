"""Since when the records have each page that was visited.

If a run writes no records, the next one that does has no record of what pages held. A server that says that such a page
has not changed would leave it without any. So the first visit after that run asks for the whole page.
"""

from collections.abc import Callable, Sequence
from datetime import datetime

import msgspec

from crawler.disk.directory import CrawlDirectory
from crawler.disk.pruned import Began, read_pruned, write_pruned
from crawler.page import rfc3339
from crawler.prune.finished import output_files
from frontier import VisitsSince


def recorded_since(
    own: CrawlDirectory,
    outputs: Sequence[CrawlDirectory],
    *,
    records: bool,
    is_resumed: bool,
    next_number: Callable[[], int],
    clock: Callable[[], float],
) -> VisitsSince:
    """The visits of which the records tell, in a run that writes `records`. `is_resumed` tells whether a run before may
    have fetched pages. Notes in the `own` directory what the next run must know. Raises `OSError` and
    `DirectoryRefused`."""
    pruned = read_pruned(own)
    if not records:
        if _has_records(outputs) and not pruned.lacks_records:
            write_pruned(own, msgspec.structs.replace(pruned, lacks_records=True))
        return VisitsSince()
    if pruned.lacks_records or (is_resumed and not _has_records(outputs)):
        began = Began(began=rfc3339(clock()), number=next_number())
        pruned = msgspec.structs.replace(pruned, lacks_records=False, records=began)
        write_pruned(own, pruned)
    if pruned.records is None:
        return VisitsSince()
    return VisitsSince(number=pruned.records.number, at=datetime.fromisoformat(pruned.records.began).timestamp())


def _has_records(outputs: Sequence[CrawlDirectory]) -> bool:
    """Whether there are records, or were until they were deleted. Opening them makes an empty file."""
    is_any_there = any(not file.is_archive and file.bytes for file in output_files(outputs))
    return is_any_there or any(read_pruned(each).total("records").files for each in outputs)

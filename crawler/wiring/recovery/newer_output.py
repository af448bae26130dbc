"""Fetches pages again that a crash left in the output but not in the ledger."""

import logging
from typing import Final

from config import Config
from crawler.discover.marks import is_after_redirect, name_of_page, names_after_redirects
from crawler.disk.directory import CrawlDirectory
from crawler.disk.layout import replaced_directories
from crawler.page import PageRecord, counts_as_page
from crawler.status import number_of
from crawler.url.urls import UrlReader
from crawler.wiring.recovery.entries import RecordUrls
from crawler.write.records import newest_records
from frontier import CrawlUrl, Frontier, LedgerEntry, NumberReads, UrlState

FOREIGN_IN_A_ROW: Final = 10_000
"""After so many records of other parts in a row, a part looks no further in a directory that it has replaced."""

log = logging.getLogger(__name__)


async def requeue_newer_output(
    config: Config, directory: CrawlDirectory, frontier: Frontier, urls: UrlReader, *, numbers: NumberReads | None
) -> list[int]:
    """Queue the pages again that were written but not settled, and log how many there are. Returns the numbers of those
    that count as pages and keep their number.

    After a kill these are the pages that were in flight. There are more if the frontier lost its last changes, as in a
    power failure. Then it may also lack URLs, and may not know numbers that it has already given out. `numbers` tells
    which of these were not lost, but forgotten.
    """
    in_flight = config.fetch.concurrency + config.fetch.spare
    record_urls = RecordUrls(config, urls)
    newer, unknown, highest, known_in_a_row = 0, [], 0, 0
    owed = []
    for record in newest_records(directory.records):
        url = record_urls.of_record(record)
        if url is None:
            continue
        entry = await _entry_of(record, url, frontier)
        highest = max(highest, record.number)
        if _was_settled(record, entry, numbers):
            known_in_a_row += 1
            if known_in_a_row > 2 * in_flight:
                break
            continue
        known_in_a_row = 0
        newer += 1
        if entry is None:
            unknown.append(url)
        elif entry.number == record.number and counts_as_page(record):
            owed.append(record.number)
    if newer:
        log.info(
            "fetching again what the output has and was not settled when the crawl ended: %s", number_of(newer, "page")
        )
    are_lost = await frontier.skip_numbers(highest)
    if newer > in_flight or are_lost or unknown:
        log.warning(
            "the frontier is older than the output: its last changes are lost, as after a power failure; "
            "%s fetched again",
            number_of(newer, "page is", "pages are"),
        )
    await frontier.add(unknown)
    return owed


async def numbers_owed_by_replaced_output(
    config: Config, directory: CrawlDirectory, frontier: Frontier, urls: UrlReader
) -> set[int]:
    """The numbers of pages of this part that count as pages already, because they were written before the crawl was
    divided anew, but not settled. The division has queued them under their numbers."""
    in_flight = config.fetch.concurrency + config.fetch.spare
    record_urls = RecordUrls(config, urls)
    owed = set()
    for replaced in replaced_directories(directory.original):
        settled_in_a_row = foreign_in_a_row = 0
        for record in newest_records(CrawlDirectory(replaced).records):
            url = record_urls.of_record(record)
            entry = None if url is None else await _entry_of(record, url, frontier)
            if entry is None:
                foreign_in_a_row += 1
            elif entry.state is not UrlState.PENDING:
                settled_in_a_row, foreign_in_a_row = settled_in_a_row + 1, 0
            else:
                settled_in_a_row = foreign_in_a_row = 0
                if entry.number == record.number and counts_as_page(record):
                    owed.add(record.number)
            if settled_in_a_row > 2 * in_flight or foreign_in_a_row > FOREIGN_IN_A_ROW:
                break
    return owed


async def _entry_of(record: PageRecord, url: CrawlUrl, frontier: Frontier) -> LedgerEntry | None:
    """What the ledger has of the URL of a record, which does not tell how many redirects in a row have led there; the
    name of the URL may do so."""
    entry = await frontier.status_of(url.canonical)
    if entry is None and is_after_redirect(url.canonical):
        for name in names_after_redirects(name_of_page(url.canonical)):
            found = await frontier.status_of(name)
            if found is not None and found.number >= record.number:
                return found
    return entry


def _was_settled(record: PageRecord, entry: LedgerEntry | None, numbers: NumberReads | None) -> bool:
    """Whether the page of a record was settled, also if its URL was forgotten or queued again since."""
    if entry is None:
        return numbers is not None and numbers.was_forgotten(record.number)
    return entry.state is not UrlState.PENDING or entry.number > record.number

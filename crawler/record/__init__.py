"""Makes page records: what the crawl found out about one URL, once it is settled. Pure.

    page_records   the record of a URL that was fetched, failed or was not asked for; its use by what the site says
    outcomes       what the frontier keeps of a URL that was fetched
    archiving      which pages the archive gets
    changes        what has become of a URL since its last visit
    headers        what the headers of a response say: media type, validators, until when it is fresh
    dates          HTTP dates and dates of sitemaps, as records write them

`crawler.page.PageRecord` is the value. The pipeline makes records.
"""

from crawler.record.archiving import FILTER_REASONS, ArchiveFilter
from crawler.record.changes import Change, has_copy, note_of, seed_without_scheme
from crawler.record.dates import header_time, w3c_time
from crawler.record.headers import record_headers, validator
from crawler.record.outcomes import outcome_of
from crawler.record.page_records import FoundLinks, fetched_record, unfetched_record, with_usage, without_content

__all__ = [
    "FILTER_REASONS",
    "ArchiveFilter",
    "Change",
    "FoundLinks",
    "fetched_record",
    "has_copy",
    "header_time",
    "note_of",
    "outcome_of",
    "record_headers",
    "seed_without_scheme",
    "unfetched_record",
    "validator",
    "w3c_time",
    "with_usage",
    "without_content",
]

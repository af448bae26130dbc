"""What records say about the use of pages."""

import msgspec

from crawler.page import NO_USAGE, PageRecord, Usage


def with_usage(record: PageRecord, usage: Usage, /) -> PageRecord:
    """The record of a page with what its site says about its use."""
    if usage is NO_USAGE:
        return record
    return msgspec.structs.replace(
        record, refused_for=list(usage.refused_for) or None, preferences=list(usage.preferences)
    )

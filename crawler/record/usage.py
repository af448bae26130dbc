"""What records say about the use of pages."""

from typing import Any, Final

import msgspec

from crawler.page import NO_USAGE, PageRecord, Usage
from frontier import UrlState

_EXCLUDED: Final = UrlState.EXCLUDED.name.lower()


def with_usage(record: PageRecord, usage: Usage, /) -> PageRecord:
    """The record of a page with what its site says about its use."""
    if usage is NO_USAGE:
        return record
    return msgspec.structs.replace(
        record, refused_for=list(usage.refused_for) or None, preferences=list(usage.preferences)
    )


_CONTENT: Final = (
    "title description abstract author simhash near_duplicate_of near_distance link_details main_text markdown json_ld"
    " open_graph anchors broken_fragments"
).split()


def without_content(record: PageRecord, /, *, reason: str, message: str | None) -> PageRecord:
    """The record of a page that was fetched and is not kept: without anything of its content but its links."""
    nothing: dict[str, Any] = dict.fromkeys(_CONTENT)
    message = "; ".join(filter(None, (message, record.message)))
    return msgspec.structs.replace(
        record, **nothing, state=_EXCLUDED, reason=reason, message=message or None, not_archived=reason
    )

"""Where the URLs of a crawl are, if only some of the numbers matter."""

from typing import Any

import msgspec

from frontier import FrontierStats

_NOTHING = FrontierStats(
    admitted=0,
    pending=0,
    in_process=0,
    retrying=0,
    done=0,
    failed=0,
    excluded=0,
    ready_queues=0,
    in_process_queues=0,
    snoozed_queues=0,
    next_wake_s=None,
    next_wake_key=None,
)


def frontier_stats(**known: Any) -> FrontierStats:
    """What is not named is zero, or None."""
    return msgspec.structs.replace(_NOTHING, **known)

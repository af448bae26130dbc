"""Moments as records and archives write them: RFC 3339, UTC."""

from datetime import UTC, datetime
from functools import lru_cache


def rfc3339(seconds: float, /) -> str:
    """Seconds since 1970 as RFC 3339, UTC, with milliseconds."""
    second, microsecond = divmod(round(seconds * 1_000_000), 1_000_000)
    return f"{_to_the_second(second)}.{microsecond // 1000:03}Z"


@lru_cache(maxsize=16)
def _to_the_second(second: int) -> str:
    # Cached, because a crawl fetches many pages in the same second.
    return datetime.fromtimestamp(second, UTC).isoformat()[:-6]

"""What is told about the course of a crawl. Moments are RFC 3339."""

import msgspec


class Remaining(msgspec.Struct, frozen=True, kw_only=True):
    """What is left to fetch, of what is known now."""

    urls: int
    seconds: float | None
    """An estimate, if no further URLs are found; None if none can be made."""
    host: str | None = None
    """The host whose URLs take so long, if the pace of one host decides."""
    why: str | None = None
    """Why there is no estimate; None if there is one."""


class CoursePoint(msgspec.Struct, frozen=True, kw_only=True):
    """How far a crawl was at a moment."""

    at: str
    discovered: int
    """URLs that it had admitted."""
    finished: int
    """Those of them that were settled."""

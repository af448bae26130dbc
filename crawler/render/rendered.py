"""What a visit results in."""

import msgspec

from crawler.page import Link, LoadAnswer, Rendering, Screenshot, WithBody


class Rendered(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a visit."""

    rendering: Rendering
    document: bytes | None = None
    """In UTF-8."""
    links: tuple[Link, ...] = ()
    """Links that are not in the document: to where its scripts wanted to go, and from shadow trees."""
    busy_s: float = 0.0
    """How long servers were busy with the page's own requests."""
    troubled_loads: frozenset[LoadAnswer] = frozenset()
    """For this and the following, see `Page`."""
    loads: tuple[WithBody, ...] = ()
    screenshots: tuple[Screenshot, ...] = ()
    why_unfinished: str | None = None
    """Why it could not be scrolled or clicked any further, if that failed."""

"""Replies about crawls that are kept as they are at one moment, to be copied."""

import msgspec
from msgspec import UNSET

from crawler.control.replies import PartNumber


class FrozenState(msgspec.Struct, frozen=True, kw_only=True):
    """A crawl that is not in parts, or a part, whose files were kept as they were at one moment."""

    directory: str
    part: PartNumber = UNSET
    at: str
    settled: int
    """URLs that were settled then."""
    queued: int
    list: str
    """Where the files are listed, with their lengths."""
    holds_parcels: bool
    """Whether links were held that are safe at other parts, before that moment and until then."""


class Frozen(msgspec.Struct, frozen=True, kw_only=True):
    """A crawl that can be copied in peace. Each part has a moment of its own."""

    states: list[FrozenState]


class Held(msgspec.Struct, frozen=True, kw_only=True):
    """How long links are held that are safe at other parts."""

    seconds: float

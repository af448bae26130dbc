"""Requests about all URLs of a crawl to which something applies, in pieces, and their replies."""

from typing import Annotated

import msgspec

_MAX_TEXT = 4096


class Selection(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The settled URLs to which all of this applies."""

    matching: Annotated[str, msgspec.Meta(max_length=_MAX_TEXT)] = ""
    """A pattern that is found in the URL."""
    host: Annotated[str, msgspec.Meta(max_length=_MAX_TEXT)] = ""
    before: float | None = None
    """They were last fetched or given up before this moment, in seconds since 1970, or in the future: before the clock
    was set back."""
    failed: bool = False
    """They were given up."""
    excluded: bool = False
    """A rule, such as robots.txt, has excluded them. To fetch pages again leaves these out unless this says so."""


class Selected(msgspec.Struct, frozen=True, kw_only=True):
    """What was done with a piece of the ledger."""

    looked_at: int
    """URLs of the ledger that were looked at."""
    taken: int
    """URLs that were forgotten, or are fetched again."""
    waiting: int
    """URLs that match, but are still to be fetched."""
    after: str | None
    """The place for the next request; None at the end of the ledger."""

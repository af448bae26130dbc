"""What robots.txt says of a URL."""

from collections.abc import Sequence

import msgspec

from crawler.page.preference import Preference


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """What robots.txt says of one URL."""

    allowed: bool
    reason: str
    """robots (a rule allows or disallows it), none (there is no robots.txt), unreachable (robots.txt could not be
    fetched), dns, connect or tls (the host itself can't be reached), …"""
    known: bool = True
    """False if nothing is decided yet: robots.txt redirects, and the next request has to wait for its turn."""
    asked: bool = False
    """True if robots.txt was fetched just now, so that its server must rest."""
    duration_s: float = 0.0
    """How long that fetch took."""
    pause_s: float | None = None
    """How long that server asks to be left alone, by Retry-After."""
    retry_after_s: float | None = None
    """If it is disallowed because robots.txt could not be fetched: when to ask again."""
    message: str | None = None
    """For people: why robots.txt could not be fetched."""
    no_connection: bool = False
    """If so: whether that was as in `Failure.no_connection`."""
    preferences: Sequence[Preference] = ()
    """If it is allowed: what its origin says about the use of its page."""

"""What a site says about the use of a page, and what its robots.txt says of a URL."""

from collections.abc import Sequence

import msgspec


class Preference(msgspec.Struct, frozen=True, omit_defaults=True):
    """One statement of a site about the use of a page, as records tell it."""

    signal: str
    """The language it is in: `content-usage`, `content-signal`, `robots`, `robots-group`, `tdm-reservation`, …"""
    source: str
    """Where it stands: `robots.txt`, `header`, `meta` or `tdmrep.json`."""
    value: str
    """As written, perhaps cut."""
    refuses: Sequence[str] = ()
    """The purposes for which it refuses the page."""


class Usage(msgspec.Struct, frozen=True):
    """All that a site says about the use of a page, and what follows."""

    preferences: Sequence[Preference] = ()
    refused_for: Sequence[str] = ()
    """The purposes that some of them refuse."""
    is_refused: bool = False
    """Whether the crawl must not keep the page."""
    refuses_embeds: bool = False
    """Whether the crawl must not fetch the images of the page."""

    @property
    def message(self) -> str:
        """For people: who refuses what."""
        return "; ".join(
            f"{each.signal} ({each.source}) {each.value!r} refuses {', '.join(each.refuses)}"
            for each in self.preferences
            if each.refuses
        )


NO_USAGE = Usage()
"""Of pages about whose use nothing is said."""


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

"""What a site says about the use of a page."""

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

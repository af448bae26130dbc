"""The links of the entries of a sitemap or a feed, with their hints."""

from collections.abc import Mapping
from typing import Final

import msgspec

from crawler.page import CHANGE_FREQUENCIES, Link, LinkKind
from crawler.read.feeds.sitemaps import MAX_DATE_CHARACTERS

DATES: Final = ("lastmod", "updated", "modified", "pubdate", "published", "issued", "date")
"""Of entries. The first that is there counts."""


class Entries:
    """Those found so far. The caller adds the links of each."""

    def __init__(self) -> None:
        self.links: list[Link] = []
        self.count = 0
        self.wrong_frequencies = 0
        self._start = 0
        """Where the links of the current entry begin."""

    def begin(self) -> None:
        self._start = len(self.links)

    def set_hints(self, texts: Mapping[str, str], *, of_feed: bool) -> None:
        """Set the date of an entry on its links, and the hints of a sitemap on the link of the <loc>."""
        if not texts:
            return
        date = next((texts[name] for name in DATES if texts.get(name)), "")
        if len(date) > MAX_DATE_CHARACTERS:
            date = ""
        frequency = texts.get("changefreq", "").lower()
        if frequency and frequency not in CHANGE_FREQUENCIES:
            self.wrong_frequencies += 1
            frequency = ""
        if not date and not frequency:
            return
        links = self.links
        lacks_loc = not of_feed
        for index in range(self._start, len(links)):
            if lacks_loc and links[index].kind in (LinkKind.SITEMAP, LinkKind.LISTED):
                lacks_loc = False
                links[index] = msgspec.structs.replace(
                    links[index], last_modified=date, change_frequency=frequency, entry_date=date
                )
            elif date:
                links[index] = msgspec.structs.replace(links[index], entry_date=date)


def link_to(href: str | None, kind: LinkKind, /, *, rel: str = "") -> Link | None:
    """None for an empty href."""
    href = (href or "").strip()
    return Link(href, kind, "", rel.lower()) if href else None

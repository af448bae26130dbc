"""Combines all that a site says about the use of a page."""

from collections.abc import Collection, Sequence
from typing import Final

import msgspec

from crawler.page import NO_USAGE, Extract, Preference, Response, Usage, wanted_headers
from crawler.preferences.directives import robots_tag_words
from crawler.preferences.signals import (
    CONTENT_SIGNAL,
    CONTENT_USAGE,
    EMBEDS,
    ROBOTS,
    TDM_POLICY,
    TDM_RESERVATION,
)
from crawler.preferences.values import directives_of, in_order, read_value

REFUSED: Final = "preferences"
"""Why a page is not fetched or not kept. Users read this word in records."""
MAX_PREFERENCES: Final = 20
"""That a record keeps of one page."""
HEADER: Final = "header"
META: Final = "meta"
_ROBOTS_TAG: Final = b"x-robots-tag"
_WANTED: Final = (
    _ROBOTS_TAG,
    *(each.name.encode() for each in (CONTENT_USAGE, CONTENT_SIGNAL, TDM_RESERVATION, TDM_POLICY)),
)
_TDM: Final = (TDM_RESERVATION.name, TDM_POLICY.name)
_BY_RANK: Final = (META, HEADER)
"""TDMRep, section "Processing priority": what stands there supersedes what stands in a later place, or in the file of
the origin."""


class Preferences:
    """Judges the use of pages by the purposes of a crawl."""

    def __init__(
        self, purposes: Collection[str] = (), *, are_respected: bool = True, robots_names: Collection[str] = ()
    ) -> None:
        """Without purposes, nothing is refused. `robots_names`: by which X-Robots-Tag may address the crawl."""
        self._purposes = frozenset(purposes) if are_respected else frozenset()
        self._robots_names = frozenset(robots_names)

    def usage(self, said: Sequence[Preference], /) -> Usage:
        """What follows from statements alone, as from those of an origin about a page that was not fetched yet."""
        refused = {purpose for each in said for purpose in each.refuses}
        return Usage(
            preferences=_kept(said),
            refused_for=in_order(refused),
            is_refused=self._are_refused(refused),
            refuses_embeds=self._are_refused(_refused_for_embeds(said)),
        )

    def judge(
        self, response: Response, extract: Extract | None = None, /, *, of_origin: Sequence[Preference] = ()
    ) -> Usage:
        """All that is said about the use of a response: by its origin, its headers, and the document itself."""
        said = _wanted_headers(response)
        if not said and not of_origin and (extract is None or not extract.preferences):
            return NO_USAGE
        is_image = extract is not None and extract.content_type.startswith("image/")
        own = () if extract is None else extract.preferences
        found = _ranked([*own, *self._of_headers(said, is_image=is_image), *of_origin])
        return self.usage(found) if found else NO_USAGE

    def _are_refused(self, refused: Collection[str]) -> bool:
        return bool(self._purposes) and self._purposes.issubset(refused)

    def _of_headers(self, said: dict[str, list[str]], *, is_image: bool) -> list[Preference]:
        found = []
        tags = said.pop(_ROBOTS_TAG.decode(), None)
        if tags is not None:
            words = robots_tag_words(tags, self._robots_names)
            directives = directives_of(words, HEADER, is_image=is_image)
            found += [] if directives is None else [directives]
        # Several fields of one name are one list.
        return found + [read_value(name, HEADER, ", ".join(values)) for name, values in said.items()]


NO_PURPOSE: Final = Preferences()
"""Of a crawl that refuses nothing."""


def _wanted_headers(response: Response) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name, value in wanted_headers(response.headers, _WANTED):
        found.setdefault(name.decode(), []).append(value.decode("latin-1").strip())
    return found


def _ranked(found: list[Preference]) -> list[Preference]:
    """With the superseded reservations refusing nothing."""
    reserving = [each.source for each in found if each.signal == TDM_RESERVATION.name]
    if len(reserving) < 2:
        return found
    first = next((source for source in _BY_RANK if source in reserving), None)
    return [
        msgspec.structs.replace(each, refuses=()) if each.signal in _TDM and first not in (None, each.source) else each
        for each in found
    ]


def _kept(found: Sequence[Preference]) -> Sequence[Preference]:
    """What a record keeps, and tells as the reason: refusals rather than permissions."""
    if len(found) <= MAX_PREFERENCES:
        return found
    return sorted(found, key=lambda each: not each.refuses)[:MAX_PREFERENCES]


def _refused_for_embeds(found: Sequence[Preference]) -> set[str]:
    words = {word for each in found if each.signal == ROBOTS.name for word in each.value.split(", ")}
    return {purpose for word, purposes in EMBEDS.items() if word in words for purpose in purposes}

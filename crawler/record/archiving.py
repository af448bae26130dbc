"""Which pages the archive gets. Pure."""

from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Final

import msgspec

from crawler.page import Page

UNWANTED_TYPE: Final = "unwanted-type"
TOO_LARGE: Final = "too-large"
FILTER_REASONS: Final = frozenset({UNWANTED_TYPE, TOO_LARGE})
"""Why the archive does not have a page. Users read these words in records."""
_UNKNOWN: Final = "application/octet-stream"
_LONGEST: Final = 255
"""Characters of a media type (RFC 6838, section 4.2). A server may send longer ones, which are not worth memory."""


class ArchiveFilter(msgspec.Struct, frozen=True, kw_only=True):
    """Which of the pages that were fetched successfully the archive gets."""

    types: tuple[str, ...] = ()
    """Patterns of media types, such as `image/*`; with `!` in front, of types that it does not get."""
    max_body_bytes: int | None = None
    """Limit for a body as received."""

    def refusal(self, page: Page, media_type: str | None, /) -> str | None:
        """Why the archive does not get a page; None if it does."""
        name = media_type or _UNKNOWN
        is_wanted = _cached_is_wanted if len(name) <= _LONGEST else _is_wanted
        if self.types and not is_wanted(name, self.types):
            return UNWANTED_TYPE
        if self.max_body_bytes is not None and len(page.raw_body) > self.max_body_bytes:
            return TOO_LARGE
        return None


def _is_wanted(media_type: str, patterns: tuple[str, ...]) -> bool:
    wanted = [each for each in patterns if not each.startswith("!")]
    if any(fnmatchcase(media_type, each[1:]) for each in patterns if each.startswith("!")):
        return False
    return not wanted or any(fnmatchcase(media_type, each) for each in wanted)


_cached_is_wanted = lru_cache(maxsize=1000)(_is_wanted)

"""What a page repeats; and finds pages with the same body, so that a record can name the page that it repeats. Pure."""

from itertools import islice
from typing import Final, TypeVar

import msgspec

from crawler.page.responses import Page

NEAR_DUPLICATE: Final = "near-duplicate"
CANONICAL: Final = "canonical"
REPEAT_REASONS: Final = frozenset({NEAR_DUPLICATE, CANONICAL})
"""Why the links of a page are not followed, and the page may not be archived. Users read these words in records."""
BODIES_REMEMBERED: Final = 100_000
_FORGOTTEN_AT_ONCE: Final = 100
"""This part of them."""

_Key = TypeVar("_Key")
_Value = TypeVar("_Value")


class Repeat(msgspec.Struct, frozen=True, kw_only=True):
    """The earlier page that a page repeats, and what follows from that."""

    duplicate_of: str | None = None
    """The URL of a page with the same body."""
    near_duplicate_of: str | None = None
    """The URL of a page whose text is almost the same."""
    near_distance: int | None = None
    """In how many bits their fingerprints differ."""
    refusal: str | None = None
    """Why its links are not followed; None if they are."""
    is_kept: bool = True
    """Whether the archive gets the page."""
    still_followed: str | None = None
    """The canonical URL of the one link that is followed all the same."""


def forget_oldest(remembered: dict[_Key, _Value], /) -> None:
    """Forget a hundredth of what is remembered, but at least one, from the oldest on.

    To find the oldest one, a dictionary passes over all that were deleted before it: one at a time that took 80 us for
    100,000, and longer for more."""
    for key in list(islice(remembered, max(1, len(remembered) // _FORGOTTEN_AT_ONCE))):
        del remembered[key]


class Duplicates:
    """Remembers the SHA-1 of at most `capacity` bodies, those met last, each with the URL that had it first."""

    def __init__(self, *, capacity: int = BODIES_REMEMBERED) -> None:
        self._capacity = capacity
        self._first: dict[bytes, str] = {}

    def remember(self, sha1: bytes, url: str, /) -> str | None:
        """Remember the body of `url`. Returns the first URL that had the same body; None if `url` is the first."""
        first = self._first.pop(sha1, None)
        self._first[sha1] = first or url
        if len(self._first) > self._capacity:
            forget_oldest(self._first)
        return None if first == url else first

    def mark(self, repeat: Repeat | None, page: Page, sha1: bytes, url: str, /) -> Repeat | None:
        """What a page repeats, with the URL that had the same body first. Errors and empty pages repeat no body."""
        first = self.remember(sha1, url) if page.body and page.status < 300 else None
        return repeat if first is None else msgspec.structs.replace(repeat or Repeat(), duplicate_of=first)

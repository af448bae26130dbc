"""What a page repeats; and finds pages with the same body, so that a record can name the page that it repeats. Pure."""

from hashlib import sha1 as sha1_of
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
_EMPTY: Final = sha1_of(b"", usedforsecurity=False).digest()

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

    def mark(
        self,
        repeat: Repeat | None,
        page: Page,
        sha1: bytes,
        url: str,
        /,
        *,
        before: bytes | None = None,
        is_refused: bool = False,
    ) -> Repeat | None:
        """What a page repeats, with the URL that had the same body first. Errors, empty pages, and those whose use
        `is_refused` repeat no body.

        `before` is the SHA-1 of the body that the last visit found at `url`."""
        has_body = not is_refused and bool(page.body) and page.status < 300
        if before is not None and not (has_body and before == sha1):
            self.forget(before, url)
        first = self.remember(sha1, url) if has_body else None
        return repeat if first is None else msgspec.structs.replace(repeat or Repeat(), duplicate_of=first)

    def confirm(self, sha1: bytes | None, url: str, /) -> None:
        """Remember that `url` still has the body of its last visit, which may have been before this run."""
        if sha1 is not None and sha1 != _EMPTY:
            self.remember(sha1, url)

    def forget(self, sha1: bytes | None, url: str, /) -> None:
        """Forget that `url` was the first to have the body, because it has it no more."""
        if sha1 is not None and self._first.get(sha1) == url:
            del self._first[sha1]

"""What a page repeats."""

from typing import Final

import msgspec

NEAR_DUPLICATE: Final = "near-duplicate"
CANONICAL: Final = "canonical"
REPEAT_REASONS: Final = frozenset({NEAR_DUPLICATE, CANONICAL})
"""Why the links of a page are not followed, and the page may not be archived. Users read these words in records."""


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

"""Reads the directives of a robots <meta> or X-Robots-Tag."""

import re
from collections.abc import Sequence
from typing import Final

_VALUED: Final = frozenset({"unavailable_after", "max-snippet", "max-image-preview", "max-video-preview"})
"""Directives with a value after a colon. `NAME:` before a directive names an agent, so these are exceptions."""


def robots_words(content: str, /) -> set[str]:
    """The directives of a robots <meta> or X-Robots-Tag: `noindex`, `nofollow` and others; `none` means both."""
    words = set(re.split(r"[\s,;]+", content.lower())) - {""}
    if "none" in words:
        words |= {"noindex", "nofollow"}
    return words


def robots_tag_words(values: Sequence[str], names: frozenset[str], /) -> set[str]:
    """The directives of X-Robots-Tag values that address one of the agents, or all: `noindex`, `bot: noindex`, or
    `bot: noindex, nofollow, otherbot: none`."""
    words: set[str] = set()
    for value in values:
        addresses_us = True
        for part in value.split(","):
            name, colon, rest = part.partition(":")
            name = name.strip().lower()
            # A date contains a colon too, with spaces or the hour before it.
            is_agent = colon and name not in _VALUED and not name.isdigit() and not any(map(str.isspace, name))
            if is_agent:
                addresses_us = name in names
            if addresses_us:
                words |= robots_words(rest if is_agent else part)
    return words

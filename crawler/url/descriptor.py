"""What the rest of the program knows of a canonical rule: its descriptor."""

from collections.abc import Callable
from typing import Any

import msgspec

from crawler.url.components import Rule


class NoOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The options of a rule that has none."""


class Descriptor(msgspec.Struct, frozen=True, kw_only=True):
    """A canonical rule as a value."""

    name: str
    make: Callable[[Any], Rule]
    """Makes the rule with the options in their struct. Raises ValueError for values that do not fit together.

    The rule is pure. It is called for each link, so it must be quick. It returns the URL itself if it changes nothing.
    """
    keeps_domain: bool = False
    """Whether the canonical form always has the registered domain of the URL. A crawl in parts needs such rules: else
    two parts could take different URLs for one page, and both fetch it."""
    version: int = 1
    """Raised when the effect of the rule changes. A crawl keeps the rules with which it began, and refuses others."""
    options: type[msgspec.Struct] = NoOptions
    """Its options: fields with defaults, limits and meanings, written like those of a configuration."""

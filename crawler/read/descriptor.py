"""What the rest of the program knows of an extractor: its descriptor."""

from collections.abc import Callable
from typing import Any

import msgspec

from crawler.read.options import DEFAULT_OPTIONS, Options
from crawler.seams import LinkExtractor, NoOptions


class Parameters(msgspec.Struct, frozen=True, kw_only=True):
    """What any extractor may use when it is made."""

    agent: str = ""
    """The product token by which robots directives in pages address this crawler."""
    reads: Options = DEFAULT_OPTIONS
    """What to read beside the default links and metadata, as `[scope]` says."""
    make_default: Callable[[], LinkExtractor]
    """Makes the extractor that a crawl has by default, for pages that this one does not read itself."""


class Descriptor(msgspec.Struct, frozen=True, kw_only=True):
    """An extractor as a value."""

    name: str
    make: Callable[[Parameters, Any], LinkExtractor]
    """Makes it, with the options in their struct. Raises ValueError for values that do not fit together."""
    options: type[msgspec.Struct] = NoOptions
    """Its options: fields with defaults, limits and meanings, written like those of a configuration."""

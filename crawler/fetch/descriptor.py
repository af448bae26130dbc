"""What the rest of the program knows of a fetcher: its descriptor."""

from collections.abc import Callable
from typing import Any, Final

import msgspec

from crawler.seams import Fetcher, NoOptions


class Parameters(msgspec.Struct, frozen=True, kw_only=True):
    """What any fetcher may use when it is made."""

    http: Fetcher
    """The fetcher of HTTP, with all settings of the crawl. It refuses private addresses. Pass on to it what this
    fetcher does not fetch itself; it is closed after this one."""
    user_agent: str


class Descriptor(msgspec.Struct, frozen=True, kw_only=True):
    """A fetcher as a value."""

    name: str
    make: Callable[[Parameters, Any], Fetcher]
    """Makes it, with the options in their struct. Raises ValueError for values that do not fit together."""
    options: type[msgspec.Struct] = NoOptions
    """Its options: fields with defaults, limits and meanings, written like those of a configuration."""


HTTP: Final = Descriptor(name="http", make=lambda parameters, _: parameters.http)

"""What is read of a page only where it is wanted."""

from collections.abc import Callable
from typing import Final

import msgspec

from crawler.page import Link


class Printed(msgspec.Struct, frozen=True, kw_only=True):
    """What a document tells that is made for printing."""

    links: list[Link]
    title: str | None = None
    author: str | None = None


class Wishes(msgspec.Struct, frozen=True, kw_only=True):
    """What is read only where it is wanted."""

    forms: bool = False
    """The targets of forms."""
    scripts: bool = False
    """What may be URLs in JSON-LD and inline scripts."""
    pdf: Callable[[bytes], Printed] | None = None
    """A reader of PDF documents."""


NO_WISHES: Final = Wishes()

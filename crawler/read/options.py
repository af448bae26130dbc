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


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """What is read only where it is wanted."""

    forms: bool = False
    """The targets of forms."""
    scripts: bool = False
    """What may be URLs in JSON-LD and inline scripts."""
    preview_images: bool = False
    """Images that a page names for others to show beside a link to it: og:image, twitter:image."""
    data_links: bool = False
    """What `data-href` and `data-url` attributes hold."""
    amp_images: bool = False
    """The images of <amp-img>."""
    pdf: Callable[[bytes], Printed] | None = None
    """A reader of PDF documents."""


NO_WISHES: Final = Options()

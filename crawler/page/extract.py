"""What an extractor reads from a page."""

from collections.abc import Sequence
from typing import Final

import msgspec

from crawler.page.links import Link
from crawler.page.preference import Preference

READ_IN_PART: Final = "too much to parse"
"""How the error of an extract begins if the page has more than is read of a page."""


class Extract(msgspec.Struct, frozen=True, kw_only=True):
    """What an extractor read from a page."""

    content_type: str
    """The sniffed type, by which the page was read: `text/html`, for example."""
    base_url: str
    """The base of relative links: the URL of the page, or its <base>."""
    links: Sequence[Link] = ()
    """In document order, repeats included; not always a list."""
    charset: str | None = None
    """WHATWG name of the encoding that decoded the text; None if it is not text."""
    charset_source: str | None = None
    """bom, http, meta, xml, detected or default."""
    title: str | None = None
    description: str | None = None
    abstract: str | None = None
    author: str | None = None
    language: str | None = None
    canonical: str | None = None
    """href of <link rel=canonical>, resolved."""
    nofollow: bool = False
    """Whether the page asks crawlers to follow none of its links."""
    noindex: bool = False
    preferences: Sequence[Preference] = ()
    """What its <meta> elements say about its use."""
    simhash: int | None = None
    """The fingerprint of the text, 64 bits, if it was asked for; None for what is no text, or a short one."""
    error: str | None = None
    """What the extractor failed at. The extract then holds what was read before that."""

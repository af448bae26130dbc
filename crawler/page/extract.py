"""What an extractor reads from a page, and what is read of it for its own sake, on request: its text, and its data for
machines."""

from collections.abc import Sequence
from typing import Any, Final

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
    """The fingerprint of the text, 64 bits, if it was asked for; None for what is no text, or a short one. Pages
    without it are not compared with others."""
    error: str | None = None
    """What the extractor failed at. The extract then holds what was read before that."""


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """What to read."""

    text: bool = False
    markdown: bool = False
    pdf_text: bool = False
    """The text of PDF documents."""
    structured_data: bool = False
    """JSON-LD and Open Graph."""
    anchors: bool = False
    """To which links with a fragment may lead."""
    max_bytes: int = 1_000_000
    """Limit for each in UTF-8. A longer text is cut, and longer data is left out."""

    @property
    def anything(self) -> bool:
        return self.text or self.markdown or self.pdf_text or self.structured_data or self.anchors


class Content(msgspec.Struct, frozen=True, kw_only=True):
    """What was found. None is what was not wanted, or is not there."""

    text: str | None = None
    """The main text, without navigation and the like."""
    markdown: str | None = None
    """The same in Markdown. Links are absolute."""
    json_ld: list[Any] | None = None
    """The blocks of JSON-LD, decoded."""
    open_graph: dict[str, str | list[str]] | None = None
    """Properties of Open Graph by name; a list if a name comes more than once."""
    anchors: str | None = None
    """As `anchors.packed` has them; None if not all of the page was read."""
    broken_fragments: list[str] | None = None
    """Of links within the page, those that lead nowhere."""
    troubles: tuple[str, ...] = ()
    """For people: what is incomplete, and why."""

"""What is read of a page for its own sake, on request: its text, and its data for machines."""

from typing import Any

import msgspec


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

"""What a search has found."""

import msgspec

Marks = list[tuple[int, int]]
"""Where the words are that were searched: the first character of each, and the one behind its last."""


class Hit(msgspec.Struct, frozen=True, kw_only=True):
    """A page in which the words are."""

    number: int
    """Of its record."""
    url: str
    fetched_at: str | None
    """When the page was as it is shown."""
    later_failure: str | None
    """What the last visit got instead of the page: a status, or the kind of failure. None if it is shown as of then."""
    title: str
    title_marks: Marks
    excerpt: str
    """A piece of the text around the words; empty if the crawl has no text of the page."""
    excerpt_marks: Marks
    score: float
    """By BM25: the higher, the better."""


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """The best pages for a query."""

    query: str
    pages: int
    """In how many pages the words are."""
    searched: int
    """How many pages were searched."""
    with_text: int
    """Of how many of these the crawl has a text."""
    read_bytes: int
    """How much of the records was read before the search."""
    records_bytes: int
    """How large the records are. If less was read, the same search finds more later."""
    hits: list[Hit]
    notes: list[str]
    """What the result lacks."""

"""The parts of a difference."""

from typing import Final, Literal, get_args

import msgspec

Kind = Literal["new", "gone", "changed", "answer"]
KINDS: Final[tuple[Kind, ...]] = get_args(Kind)
Field = Literal[
    "status", "reason", "redirect", "type", "title", "description", "canonical", "language", "noindex", "body", "text"
]
FIELDS: Final[tuple[Field, ...]] = get_args(Field)


class Answer(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a URL was for a crawl at its last visit."""

    url: str
    at: str | None = None
    """When it was fetched."""
    state: str
    """done, failed or excluded"""
    status: int | None = None
    reason: str | None = None
    """Why it failed or was excluded."""
    redirect: str | None = None
    type: str | None = None
    title: str | None = None
    description: str | None = None
    canonical: str | None = None
    language: str | None = None
    noindex: bool = False
    body: str | None = None
    """Its digest."""
    size_bytes: int | None = None
    text: str | None = None
    """The fingerprint of the text, of crawls with `duplicates.near`."""


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    """A URL that is not as it was.

    `new`: a page now, and not before. `gone`: a page before, and not now. `changed`: a page both times. `answer`: no
    page either time, but another error or redirect, or one that the other crawl has not met."""

    url: str
    """As the later crawl names it."""
    kind: Kind
    fields: list[Field]
    """What is not as before; of `new` and `gone` nothing."""
    before: Answer | None
    """None if the earlier crawl has not met it."""
    after: Answer | None
    moved_to: str | None = None
    """Of `gone`: a new page with the same body, the first one if there are several."""


class Crawl(msgspec.Struct, frozen=True, kw_only=True):
    """One of the crawls that are compared."""

    directory: str
    until: str | None
    """Only visits until then count; None if all do."""
    pages: int


class Diff(msgspec.Struct, frozen=True, kw_only=True):
    """What is different."""

    before: Crawl
    after: Crawl
    same: int
    """Pages of both sides with nothing changed."""
    counts: dict[Kind, int]
    """How many URLs differ, of each kind."""
    fields: dict[Field, int]
    """In how many pages that changed each field is different, the most first."""
    differences: list[Difference]
    """By kind, then by URL."""
    more: dict[Kind, int]
    """How many of each kind are left out, beyond the limit; only kinds that have any."""
    notes: list[str]
    """What one should know before one believes it."""

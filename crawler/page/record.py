"""The record of one URL."""

from http import HTTPStatus
from typing import Annotated, Any, Final, Protocol

import msgspec

from crawler.page.links import LinkDetail, LinkKind
from crawler.page.preference import Preference

_MOST: Final = 2**63 - 1
_Count = Annotated[int, msgspec.Meta(ge=0, le=_MOST)]
"""A line with another number is damaged: neither databases nor the frontier can store it."""


class PageRecord(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What the crawl found out about one URL; one line of `records/*.jsonl`."""

    number: _Count
    url: str
    resolved_url: str | None = None
    state: str
    """done, failed or excluded"""
    status: _Count | None = None
    reason: str | None = None
    """Why it failed or was excluded: the kind of failure, or the rule."""
    message: str | None = None
    depth: _Count
    via: str | None = None
    kind: str
    anchor: str | None = None
    hit_count: _Count | None = None
    weight: float | None = None
    precedence: _Count | None = None
    fetched_at: str | None = None
    """RFC 3339, UTC, milliseconds."""
    duration_s: float | None = None
    attempts: _Count = 1
    ip: str | None = None
    redirect: str | None = None
    """The target of a redirect, absolute, with its fragment; the Location as it stands if it is not followed."""
    content_type: str | None = None
    declared_type: str | None = None
    charset: str | None = None
    charset_source: str | None = None
    title: str | None = None
    description: str | None = None
    abstract: str | None = None
    author: str | None = None
    language: str | None = None
    canonical: str | None = None
    noindex: bool = False
    """Whether the page asks not to be shown in search results."""
    refused_for: list[str] | None = None
    """The purposes for which the site refuses the page, whatever the crawl is for."""
    preferences: list[Preference] | None = None
    """Where it says so, and all else that it says about the use of the page."""
    size_bytes: _Count | None = None
    """Bytes of the body after decompression."""
    received_bytes: _Count | None = None
    """Bytes of the body as received."""
    truncated: str | None = None
    rendering: str | None = None
    """How its rendering ended; see `Rendering`."""
    digest: str | None = None
    """SHA-1 of the body, as WARC files write payload digests: `sha1:` and base 32."""
    duplicate_of: str | None = None
    """The URL of an earlier page with the same body."""
    simhash: str | None = None
    """The fingerprint of its text, by which near duplicates are found: 16 hexadecimal digits."""
    near_duplicate_of: str | None = None
    """The URL of an earlier page whose text is almost the same."""
    near_distance: _Count | None = None
    """In how many bits their fingerprints differ."""
    not_followed: str | None = None
    """Why none of its links was followed: `near-duplicate`, or `canonical` if the crawl has the page that it names as
    its canonical one."""
    not_archived: str | None = None
    """Why it is not in the archive: as above, or `unwanted-type` or `too-large` by the filters of the archive."""
    visit: _Count = 1
    """How often it has been fetched, given up or excluded, this time included."""
    change: str | None = None
    """What has become of it since the last visit; see `Change`."""
    last_modified: str | None = None
    etag: str | None = None
    expires_at: str | None = None
    references: list[str] | None = None
    """Canonical URLs of the links in scope, in document order, repeats included."""
    link_details: list[LinkDetail] | None = None
    """With `output.link_details`, the links of the page in document order, also those that were not followed."""
    refused: dict[str, int] | None = None
    """How many links were not admitted, by reason."""
    refusals: list[tuple[str, str]] | None = None
    """Each of these, with `output.refusals`: its URL, or the href if that is not a URL, and the reason."""
    main_text: str | None = msgspec.field(default=None, name="text")
    """With `output.text`, the main text of the page. Users know it as `text`, which is the decoded body to programs."""
    markdown: str | None = None
    """With `output.markdown`, the same in Markdown."""
    json_ld: list[Any] | None = None
    """With `output.structured_data`, the blocks of JSON-LD, decoded."""
    open_graph: dict[str, str | list[str]] | None = None
    """With `output.structured_data`, the properties of Open Graph by name."""
    anchors: str | None = None
    """With `output.check_fragments`, hashes of the anchors of the page: four bytes each, sorted, in base64."""
    broken_fragments: list[str] | None = None
    """With `output.check_fragments`, the fragments of links within the page that lead nowhere."""


class Settled(Protocol):
    """A URL, and what became of it."""

    @property
    def state(self) -> str: ...
    @property
    def status(self) -> int | None: ...
    @property
    def kind(self) -> str: ...


def counts_as_page(visit: Settled) -> bool:
    """Whether it counts as a page, as in a limit of pages."""
    status = visit.status
    if visit.kind in (LinkKind.SITEMAP, LinkKind.EXTERNAL):
        return False
    return visit.state == "done" and status is not None and (status // 100 == 2 or status == HTTPStatus.NOT_MODIFIED)

"""A page as a program gets it."""

from collections.abc import Sequence
from functools import cached_property

import msgspec

from crawler.page import Extract, Failure, Fetched, Link, LinkKind, NotModified, PageRecord
from crawler.read.page_text import page_text
from crawler.url.urls import join

_RECORD_FIELDS = PageRecord.__struct_fields__


class PageLink(msgspec.Struct, frozen=True):
    """A link of a page."""

    url: str
    """Absolute, http or https, with its fragment."""
    kind: LinkKind
    text: str
    """Anchor text, white space collapsed, shortened to 200 characters."""
    rel: str
    """Lower-case tokens, space-separated."""


class CrawledPage(PageRecord, frozen=True, kw_only=True, dict=True, eq=False):
    """A page: its record, and what the server sent.

    It no longer needs the crawl, so a program may keep it, and pass it to other threads and processes.
    """

    body: bytes = b""
    """Without its Content-Encoding; for a rendered page the document that its scripts made. Empty if there is none, as
    after a 304."""
    headers: Sequence[tuple[str, str]] = ()
    """The headers of the response, as received, decoded as Latin-1."""
    base_url: str
    """The base of relative links."""
    found_links: Sequence[Link] = ()
    """The links as they stand in the page."""

    @cached_property
    def text(self) -> str:
        """The body as text, decoded as browsers do; empty if it is not text."""
        headers = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in self.headers]
        return page_text(self.body, headers, charset=self.charset)

    @cached_property
    def links(self) -> list[PageLink]:
        """All http and https links of the page in document order, repeats included, whether the crawl follows them or
        not. Empty if the page was not read: pages with an error status are not."""
        joined = ((self.join(link.href), link) for link in self.found_links)
        return [PageLink(url, link.kind, link.text, link.rel) for url, link in joined if url is not None]

    def header(self, name: str, /) -> str | None:
        """The first header of that name in any case; None if absent."""
        wanted = name.lower()
        return next((value for key, value in self.headers if key.lower() == wanted), None)

    def join(self, href: str, /) -> str | None:
        """The absolute http or https URL that an href on this page means, as a browser reads it; None if there is
        none."""
        return join(self.base_url, href)

    def __repr__(self) -> str:
        """Short, because bodies are long."""
        return f"<CrawledPage {self.status or self.reason} {self.url}>"


def crawled_page(record: PageRecord, fetched: Fetched | None, extract: Extract | None) -> CrawledPage:
    """The page of a record. `fetched` is the response, if there was one, and `extract` what was read from it."""
    fields = {name: getattr(record, name) for name in _RECORD_FIELDS}
    if fetched is None or isinstance(fetched, Failure):
        return CrawledPage(**fields, base_url=record.url)
    return CrawledPage(
        **fields,
        body=b"" if isinstance(fetched, NotModified) else fetched.body,
        headers=[(name.decode("latin-1"), value.decode("latin-1").strip()) for name, value in fetched.headers],
        base_url=fetched.url if extract is None else extract.base_url,
        found_links=() if extract is None else list(extract.links),
    )

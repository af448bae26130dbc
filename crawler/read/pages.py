"""Turns a fetched page into its extract, with any of the parsers."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final

import msgspec

from crawler.page import EMBEDDED, READ_IN_PART, Extract, Link, LinkKind, Page, Preference
from crawler.preferences.directives import robots_tag_words
from crawler.preferences.judging import META
from crawler.preferences.signals import TDM_POLICY, TDM_RESERVATION
from crawler.preferences.values import directives_of, read_value
from crawler.read.abstract import shorten
from crawler.read.bases import base_beyond_web, base_url_of, canonical_url, cut_links, lead_beyond_web, own_base
from crawler.read.elements.attributes import refresh_url
from crawler.read.elements.element_reader import MAX_LINKS, MAX_TEXT_CHARACTERS, Document, ElementReader
from crawler.read.elements.flatten import flatten
from crawler.read.elements.hostile import MAX_READ_BYTES, MAX_TAGS, is_hostile, readable_bytes
from crawler.read.elements.link_tables import kinds_of_rel
from crawler.read.elements.xhtml import xhtml_to_html
from crawler.read.encoding.declaration import find_css_encoding
from crawler.read.encoding.query import encode_queries, percent_encode_query
from crawler.read.encoding.text import UTF_8, Encoding, encoding_of, to_utf8
from crawler.read.headers import Headers, read_headers
from crawler.read.listings import find_links
from crawler.read.options import DEFAULT_OPTIONS, Options, reason_of
from crawler.read.similarity.simhash import fingerprint
from crawler.read.sniff import XHTML, is_html, is_json, is_pdf, is_text, is_xml, sniff_type
from crawler.url.urls import join

_GROWTH: Final = 4
"""Links that are made absolute may have this many times the size of the documents within one: a base multiplies it."""
_GROWTH_CHARACTERS: Final = 100_000
_BYTES_PER_TAG: Final = 16
"""The HTML in the entries of a feed may have a tag for so many bytes of it, beside `MAX_TAGS`."""
_OF_SITEMAPS: Final = frozenset({LinkKind.SITEMAP, LinkKind.LISTED})
_WEB: Final = ("http://", "https://")
_MAX_DEPTH: Final = 3
"""How deep documents within documents are read."""


class _Growth:
    """Counts what is read of the documents within one: their tags, and the characters of the links that they make
    absolute."""

    def __init__(self, feed_bytes: int = 0) -> None:
        self._left = _GROWTH_CHARACTERS
        self._tags_left = MAX_TAGS + feed_bytes // _BYTES_PER_TAG
        self.trouble: str | None = None
        """Why not all of them are read."""

    def take(self, html: bytes, /) -> bytes:
        """As much of the next document as may be read."""
        taken = html[: readable_bytes(html, max_tags=min(self._tags_left, MAX_TAGS))] if self._tags_left > 0 else b""
        self._left += _GROWTH * len(html)
        self._tags_left -= taken.count(b"<")
        if len(taken) < len(html):
            self.trouble = f"{READ_IN_PART}: did not read all HTML within it"
        return taken

    def resolve(self, links: Iterable[Link], base: str, /) -> Iterator[Link]:
        """The links by their base, as many as are allowed."""
        for link in links:
            href = join(base, link.href) or link.href
            self._left -= len(href)
            if self._left < 0:
                return
            yield msgspec.structs.replace(link, href=href)


class PageReader:
    """Reads pages with one parser; a `LinkExtractor`."""

    def __init__(
        self,
        parse: Callable[[Document], ElementReader[Any]],
        /,
        *,
        scan: Callable[[Document], ElementReader[Any] | None] | None = None,
        agent: str = "",
        options: Options = DEFAULT_OPTIONS,
    ) -> None:
        """`scan` is tried first, since no page can harm it; if it returns None, the page must be parsed. `agent` is the
        product token by which robots directives address this crawler."""
        self._parse = parse
        self._scan = scan
        self._robots_names = frozenset({"robots", agent.lower()} - {""})
        self._pdf = options.pdf
        self._options = msgspec.structs.replace(options, pdf=None)
        """Without what reads PDF documents, which has processes: caches of readers of HTML keep the options."""

    def extract(self, page: Page, /) -> Extract:
        """Extract all that we understand of the page. Never raises."""
        try:
            return cut_links(self._extract(page))
        except Exception as error:  # noqa: BLE001 - a document may break a parser in unforeseen ways
            return Extract(
                content_type="application/octet-stream",
                base_url=page.url,
                error=f"{type(error).__name__}: {error}",
            )

    def _extract(self, page: Page) -> Extract:
        headers = read_headers(page.headers)
        content_type = sniff_type(headers.media_type, page.body)
        if is_html(content_type):
            return self._extract_html(page, headers, content_type=content_type)
        return self._extract_other(page, headers, content_type=content_type)

    def _extract_html(self, page: Page, headers: Headers, *, content_type: str) -> Extract:
        is_xhtml = content_type == XHTML
        encoding = encoding_of(page.body, http_charset=headers.charset, is_xhtml=is_xhtml)
        html = to_utf8(page.body, encoding)
        size = len(html)
        html = html[: readable_bytes(html) if is_xhtml else MAX_READ_BYTES]
        simhash = self._simhash(html, is_markup=True)
        document = self._document(xhtml_to_html(html) if is_xhtml else html)
        reader, unread = self._read(document, is_cut=is_xhtml)
        readable = len(html) - unread
        base_url = base_url_of(page.url, reader.base_href)
        beyond = base_beyond_web(page.url, reader.base_href)
        robots = reader.robots | robots_tag_words(headers.robots, self._robots_names)
        others, canonical = _header_links(page.url, headers)
        others.extend(page.links)
        growth = _Growth()
        found = self._all_links(reader, base_url, growth=growth, encoding=encoding)
        # Most pages have no others. Then what a scan has found stays as it is: it makes no objects of its links yet.
        links = lead_beyond_web([*others, *found] if others else found, beyond)
        links = _with_nofollow(links) if "nofollow" in robots else links
        if canonical is None and reader.canonical_href is not None:
            canonical = canonical_url(beyond or base_url, percent_encode_query(reader.canonical_href, encoding))
        meta, description = reader.meta, reader.description
        extract = Extract(
            content_type=content_type,
            base_url=base_url,
            links=links,
            charset=encoding.name,
            charset_source=encoding.source,
            title=reader.title or meta.get("og:title"),
            description=description,
            abstract=shorten(description) if description else reader.abstract,
            author=_author(meta),
            language=_cut(reader.language or meta.get("content-language") or headers.language),
            canonical=canonical,
            nofollow="nofollow" in robots,
            noindex="noindex" in robots,
            preferences=_preferences(reader) if reader.robots or TDM_RESERVATION.name in meta else (),
            error=f"{READ_IN_PART}: read the first {readable} bytes" if readable < size else growth.trouble,
        )
        # Apart, because Python makes a dictionary for a call with more than 15 keywords: three times as slow.
        return extract if simhash is None else msgspec.structs.replace(extract, simhash=simhash)

    def _simhash(self, text: bytes, *, is_markup: bool) -> int | None:
        """The fingerprint of a text in UTF-8, if one is wanted and the text is long enough."""
        least = self._options.fingerprint_words
        if least is None:
            return None
        found = fingerprint(text, is_markup=is_markup)
        return found.simhash if found.words >= max(least, 1) else None

    def _document(self, html: bytes) -> Document:
        return Document(html=html, robots_names=self._robots_names, options=self._options)

    def _read(self, document: Document, *, is_cut: bool = True) -> tuple[ElementReader[Any], int]:
        """Read a document, and say how many bytes at its end were not read. The scan may read all of it, a parser only
        as much as `readable_bytes` allows. `is_cut`: it was cut to that before."""
        if self._scan is not None and (reader := self._scan(document)) is not None:
            return reader, 0
        html = document.html
        if not is_cut and (readable := readable_bytes(html)) < len(html):
            # What is too much for a scan of the whole may be little enough in that part.
            reader, _ = self._read(msgspec.structs.replace(document, html=html[:readable]))
            return reader, len(html) - readable
        html = flatten(html) if is_hostile(html) else html
        return self._parse(msgspec.structs.replace(document, html=html)), 0

    def _all_links(
        self, reader: ElementReader[Any], base_url: str, *, growth: _Growth, encoding: Encoding, depth: int = 1
    ) -> Sequence[Link]:
        """Links of a document in that encoding and of the documents within it, in document order."""
        own = reader.all_links if encoding.name == "utf-8" else encode_queries(reader.all_links, encoding)
        if not reader.nested_documents or depth > _MAX_DEPTH:
            return own
        links: list[Link] = []
        at = 0
        for position, html, is_page in reader.nested_documents:
            links.extend(own[at:position])
            of_html = UTF_8 if is_page else encoding
            links.extend(self._links_within(html, base_url, growth=growth, encoding=of_html, depth=depth))
            at = position
        links.extend(own[at:])
        return links[:MAX_LINKS]

    def _links_within(
        self, html: str, base_url: str, *, growth: _Growth, encoding: Encoding = UTF_8, depth: int = 1
    ) -> Sequence[Link]:
        """Links of HTML that is part of another document. They are absolute if that HTML has its own <base>."""
        reader, _ = self._read(self._document(growth.take(html.encode("utf-8", "replace"))))
        base = own_base(base_url, reader.base_href)
        links = self._all_links(reader, base or base_url, growth=growth, encoding=encoding, depth=depth + 1)
        links = lead_beyond_web(links, base_beyond_web(base_url, reader.base_href))
        return links if base is None else list(growth.resolve(links, base))

    def _extract_other(self, page: Page, headers: Headers, *, content_type: str) -> Extract:
        robots = robots_tag_words(headers.robots, self._robots_names)
        links, canonical = _header_links(page.url, headers)
        encoding = _encoding_of(page.body, content_type, http_charset=headers.charset)
        title = author = error = None
        simhash = None
        if self._options.fingerprint_words is not None and content_type == "text/plain" and encoding is not None:
            simhash = self._simhash(to_utf8(page.body, encoding), is_markup=False)
        if content_type == "application/pdf" and self._pdf is not None and is_pdf(page.body):
            try:
                content = self._pdf(page.body)
            except Exception as broken:  # noqa: BLE001 - as above
                error = f"its links can't be read: {reason_of(broken)}"
            else:
                links.extend(content.links)
                title, author = content.title, content.author
                if content.pages_read < content.pages:
                    error = f"read the first {content.pages_read} of {content.pages} pages"
        else:
            growth = _Growth(feed_bytes=len(page.body))
            read_html = partial(self._links_within, growth=growth)
            listing = find_links(content_type, page.body, encoding, page.url, read_html)
            links.extend(listing.links)
            error = listing.trouble or growth.trouble
        # A sitemap is there for its links.
        if "nofollow" in robots and not any(link.kind in _OF_SITEMAPS for link in links):
            links = _with_nofollow(links)
        return Extract(
            content_type=content_type,
            base_url=page.url,
            links=links,
            title=title,
            author=author,
            error=error,
            charset=encoding.name if encoding else None,
            charset_source=encoding.source if encoding else None,
            language=_cut(headers.language),
            canonical=canonical,
            nofollow="nofollow" in robots,
            noindex="noindex" in robots,
            simhash=simhash,
        )


def _encoding_of(body: bytes, content_type: str, *, http_charset: str | None) -> Encoding | None:
    """The encoding of a text that is no HTML; None if it is no text."""
    if not is_text(content_type):
        return None
    found = encoding_of(body, http_charset=http_charset, is_xml=is_xml(content_type), is_json=is_json(content_type))
    if content_type != "text/css" or found.source in ("bom", "http"):
        return found
    in_css = find_css_encoding(body)
    return found if in_css is None else Encoding(in_css, "css")


def _with_nofollow(links: Sequence[Link]) -> list[Link]:
    return [msgspec.structs.replace(link, rel=f"{link.rel} nofollow".strip()) for link in links]


def _author(meta: Mapping[str, str]) -> str | None:
    """The first name of an author. Open Graph has the URL of a profile in place of one, mostly of the publisher's."""
    for key in ("author", "article:author", "dc.creator"):
        if (name := meta.get(key)) and not name.lower().startswith(_WEB):
            return name
    return None


def _preferences(reader: ElementReader[Any]) -> list[Preference]:
    """What the <meta> elements say about the use of the page."""
    directives = directives_of(reader.robots, META, is_image=False)
    found = [] if directives is None else [directives]
    reserved = (each.name for each in (TDM_RESERVATION, TDM_POLICY) if each.name in reader.meta)
    return [*found, *(read_value(name, META, reader.meta[name]) for name in reserved)]


def _cut(language: str | None) -> str | None:
    return None if language is None else language[:MAX_TEXT_CHARACTERS]


def _header_links(url: str, headers: Headers) -> tuple[list[Link], str | None]:
    """Links of the headers, and the canonical URL among them. They are absolute: a <base> does not apply to them."""
    links: list[Link] = []
    canonical = None
    if headers.refresh and (target := refresh_url(headers.refresh)) and (absolute := join(url, target)):
        links.append(Link(absolute, LinkKind.REFRESH))
    for href, rel in headers.links:
        absolute = join(url, href)
        kind = kinds_of_rel(rel)[0]
        if absolute is None or kind is None:
            continue
        if "canonical" in rel.split() and canonical is None:
            canonical = canonical_url(url, href)
        links.append(Link(absolute, kind if kind in EMBEDDED else LinkKind.HEADER, "", rel))
    return links, canonical

"""From a fetched page to its extract, with whichever parser."""

import re
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, islice
from typing import Any, Final

import msgspec

from crawler.page import Extract, Link, LinkKind, Page
from crawler.read.css import css_urls
from crawler.read.declared_encoding import declared_in_css
from crawler.read.elements.attributes import refresh_url
from crawler.read.elements.element_readers import MAX_LINKS, Reading
from crawler.read.elements.flatten import flattened
from crawler.read.elements.hostile import is_hostile, readable_bytes
from crawler.read.elements.xhtml import as_html
from crawler.read.feeds.feeds import xml_links
from crawler.read.feeds.json_feed import MARK, Markup, json_feed_links
from crawler.read.feeds.sitemaps import NOTHING, Listing, listed_urls
from crawler.read.feeds.unpack import Unpacked
from crawler.read.headers import Headers, read_headers, robots_tag_words
from crawler.read.options import NO_WISHES, Options
from crawler.read.sniff import XHTML, is_html, is_text, is_xml, sniffed_type
from crawler.read.text import Encoding, encoding_of, percent_encoded_query, to_text, to_utf8
from crawler.url.urls import join

MAX_ABSTRACT_CHARACTERS: Final = 300
MAX_BASE_CHARACTERS: Final = 10_000
"""Of a <base>. What is relative to a longer one makes no URL to crawl, but would have to be joined to it first."""
_LIST_HEAD_BYTES: Final = 4096
_MAX_TIMES_PACKED: Final = 3
_MAX_DEPTH: Final = 3
"""Of documents within documents."""
_SENTENCE_END = re.compile(r".*[.!?。！？](?=\s|$)|.*[。！？]", re.DOTALL)


class Document(msgspec.Struct, frozen=True, kw_only=True):
    """What a parser adapter is given."""

    html: bytes
    """In UTF-8, broken or not; what a parser is given is harmless to it."""
    robots_names: frozenset[str]
    wishes: Options


class PageReader:
    """Reads pages with one parser."""

    def __init__(
        self,
        parse: Callable[[Document], Reading[Any]],
        /,
        *,
        scan: Callable[[Document], Reading[Any] | None] | None = None,
        agent: str = "",
        wishes: Options = NO_WISHES,
    ) -> None:
        """`scan` is tried first, and no page can harm it; None of it means that the page must be parsed. `agent` is
        the product token by which robots directives may address this crawler."""
        self._parse = parse
        self._scan = scan
        self._robots_names = frozenset({"robots", agent.lower()} - {""})
        self._wishes = wishes

    def extract(self, page: Page, /) -> Extract:
        """What is understood of the page. Never raises."""
        try:
            return self._extract(page)
        except Exception as error:  # noqa: BLE001 - a document may break a parser in ways nobody knows yet
            return Extract(
                content_type="application/octet-stream",
                base_url=page.url,
                error=f"{type(error).__name__}: {error}",
            )

    def _extract(self, page: Page) -> Extract:
        headers = read_headers(page.headers)
        content_type = sniffed_type(headers.media_type, page.body)
        if not is_html(content_type):
            return self._other(page, headers, content_type=content_type)
        is_xhtml = content_type == XHTML
        encoding = encoding_of(page.body, http_charset=headers.charset, is_xhtml=is_xhtml)
        html = to_utf8(page.body, encoding)
        readable = readable_bytes(html)
        cut = readable < len(html)
        if cut:
            html = html[:readable]
        if is_xhtml:
            html = as_html(html)
        reading = self._read(Document(html=html, robots_names=self._robots_names, wishes=self._wishes))
        base_url = page.url
        if reading.base_href is not None and len(reading.base_href) <= MAX_BASE_CHARACTERS:
            base_url = (join(page.url, reading.base_href) or page.url).partition("#")[0]
        robots = reading.robots | robots_tag_words(headers.robots, self._robots_names)
        links, canonical = _header_links(page.url, headers)
        links.extend(page.links)
        read = self._whole(reading, base_url) if reading.inner else reading.links
        links.extend(read if encoding.name == "utf-8" else _in_encoding(read, encoding))
        if "nofollow" in robots:
            links = [msgspec.structs.replace(link, rel=f"{link.rel} nofollow".strip()) for link in links]
        if canonical is None and reading.canonical_href is not None:
            canonical = join(base_url, reading.canonical_href)
        meta = reading.meta
        description = reading.description
        return Extract(
            content_type=content_type,
            base_url=base_url,
            links=links,
            charset=encoding.name,
            charset_source=encoding.source,
            title=reading.title or meta.get("og:title"),
            description=description,
            abstract=shortened(description) if description else reading.abstract,
            author=meta.get("author") or meta.get("article:author") or meta.get("dc.creator"),
            language=reading.language or meta.get("content-language") or headers.language,
            canonical=canonical,
            nofollow="nofollow" in robots,
            noindex="noindex" in robots,
            error=f"too much to parse: read the first {readable} bytes" if cut else None,
        )

    def _read(self, document: Document) -> Reading[Any]:
        if self._scan is not None and (scanned := self._scan(document)) is not None:
            return scanned
        if is_hostile(document.html):
            document = msgspec.structs.replace(document, html=flattened(document.html))
        return self._parse(document)

    def _whole(self, reading: Reading[Any], base_url: str, *, depth: int = 1) -> list[Link]:
        """Links of a document and of the documents within it, in their order."""
        links: list[Link] = []
        at = 0
        for position, html in reading.inner:
            links.extend(reading.links[at:position])
            links.extend(self._links_within(html, base_url, depth=depth))
            at = position
        links.extend(reading.links[at:])
        return links[:MAX_LINKS]

    def _links_within(self, html: str, base_url: str, *, depth: int = 1) -> list[Link]:
        """Links of HTML that is part of another document; absolute where it names a base of its own."""
        body = html.encode("utf-8", "replace")
        inner = self._read(
            Document(html=body[: readable_bytes(body)], robots_names=self._robots_names, wishes=self._wishes)
        )
        base = join(base_url, inner.base_href) if inner.base_href else None
        if inner.inner and depth < _MAX_DEPTH:
            links = self._whole(inner, base or base_url, depth=depth + 1)
        else:
            links = inner.links
        if base is None or len(base) > MAX_BASE_CHARACTERS:
            return links
        return [msgspec.structs.replace(link, href=join(base, link.href) or link.href) for link in links]

    def _other(self, page: Page, headers: Headers, *, content_type: str) -> Extract:
        robots = robots_tag_words(headers.robots, self._robots_names)
        links, canonical = _header_links(page.url, headers)
        encoding = None
        if is_text(content_type):
            encoding = encoding_of(page.body, http_charset=headers.charset, is_xml=is_xml(content_type))
            if content_type == "text/css" and encoding.source not in ("bom", "http"):
                in_css = declared_in_css(page.body)
                encoding = Encoding(in_css, "css") if in_css is not None else encoding
        title = author = error = None
        if content_type == "application/pdf" and self._wishes.pdf is not None:
            try:
                printed = self._wishes.pdf(page.body)
            except Exception as broken:  # noqa: BLE001 - as above
                error = f"{type(broken).__name__}: {broken}"
            else:
                links.extend(printed.links)
                title, author = printed.title, printed.author
        else:
            listing = _listing(content_type, page.body, encoding, page.url, self._links_within)
            links.extend(listing.links)
            error = listing.trouble
        return Extract(
            content_type=content_type,
            base_url=page.url,
            links=links,
            title=title,
            author=author,
            error=error,
            charset=encoding.name if encoding else None,
            charset_source=encoding.source if encoding else None,
            language=headers.language,
            canonical=canonical,
            nofollow="nofollow" in robots,
            noindex="noindex" in robots,
        )


def _listing(content_type: str, body: bytes, encoding: Encoding | None, url: str, markup: Markup) -> Listing:
    """Links of what is not HTML; `markup` reads HTML that is part of it."""
    if encoding is None:
        return _listing_of_packed((body,), url, markup) if content_type == "application/gzip" else NOTHING
    if content_type == "text/css":
        return Listing([Link(url, LinkKind.CSS) for url in islice(css_urls(to_text(body, encoding)), MAX_LINKS)])
    if content_type == "text/plain":
        return _listing_of_text(body, encoding, url)
    if is_xml(content_type):
        return xml_links([to_utf8(body, encoding)], url=url, markup=markup)
    is_feed = content_type.endswith("json") and MARK in body
    return json_feed_links(to_text(body, encoding), url=url, markup=markup) if is_feed else NOTHING


def _listing_of_text(body: bytes, encoding: Encoding, url: str) -> Listing:
    """Links of a list of URLs. Most texts are none, which their first lines show: decoded whole, they would take up to
    four times as much."""
    head = to_text(body[:_LIST_HEAD_BYTES], encoding)
    lines = head if len(body) <= _LIST_HEAD_BYTES else head.rpartition("\n")[0] or head
    if lines.strip() and not listed_urls(lines, url=url).links:
        return NOTHING
    return listed_urls(to_text(body, encoding), url=url)


def _listing_of_packed(packed: Iterable[bytes], url: str, markup: Markup, *, times: int = 1) -> Listing:
    """Links of a sitemap that is kept compressed, as `sitemap.xml.gz`; some are so several times."""
    unpacked = Unpacked(packed)
    pieces = iter(unpacked)
    head = next(pieces, b"")
    # A document that is whole ends with a tag, and this is a piece of one.
    content_type = sniffed_type(None, head[: head.rfind(b">") + 1] or head)
    if content_type == "application/gzip":
        if times == _MAX_TIMES_PACKED:
            return Listing([], f"is compressed more than {times} times, and not read")
        listing = _listing_of_packed(chain((head,), pieces), url, markup, times=times + 1)
    elif content_type == "text/plain" or is_xml(content_type):
        encoding = encoding_of(head, http_charset=None, is_xml=is_xml(content_type))
        if is_xml(content_type) and encoding.name == "utf-8":
            listing = xml_links(chain((head[encoding.bom_bytes :],), pieces), url=url, markup=markup)
        else:
            whole = b"".join(chain((head,), pieces))
            encoding = encoding_of(whole, http_charset=None, is_xml=is_xml(content_type))
            listing = _listing(content_type, whole, encoding, url, markup)
    else:
        return NOTHING if head else Listing([], unpacked.trouble)
    # What ends the data ends the document, too.
    return Listing(listing.links, unpacked.trouble or listing.trouble)


def _in_encoding(links: list[Link], encoding: Encoding) -> Iterator[Link]:
    for link in links:
        if link.href.isascii():
            yield link
        else:
            yield msgspec.structs.replace(link, href=percent_encoded_query(link.href, encoding))


def _header_links(url: str, headers: Headers) -> tuple[list[Link], str | None]:
    """Links of the headers, and the canonical URL among them. They are absolute: a <base> has no say in them."""
    links: list[Link] = []
    canonical = None
    if headers.refresh and (target := refresh_url(headers.refresh)) and (absolute := join(url, target)):
        links.append(Link(absolute, LinkKind.REFRESH))
    for href, rel in headers.links:
        absolute = join(url, href)
        if absolute is None or "preconnect" in rel or "dns-prefetch" in rel:
            continue
        if "canonical" in rel.split() and canonical is None:
            canonical = absolute
        links.append(Link(absolute, LinkKind.HEADER, "", rel))
    return links, canonical


def shortened(text: str, /) -> str:
    """At most `MAX_ABSTRACT_CHARACTERS`, ending with a sentence if one ends in the second half."""
    if len(text) <= MAX_ABSTRACT_CHARACTERS:
        return text
    cut = text[:MAX_ABSTRACT_CHARACTERS]
    sentences = _SENTENCE_END.match(cut)
    if sentences is not None and sentences.end() >= MAX_ABSTRACT_CHARACTERS // 2:
        return sentences[0]
    return f"{cut.rpartition(' ')[0] or cut[:-1]}…"


def summary(paragraphs: Iterable[str], /) -> str | None:
    """The first sentences of the paragraphs; None if they hold no words. Reads no more of them than it needs."""
    collected: list[str] = []
    length = 0
    for paragraph in paragraphs:
        words = " ".join(paragraph[: 8 * MAX_ABSTRACT_CHARACTERS].split())
        if words:
            collected.append(words)
            length += len(words) + 1
        if length >= MAX_ABSTRACT_CHARACTERS:
            break
    return shortened(" ".join(collected)) if collected else None

"""Finds links in documents other than HTML: style sheets, SVG, sitemaps, feeds, lists of URLs."""

from collections import deque
from collections.abc import Iterable
from itertools import chain, islice
from typing import Final

from crawler.page import READ_IN_PART, Link, LinkKind
from crawler.read.css import css_urls
from crawler.read.elements.element_reader import MAX_LINKS
from crawler.read.elements.hostile import readable_bytes
from crawler.read.elements.xhtml import xhtml_to_html
from crawler.read.encoding.text import Encoding, encoding_of, to_text, to_utf8
from crawler.read.feeds.json_feed import ReadHtml, json_feed_links
from crawler.read.feeds.sitemaps import NO_LINKS, Listing, parse_url_list
from crawler.read.feeds.unpack import GzipPieces
from crawler.read.feeds.xml_prolog import MAX_PROLOG_BYTES, READABLE, find_root
from crawler.read.sniff import JSON_FEED_MARK, is_xml, sniff_type

_LIST_HEAD_BYTES: Final = 4096
_MAX_TIMES_COMPRESSED: Final = 3


def find_links(content_type: str, body: bytes, encoding: Encoding | None, url: str, read_html: ReadHtml) -> Listing:
    """Links of a document from `url` that is not HTML. `read_html` reads HTML that is part of it."""
    if encoding is None:
        return _links_of_gzip((body,), url, read_html) if content_type == "application/gzip" else NO_LINKS
    if content_type == "text/css":
        return Listing([Link(url, LinkKind.CSS) for url in islice(css_urls(to_text(body, encoding)), MAX_LINKS)])
    if content_type == "text/plain":
        return _links_of_text(body, encoding, url)
    if content_type == "image/svg+xml":
        return _links_of_svg(to_utf8(body, encoding), url, read_html)
    if is_xml(content_type):
        xml = to_utf8(body, encoding)
        root = find_root(xml[:MAX_PROLOG_BYTES])
        # Many sites have some other XML, such as a description for search engines.
        is_listing = root is not None and root.name in READABLE
        return _xml_links([xml], url=url, read_html=read_html) if is_listing else NO_LINKS
    is_feed = content_type.endswith("json") and JSON_FEED_MARK in body
    return json_feed_links(to_text(body, encoding), url=url, read_html=read_html) if is_feed else NO_LINKS


def _links_of_svg(svg: bytes, url: str, read_html: ReadHtml) -> Listing:
    """Links of an SVG document, in UTF-8. It is cut before it is rewritten, which takes time for each tag."""
    readable = readable_bytes(svg)
    links = read_html(xhtml_to_html(svg[:readable]).decode("utf-8", "replace"), url)
    return Listing(links, None if readable == len(svg) else f"{READ_IN_PART}: read the first {readable} bytes")


def _links_of_text(body: bytes, encoding: Encoding, url: str) -> Listing:
    """Links of a list of URLs. Most texts are not such lists. Their first lines show that, so we decode only these: the
    decoded text may take four times as much memory."""
    head = to_text(body[:_LIST_HEAD_BYTES], encoding)
    lines = head if len(body) <= _LIST_HEAD_BYTES else head.rpartition("\n")[0] or head
    if lines.strip() and not parse_url_list(lines, url=url).links:
        return NO_LINKS
    return parse_url_list(to_text(body, encoding), url=url)


def _links_of_gzip(compressed: Iterable[bytes], url: str, read_html: ReadHtml, *, times: int = 1) -> Listing:
    """Links of a compressed sitemap, such as `sitemap.xml.gz`. Some are compressed several times over."""
    decompressed = GzipPieces(compressed)
    pieces = iter(decompressed)
    head = next(pieces, b"")
    # A complete document ends with a tag. `head` is only a piece, so we cut it there for `sniff_type`.
    content_type = sniff_type(None, head[: head.rfind(b">") + 1] or head)
    if content_type == "application/gzip":
        if times == _MAX_TIMES_COMPRESSED:
            return Listing([], f"is compressed more than {times} times, and not read")
        listing = _links_of_gzip(chain((head,), pieces), url, read_html, times=times + 1)
    elif content_type == "text/plain" or is_xml(content_type):
        encoding = encoding_of(head, http_charset=None, is_xml=is_xml(content_type))
        if is_xml(content_type) and encoding.name == "utf-8":
            listing = _xml_links(chain((head[encoding.bom_bytes :],), pieces), url=url, read_html=read_html)
        else:
            body = b"".join(chain((head,), pieces))
            encoding = encoding_of(body, http_charset=None, is_xml=is_xml(content_type))
            listing = find_links(content_type, body, encoding, url, read_html)
    else:
        return NO_LINKS if head else Listing([], decompressed.trouble)
    # Damage in the compressed data is the better explanation, also if the parser gives up before it shows.
    if listing.trouble is not None:
        deque(pieces, maxlen=0)
    return Listing(listing.links, decompressed.trouble or listing.trouble)


def _xml_links(pieces: Iterable[bytes], *, url: str, read_html: ReadHtml) -> Listing:
    # Its patterns take a tenth of an empty Python to compile.
    from crawler.read.feeds.feeds import xml_links  # noqa: PLC0415 - see above

    return xml_links(pieces, url=url, read_html=read_html)

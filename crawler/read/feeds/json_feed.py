"""Finds links in JSON Feed, version 1.1 (https://www.jsonfeed.org/version/1.1/)."""

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

import msgspec

from crawler.page import READ_IN_PART, Link, LinkKind
from crawler.read.feeds.entries import link_to
from crawler.read.feeds.sitemaps import MAX_DATE_CHARACTERS, MAX_LINKS, Listing

_VERSION: Final = "jsonfeed.org/version/"
"""Part of the version of each feed."""
_DATES: Final = ("date_modified", "date_published")
"""Of items. The first that is there counts."""

_MAX_VALUES: Final = 1_000_000
"""Values and commas in texts together. A feed is decoded as a whole, and a value of three bytes takes 100 in memory."""

ReadHtml = Callable[[str, str], Sequence[Link]]
"""Finds the links of HTML that is part of another document. Takes the HTML and its base URL."""


def json_feed_links(text: str, /, *, url: str, read_html: ReadHtml) -> Listing:
    """Links of a feed from `url`, in document order; none for any other JSON."""
    if sum(map(text.count, ",[{")) > _MAX_VALUES:
        return Listing([], f"{READ_IN_PART}: has more than {_MAX_VALUES} values, and is not read")
    try:
        feed = json.loads(text, strict=False)
    except (ValueError, RecursionError) as error:
        return Listing([], f"is not JSON: {error}")
    if not isinstance(feed, dict) or _VERSION not in str(feed.get("version")):
        return Listing([])
    links = list(_of_channel(feed))
    items = feed.get("items")
    for number, item in enumerate(items if isinstance(items, list) else ()):
        if number == MAX_LINKS:
            return Listing(links, f"lists more than {MAX_LINKS} items; the rest is not read")
        if isinstance(item, dict):
            date = next((item[name] for name in _DATES if isinstance(item.get(name), str)), "")
            if len(date) > MAX_DATE_CHARACTERS:
                date = ""
            links.extend(msgspec.structs.replace(link, entry_date=date) for link in _of_item(item, url, read_html))
    return Listing(links)


def _of_channel(feed: dict[str, Any]) -> Iterator[Link]:
    for name in ("home_page_url", "feed_url", "next_url"):
        yield from _link(feed, name, LinkKind.FEED)
    for name in ("icon", "favicon"):
        yield from _link(feed, name, LinkKind.EMBED)
    yield from _of_authors(feed)


def _of_item(item: dict[str, Any], url: str, read_html: ReadHtml) -> Iterator[Link]:
    own = list(_link(item, "url", LinkKind.FEED))
    yield from own
    if not own and str(item.get("id")).startswith(("http://", "https://")):
        yield from _link(item, "id", LinkKind.FEED)
    yield from _link(item, "external_url", LinkKind.FEED)
    for name in ("image", "banner_image"):
        yield from _link(item, name, LinkKind.EMBED)
    yield from _of_authors(item)
    attachments = item.get("attachments")
    for attachment in attachments if isinstance(attachments, list) else ():
        yield from _link(attachment, "url", LinkKind.EMBED, rel="enclosure")
    html = item.get("content_html")
    if isinstance(html, str) and "<" in html:
        yield from read_html(html, url)


def _of_authors(source: dict[str, Any]) -> Iterator[Link]:
    authors = source.get("authors")
    for author in [source.get("author"), *(authors if isinstance(authors, list) else ())]:
        yield from _link(author, "url", LinkKind.FEED)
        yield from _link(author, "avatar", LinkKind.EMBED)


def _link(source: Any, name: str, kind: LinkKind, *, rel: str = "") -> Iterator[Link]:
    href = source.get(name) if isinstance(source, dict) else None
    if isinstance(href, str) and (link := link_to(href, kind, rel=rel)) is not None:
        yield link

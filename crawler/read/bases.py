"""The base URL of a page, by its <base>, and what is joined with it."""

from collections.abc import Sequence
from itertools import islice
from typing import Final

import msgspec

from crawler.page import READ_IN_PART, Extract, Link
from crawler.url.urls import LONGEST_URL, join, join_beyond_web

MAX_BASE_CHARACTERS: Final = 10_000
"""Limit for a <base>. Links relative to a longer one would be too long to crawl, and joining them takes time."""
_MAX_JOINED_CHARACTERS: Final = 40_000_000
"""Of the relative links of a document, if each had the length of its base: twice as many are in memory when they are
judged."""
_ABSOLUTE: Final = ("https://", "http://")
_IGNORED: Final = ("data:", "javascript:")


def base_url_of(page_url: str, base_href: str | None, /) -> str:
    """The base URL of a page; that of the page itself if the <base> is not of the web."""
    if base_href is None or len(base_href) > MAX_BASE_CHARACTERS:
        return page_url
    return (join(page_url, base_href) or page_url).partition("#")[0]


def base_beyond_web(page_url: str, base_href: str | None, /) -> str | None:
    """The base of a page that names one of another scheme, such as `ftp:` or `file:`; otherwise None. By the standard,
    some schemes are no bases."""
    if base_href is None or ":" not in base_href or len(base_href) > MAX_BASE_CHARACTERS:
        return None
    base = join_beyond_web(page_url, base_href)
    return None if base is None or base.startswith(_IGNORED) else base


def lead_beyond_web(links: Sequence[Link], base: str | None, /) -> Sequence[Link]:
    """The links by a base of another scheme, if there is one. It stands for each relative link; it may be long."""
    if base is None:
        return links
    return [link if join(base, link.href) else msgspec.structs.replace(link, href=base) for link in links]


def own_base(base_url: str, base_href: str | None, /) -> str | None:
    """The base that a document within another names; None if it names none, or a long one."""
    base = join(base_url, base_href) if base_href and len(base_href) <= MAX_BASE_CHARACTERS else None
    return None if base is None or len(base) > MAX_BASE_CHARACTERS else base


def canonical_url(base: str, href: str, /) -> str | None:
    """The canonical URL that a page names; None if no crawl may take it."""
    url = join(base, href) if len(href) <= LONGEST_URL else None
    return None if url is None or len(url) > LONGEST_URL else url


def cut_links(extract: Extract, /) -> Extract:
    """The extract up to where memory can hold no more links joined with their base, which may be long."""
    links = extract.links
    most = _MAX_JOINED_CHARACTERS // len(extract.base_url.partition("?")[0])
    if len(links) <= most:
        return extract
    relative = (at for at, link in enumerate(links) if not link.href.startswith(_ABSOLUTE))
    end = next(islice(relative, most, None), None)
    if end is None:
        return extract
    error = extract.error or f"{READ_IN_PART}: read its first {end} links, because their base is long"
    return msgspec.structs.replace(extract, links=links[:end], error=error)

"""Refuses what can't be stored."""

from collections.abc import Iterable

from frontier.protocol.url_batch import UrlBatch
from frontier.records import ORDINAL_BITS
from frontier.values import CrawlUrl

PRECEDENCES = 1 << 64 - ORDINAL_BITS
MAX_COST = 1 << 31
MAX_SECONDS = 1e9
"""Thirty years. A longer rest is a mistake and would not fit into the store."""


def check_urls(urls: Iterable[CrawlUrl]) -> None:
    """Raise ValueError for what can't be stored, before the visited set has seen any of it."""
    if isinstance(urls, UrlBatch) and (urls.is_ascii or "".join(urls.canonicals).isascii()):
        return  # all else is promised, see `UrlBatch`
    # Python knows whether a text is ASCII without reading it, so only other texts are encoded.
    texts: list[str] = []
    keys: set[str] = set()
    for url in urls:
        if not 0 <= url.precedence < PRECEDENCES:
            raise ValueError(f"precedence must be 0 to {PRECEDENCES - 1}, got {url.precedence} for {url.url}")
        if not 0 <= url.cost < MAX_COST:
            raise ValueError(f"cost must be 0 to {MAX_COST - 1}, got {url.cost} for {url.url}")
        if not (url.url.isascii() and url.canonical.isascii()):
            texts += (url.url, url.canonical)
        keys.add(url.queue_key)
    for key in keys:
        if "\0" in key:
            raise ValueError(f"a queue key must not contain NUL, got {key!r}")
    try:
        "".join((*texts, *keys)).encode()
    except UnicodeEncodeError as error:
        raise ValueError(f"a URL can't be encoded as UTF-8: {error}") from error


def check_seconds(**spans: float | None) -> None:
    """Raise ValueError for a span that makes no sense; None is none."""
    for name, span_s in spans.items():
        if span_s is not None and not 0 <= span_s <= MAX_SECONDS:
            raise ValueError(f"{name} must be 0 to {MAX_SECONDS:.0f}, got {span_s}")

"""Fetchers for tests: the same terms for the whole web."""

from collections.abc import Mapping
from typing import Any

from crawler.fetch.headers import sent_always
from crawler.fetch.http import HttpFetcher
from crawler.fetch.terms import Terms


def http_fetcher(*, headers: Mapping[str, str] | None = None, **settings: Any) -> HttpFetcher:
    """A fetcher with these settings; those of `Terms` hold everywhere."""
    named = {name: settings.pop(name) for name in Terms.__struct_fields__ if name in settings}
    terms = Terms(headers=sent_always("onceover/1.0", headers or {}), **named)
    return HttpFetcher(terms=lambda _: terms, **settings)

"""Fetchers for tests: the same terms for the whole web."""

from collections.abc import Mapping
from inspect import signature
from typing import Any

from crawler.fetch.headers import sent_always
from crawler.fetch.http import HttpFetcher
from crawler.fetch.network import Network
from crawler.fetch.terms import Terms


def http_fetcher(*, headers: Mapping[str, str] | None = None, **settings: Any) -> HttpFetcher:
    """A fetcher with these settings; those of `Terms` hold everywhere."""
    named = {name: settings.pop(name) for name in Terms.__struct_fields__ if name in settings}
    terms = Terms(headers=sent_always("onceover/1.0", headers or {}), **named)
    of_network = {name: settings.pop(name) for name in signature(Network).parameters if name in settings}
    network = Network(head_timeout_s=lambda _: terms.head_timeout_s, **of_network)
    return HttpFetcher(network, terms=lambda _: terms, **settings)

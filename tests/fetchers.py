"""Fetchers for tests: the same limits for the whole web."""

from collections.abc import Callable, Mapping, Sequence
from inspect import signature
from typing import Any

from msgspec.structs import replace

from crawler.fetch.connect.guard import Guard
from crawler.fetch.connect.network import Network
from crawler.fetch.headers import default_headers, unrecorded_headers
from crawler.fetch.http import HttpFetcher
from crawler.fetch.request_limits import RequestLimits
from crawler.testing.timeouts import MAX_WAIT_S

Fetchers = Callable[..., HttpFetcher]


def http_fetcher(
    *,
    headers: Mapping[str, str] | None = None,
    hanging: Mapping[str, float] | None = None,
    allow_private: bool = False,
    allow_networks: Sequence[str] = (),
    **settings: Any,
) -> HttpFetcher:
    """A fetcher with these settings; those of `RequestLimits` hold everywhere. `hanging` are ends of URLs that never
    answer, and for how many seconds they are waited for."""
    if not any(name.endswith("timeout_s") for name in settings):
        settings |= dict.fromkeys(("timeout_s", "connect_timeout_s", "head_timeout_s"), MAX_WAIT_S)
    named = {name: settings.pop(name) for name in RequestLimits.__struct_fields__ if name in settings}
    configured = headers or {}
    limits = RequestLimits(
        headers=default_headers("onceover/1.0", configured), unrecorded=unrecorded_headers(configured), **named
    )
    of_network = {name: settings.pop(name) for name in signature(Network).parameters if name in settings}
    guard = Guard(allow_private=allow_private, networks=allow_networks)
    network = Network(guard=guard, **of_network)
    others = {end: replace(limits, timeout_s=seconds) for end, seconds in (hanging or {}).items()}

    def limits_for(url: str) -> RequestLimits:
        return next((those for end, those in others.items() if url.endswith(end)), limits)

    return HttpFetcher(network, limits=limits_for, **settings)

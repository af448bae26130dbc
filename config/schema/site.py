"""Settings that a block for some sites may override."""

from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta

from config.schema.kinds import Place, meaning

SITE_KEYS: Final = (
    "scope.include",
    "scope.exclude",
    "scope.max_depth",
    "traps.max_segments",
    "traps.max_repeats",
    "traps.max_parameters",
    "traps.calendar_years",
    "traps.pages_per_host",
    "traps.pages_per_domain",
    "traps.pages_per_pattern",
    "traps.sitemaps_per_host",
    "traps.host_sitemap_bytes",
    "traps.sitemaps_per_domain",
    "traps.domain_sitemap_bytes",
    "frontier.max_attempts",
    "frontier.retry_delay_s",
    "frontier.retry_max_delay_s",
    "frontier.open_after",
    "frontier.dead_after",
    "frontier.total_budget",
    "politeness.robots",
    "politeness.min_delay_s",
    "politeness.max_delay_s",
    "politeness.delay_factor",
    "politeness.per_host",
    "politeness.max_bytes_per_s",
    "politeness.hours",
    "politeness.max_crawl_delay_s",
    "politeness.max_retry_after_s",
    "fetch.timeout_s",
    "fetch.connect_timeout_s",
    "fetch.head_timeout_s",
    "fetch.min_window_bytes",
    "fetch.window_s",
    "fetch.max_body_bytes",
    "fetch.languages",
    "fetch.headers",
    "fetch.cookies",
)
"""Settings that may differ between sites. `wiring` gives each to its component by URL or by queue."""


class Site(msgspec.Struct, frozen=True, kw_only=True):
    """Settings for a part of the web. If several blocks match a URL, the most specific one counts: a directory before a
    host, a host before a domain, a subdomain before its domain. Of equally specific blocks, the last one counts."""

    match: Annotated[tuple[Place, ...], meaning("Places where this block applies, written like scope.places.")]
    overrides: Annotated[dict[str, Any], Meta(extra={"overrides": SITE_KEYS})] = {}
    """Checked values by key, such as `politeness.min_delay_s`."""

"""When a changed setting takes effect: at once, from the next start, or never in this crawl. Pure."""

from typing import Final, Literal

import msgspec

from config import Config
from crawler.wiring.components.discovering import queue_identity

_NOW: Final = frozenset(
    {
        "crawl.seeds",
        "crawl.seed_files",
        "scope.within",
        "scope.places",
        "scope.place_files",
        "scope.exclude_places",
        "scope.exclude_place_files",
        "scope.include",
        "scope.exclude",
        "scope.embeds",
        "scope.ports",
        "scope.offsite_embeds",
        "scope.check_external",
        "scope.nofollow",
        "scope.sitemaps",
        "scope.sitemap_paths",
        "scope.sitemap_max_age_s",
        "scope.max_depth",
        "scope.max_url_length",
        "traps",
        "focus",
        "frontier.max_attempts",
        "frontier.retry_delay_s",
        "frontier.retry_max_delay_s",
        "frontier.open_after",
        "frontier.dead_after",
        "frontier.order",
        "frontier.embeds_first",
        "frontier.cost",
        "frontier.session_budget",
        "frontier.total_budget",
        "frontier.error_penalty",
        "politeness.robots",
        "politeness.min_delay_s",
        "politeness.max_delay_s",
        "politeness.delay_factor",
        "politeness.max_bytes_per_s",
        "politeness.hours",
        "politeness.max_crawl_delay_s",
        "politeness.max_retry_after_s",
        "fetch.concurrency",
        "fetch.spare",
        "fetch.timeout_s",
        "fetch.connect_timeout_s",
        "fetch.head_timeout_s",
        "fetch.min_window_bytes",
        "fetch.window_s",
        "fetch.max_body_bytes",
        "fetch.max_sitemap_bytes",
        "fetch.max_redirects",
        "fetch.languages",
        "fetch.headers",
        "fetch.cookies",
        "identity.email",
        "output.links",
        "output.link_details",
        "output.refusals",
        "output.text",
        "output.markdown",
        "output.pdf_text",
        "output.warc_types",
        "output.warc_max_body_bytes",
        "output.structured_data",
        "output.check_fragments",
        "output.text_max_bytes",
        "output.min_free_bytes",
        "output.max_disk_bytes",
        "output.keep_s",
        "output.keep_bytes",
        "limits",
        "site",
    }
)
_PER_HOST: Final = "politeness.per_host"
_AT_RESTART: Final = {
    "crawl.name": "it stands in what the crawl has written",
    "crawl.purpose": "pages are read and judged with it",
    "crawl.respect_preferences": "pages are read and judged with it",
    "crawl.purpose_names": "robots.txt files are read with it",
    "scope": "the extractor is made with it",
    "frontier": "the frontier is opened with it",
    "frontier.parallel_queues": "URLs that the crawl finds are put into queues by it",
    "visited": "the visited set is made with it, and filled again",
    "politeness": "the queues are made with it",
    "fetch.user_agent": "sites and their robots.txt know the crawl by it",
    "fetch": "the connections are made with it",
    "fetch.extractor": "the extractor is made with it",
    "fetch.extractor_options": "the extractor is made with it",
    "identity": "what signs requests is made with it",
    "render": "the browsers are started with it",
    "output": "its files are open",
    "log": "its file was opened with it",
    "exchange": "the parts are connected by it",
    "daemon": "a daemon that watches over this crawl reads it from the crawl's file",
    "progress": "the display was started with it",
    "duplicates": "pages are read and judged with it",
    "recrawl": "the next visits are planned with it",
    "site": f"{_PER_HOST} differs between sites, and the queues are made with it",
}
_BY_REBUILD: Final = "URLs are stored by it; `onceover crawl --rebuild`, with the setting changed, rebuilds them"
_NEVER: Final = {
    "crawl.directory": "to move a crawl, stop it, move its directory, and name that by --dir",
    "crawl.parts": "`onceover parts DIR --into N` divides it anew",
    "frontier.backend": "the URLs of this crawl are in it; `onceover frontier export` and `import` copy them",
    "frontier.queue_by": _BY_REBUILD,
    "frontier.queue_prefixes": _BY_REBUILD,
    "urls": _BY_REBUILD,
    "exchange.lease_s": "all machines of the crawl have agreed on it",
    "compare": "it is a setting of `onceover compare`, not of a crawl",
}


class Effect(msgspec.Struct, frozen=True):
    """When a change of a setting takes effect, and why not at once."""

    when: Literal["now", "restart", "never"]
    reason: str | None = None


def effect_of(key: str, /, before: Config, after: Config) -> Effect:
    """When the change of a setting or of a kind of block takes effect. Raises `KeyError` for one of which
    nobody has decided that."""
    reason = _find(_NEVER, key)
    if reason is not None and not (key.startswith("frontier.queue_") and _keeps_queues(before, after)):
        return Effect("never", reason)
    is_split = key == "site" and any(_PER_HOST in each.overrides for each in (*before.site, *after.site))
    if not is_split and (key in _NOW or key.partition(".")[0] in _NOW):
        return Effect("now")
    return Effect("restart", _find(_AT_RESTART, key) or _AT_RESTART[key])


def _find(reasons: dict[str, str], key: str) -> str | None:
    return reasons.get(key) or reasons.get(key.partition(".")[0])


def _keeps_queues(before: Config, after: Config) -> bool:
    """Whether URLs have the same queues, as with `host` and `ip`."""
    return queue_identity(before) == queue_identity(after)

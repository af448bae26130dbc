"""When a changed setting takes effect: at once, from the next start, or never in this crawl. Pure."""

from functools import partial
from typing import Final, Literal

import msgspec

from config import Config
from crawler.wiring.components.discovering import queue_identity


class Effect(msgspec.Struct, frozen=True):
    """When a change of a setting takes effect, and why not at once."""

    when: Literal["now", "restart", "never"]
    reason: str | None = None


_NOW: Final = Effect("now")
_restart: Final = partial(Effect, "restart")
_never: Final = partial(Effect, "never")
_BY_REBUILD: Final = _never(
    "URLs are stored by it; `onceover crawl --rebuild`, with the setting changed, rebuilds them"
)

_EFFECTS: Final = {
    "crawl.name": _restart("it stands in what the crawl has written"),
    "crawl.purpose": _restart("pages are read and judged with it"),
    "crawl.respect_preferences": _restart("pages are read and judged with it"),
    "crawl.purpose_names": _restart("robots.txt files are read with it"),
    "crawl.directory": _never("to move a crawl, stop it, move its directory, and name that by --dir"),
    "crawl.parts": _never("`onceover parts DIR --into N` divides it anew"),
    "crawl.seeds": _NOW,
    "crawl.seed_files": _NOW,
    "scope": _restart("the extractor is made with it"),
    "scope.within": _NOW,
    "scope.places": _NOW,
    "scope.place_files": _NOW,
    "scope.exclude_places": _NOW,
    "scope.exclude_place_files": _NOW,
    "scope.include": _NOW,
    "scope.exclude": _NOW,
    "scope.embeds": _NOW,
    "scope.ports": _NOW,
    "scope.offsite_embeds": _NOW,
    "scope.check_external": _NOW,
    "scope.nofollow": _NOW,
    "scope.sitemaps": _NOW,
    "scope.sitemap_paths": _NOW,
    "scope.sitemap_max_age_s": _NOW,
    "scope.max_depth": _NOW,
    "scope.max_url_length": _NOW,
    "traps": _NOW,
    "focus": _NOW,
    "urls": _BY_REBUILD,
    "frontier": _restart("the frontier is opened with it"),
    "frontier.parallel_queues": _restart("URLs that the crawl finds are put into queues by it"),
    "frontier.backend": _never("the URLs of this crawl are in it; `onceover frontier export` and `import` copy them"),
    "frontier.queue_by": _BY_REBUILD,
    "frontier.queue_prefixes": _BY_REBUILD,
    "frontier.max_attempts": _NOW,
    "frontier.retry_delay_s": _NOW,
    "frontier.retry_max_delay_s": _NOW,
    "frontier.open_after": _NOW,
    "frontier.dead_after": _NOW,
    "frontier.order": _NOW,
    "frontier.embeds_first": _NOW,
    "frontier.cost": _NOW,
    "frontier.session_budget": _NOW,
    "frontier.total_budget": _NOW,
    "frontier.error_penalty": _NOW,
    "visited": _restart("the visited set is made with it, and filled again"),
    "politeness": _restart("the queues are made with it"),
    "politeness.robots": _NOW,
    "politeness.min_delay_s": _NOW,
    "politeness.max_delay_s": _NOW,
    "politeness.delay_factor": _NOW,
    "politeness.max_bytes_per_s": _NOW,
    "politeness.hours": _NOW,
    "politeness.max_crawl_delay_s": _NOW,
    "politeness.max_retry_after_s": _NOW,
    "fetch": _restart("the connections are made with it"),
    "fetch.user_agent": _restart("sites and their robots.txt know the crawl by it"),
    "fetch.extractor": _restart("the extractor is made with it"),
    "fetch.extractor_options": _restart("the extractor is made with it"),
    "fetch.concurrency": _NOW,
    "fetch.spare": _NOW,
    "fetch.timeout_s": _NOW,
    "fetch.connect_timeout_s": _NOW,
    "fetch.head_timeout_s": _NOW,
    "fetch.min_window_bytes": _NOW,
    "fetch.window_s": _NOW,
    "fetch.max_body_bytes": _NOW,
    "fetch.max_sitemap_bytes": _NOW,
    "fetch.max_redirects": _NOW,
    "fetch.languages": _NOW,
    "fetch.headers": _NOW,
    "fetch.cookies": _NOW,
    "identity": _restart("what signs requests is made with it"),
    "identity.email": _NOW,
    "render": _restart("the browsers are started with it"),
    "output": _restart("its files are open"),
    "output.links": _NOW,
    "output.link_details": _NOW,
    "output.refusals": _NOW,
    "output.text": _NOW,
    "output.markdown": _NOW,
    "output.pdf_text": _NOW,
    "output.warc_types": _NOW,
    "output.warc_max_body_bytes": _NOW,
    "output.structured_data": _NOW,
    "output.check_fragments": _NOW,
    "output.text_max_bytes": _NOW,
    "output.min_free_bytes": _NOW,
    "output.max_disk_bytes": _NOW,
    "output.keep_s": _NOW,
    "output.keep_bytes": _NOW,
    "duplicates": _restart("pages are read and judged with it"),
    "recrawl": _restart("the next visits are planned with it"),
    "limits": _NOW,
    "site": _NOW,
    "log": _restart("its file was opened with it"),
    "progress": _restart("the display was started with it"),
    "exchange": _restart("the parts are connected by it"),
    "exchange.lease_s": _never("all machines of the crawl have agreed on it"),
    "daemon": _restart("a daemon that watches over this crawl reads it from the crawl's file"),
    "compare": _never("it is a setting of `onceover compare`, not of a crawl"),
}
"""By setting, or by kind of block for all others of its settings."""

_PER_HOST: Final = "politeness.per_host"
_PER_HOST_OF_SITES: Final = _restart(f"{_PER_HOST} differs between sites, and the queues are made with it")


def effect_of(key: str, /, before: Config, after: Config) -> Effect:
    """When the change of a setting or of a kind of block takes effect. Raises `KeyError` for one of which
    nobody has decided that."""
    if key == "site" and any(_PER_HOST in each.overrides for each in (*before.site, *after.site)):
        return _PER_HOST_OF_SITES
    if key.startswith("frontier.queue_") and queue_identity(before) == queue_identity(after):
        return _EFFECTS["frontier"]  # URLs keep their queues, as with `host` and `ip`
    return _EFFECTS.get(key) or _EFFECTS[key.partition(".")[0]]

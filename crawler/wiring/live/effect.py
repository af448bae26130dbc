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

_AT_ONCE: Final = {
    "crawl": "seeds seed_files",
    "scope": (
        "within places place_files exclude_places exclude_place_files include exclude embeds ports "
        "offsite_embeds check_external nofollow sitemaps sitemap_paths sitemap_max_age_s max_depth "
        "max_url_length"
    ),
    "frontier": (
        "max_attempts retry_delay_s retry_max_delay_s open_after dead_after order embeds_first cost "
        "session_budget total_budget error_penalty"
    ),
    "politeness": (
        "robots min_delay_s max_delay_s delay_factor max_bytes_per_s hours max_crawl_delay_s max_retry_after_s"
    ),
    "fetch": (
        "concurrency spare timeout_s connect_timeout_s head_timeout_s min_window_bytes window_s "
        "max_body_bytes max_sitemap_bytes max_redirects languages headers cookies"
    ),
    "identity": "email",
    "output": (
        "links link_details refusals text markdown pdf_text warc_types warc_max_body_bytes structured_data "
        "check_fragments text_max_bytes min_free_bytes max_disk_bytes keep_s keep_bytes"
    ),
}
"""Settings that hold at once, by the kind of their block."""
_EFFECTS: Final = {
    "crawl.name": _restart("it stands in what the crawl has written"),
    "crawl.purpose": _restart("pages are read and judged with it"),
    "crawl.respect_preferences": _restart("pages are read and judged with it"),
    "crawl.purpose_names": _restart("robots.txt files are read with it"),
    "crawl.directory": _never("to move a crawl, stop it, move its directory, and name that by --dir"),
    "crawl.parts": _never("`onceover parts DIR --into N` divides it anew"),
    "scope": _restart("the extractor is made with it"),
    "urls": _BY_REBUILD,
    "frontier": _restart("the frontier is opened with it"),
    "frontier.parallel_queues": _restart("URLs that the crawl finds are put into queues by it"),
    "frontier.backend": _never("the URLs of this crawl are in it; `onceover frontier export` and `import` copy them"),
    "frontier.queue_by": _BY_REBUILD,
    "frontier.queue_prefixes": _BY_REBUILD,
    "visited": _restart("the visited set is made with it, and filled again"),
    "politeness": _restart("the queues are made with it"),
    "fetch": _restart("the connections are made with it"),
    "fetch.user_agent": _restart("sites and their robots.txt know the crawl by it"),
    "fetch.extractor": _restart("the extractor is made with it"),
    "fetch.extractor_options": _restart("the extractor is made with it"),
    "identity": _restart("what signs requests is made with it"),
    "render": _restart("the browsers are started with it"),
    "output": _restart("its files are open"),
    "duplicates": _restart("pages are read and judged with it"),
    "recrawl": _restart("the next visits are planned with it"),
    "log": _restart("its file was opened with it"),
    "progress": _restart("the display was started with it"),
    "exchange": _restart("the parts are connected by it"),
    "exchange.lease_s": _never("all machines of the crawl have agreed on it"),
    "daemon": _restart("a daemon that watches over this crawl reads it from the crawl's file"),
    "compare": _never("it is a setting of `onceover compare`, not of a crawl"),
    "traps": _NOW,
    "focus": _NOW,
    "limits": _NOW,
    "site": _NOW,
    **{f"{kind}.{name}": _NOW for kind, names in _AT_ONCE.items() for name in names.split()},
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

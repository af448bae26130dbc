"""Makes what decides which URLs are crawled: scope, traps, order and quotas."""

import sys
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from time import time
from typing import Final, NamedTuple

import msgspec

from config import Config, ConfigError, Loaded, Problem
from crawler.discover.discovery import ScopedDiscovery
from crawler.discover.focus import Focus
from crawler.discover.links.filter import LinkRules
from crawler.discover.precedence import OrderedDiscovery
from crawler.discover.quota import PageLimits, SitemapLimits
from crawler.discover.recanonicalize import Recanonicalizer
from crawler.discover.scope import Reach, Scope
from crawler.discover.surt_prefixes import QueuePrefixes, SurtPrefixes, parse_list
from crawler.discover.traps import Traps
from crawler.page import EMBEDDED, Link, LinkKind, rfc3339
from crawler.protocols import Discovery
from crawler.record import header_time, w3c_time
from crawler.steps import run_all
from crawler.url.canonical_rules import DEFAULT_RULES, RULES
from crawler.url.components import NamedRule
from crawler.url.descriptor import Descriptor as RuleDescriptor
from crawler.url.ports import Ports, port_of
from crawler.url.seeds import read_seed
from crawler.url.urls import BadUrl, Target, UrlReader, site_of
from crawler.wiring.plugins.catalog import find
from crawler.wiring.plugins.guarded import guarded_rule
from crawler.wiring.plugins.kinds import CANONICAL_RULE
from crawler.wiring.plugins.loading import load
from crawler.wiring.queue_settings import parallel_queues, queue_by
from crawler.wiring.sites import Sites
from frontier import CrawlUrl

ANY_LENGTH: Final = sys.maxsize
"""For URLs that are looked up: the crawl may have met them while it had another limit."""
_LONGEST_DATE: Final = len("2026-11-28")


def queue_identity(config: Config) -> str:
    """Identifies how queues are named. A store refuses to open with another identity."""
    prefixes = queue_prefixes(config)
    return queue_by(config) if prefixes is None else f"surt-prefix {prefixes.identity}"


def queue_prefixes(config: Config) -> QueuePrefixes | None:
    """Raises `ValueError` for an invalid place."""
    frontier = config.frontier
    return QueuePrefixes(frontier.queue_prefixes) if frontier.queue_by == "surt-prefix" else None


def queue_of(config: Config) -> Callable[[str, str], str] | None:
    prefixes = queue_prefixes(config)
    return None if prefixes is None else prefixes.key


def url_reader(loaded: Loaded, *, max_length: int | None = None) -> UrlReader:
    """The reader of URLs, with the configured rules; `max_length` replaces the configured limit. Raises `ConfigError`
    for an unknown rule, and for what is no host in frontier.parallel_queues."""
    config = loaded.config
    with loaded.refusing("frontier.queue_prefixes"):
        queue_of(config)
    with loaded.refusing("urls.rules"):
        urls = UrlReader(
            rules=canonical_rules(config),
            queue_by=queue_by(config),
            queue_of=queue_of(config),
            max_length=config.scope.max_url_length if max_length is None else max_length,
        )
    with loaded.refusing("frontier.parallel_queues"):
        parallel_queues(config, urls)
    return urls


def canonical_rules(config: Config) -> Sequence[str | NamedRule]:
    """The canonical rules: named ones, the user's own, and plug-ins. Raises ValueError for a plug-in that can't be
    used; a rule of one raises `PluginFailed`."""
    names = DEFAULT_RULES if config.urls.rules is None else config.urls.rules
    named = [name if name in RULES else _rule_of_plugin(name, {}) or name for name in names]
    return [*named, *(_rule_of_plugin(each.backend, each.options) or each.backend for each in config.urls.rule)]


def _rule_of_plugin(name: str, options: Mapping[str, object]) -> NamedRule | None:
    """The rule of a plug-in; None if there is none of that name or path."""
    try:
        backend = find(CANONICAL_RULE, name)
    except KeyError:
        return None
    found: RuleDescriptor = load(backend)
    own = msgspec.convert(options, found.options)
    written = msgspec.json.encode(own, order="sorted").decode()
    rule = found.make(own)
    return NamedRule(
        f"{name} {found.version} {written}", rule if backend.is_ours else guarded_rule(rule, backend.title)
    )


def queue_key(urls: UrlReader, url: str) -> str:
    """The queue to which a URL would belong; also for a URL that is too long to be crawled."""
    target = urls.read(url, url)
    return site_of(url) if isinstance(target, BadUrl) else target.queue_key


def read_url(config: Config, url: str) -> Target:
    """A URL as a person wrote it, read with the configured rules. Raises `ValueError`."""
    reader = UrlReader(
        rules=canonical_rules(config), queue_by=queue_by(config), queue_of=queue_of(config), max_length=ANY_LENGTH
    )
    return read_seed(reader, url, called="URL")[0]


def loaded_for(loaded: Loaded, url: str) -> Loaded:
    """The configuration for a URL. Raises `ValueError` if `url` is not a URL, and `ConfigError`."""
    return Sites(loaded).each(lambda there: there).of(read_url(loaded.config, url).url)


def refusal_of_links(discovery: Discovery, url: str, *, queue_key: str, is_near: bool) -> str | None:
    """Why the crawl follows no ordinary link to the URL; None if it does. `is_near`: from a page near it, too."""
    page = CrawlUrl(
        url=url,
        canonical="",
        queue_key=queue_key,
        kind=LinkKind.LINK if is_near else LinkKind.EMBED,  # which lends its host to no link
    )
    found = run_all(discovery.links(url, [Link(url, LinkKind.LINK)], parent=page))
    return next(iter(found.refused), None)


class Rules(NamedTuple):
    """What a configuration says about URLs."""

    urls: UrlReader
    scope: Scope
    discovery: Discovery
    """Which links are followed, and in which order."""


def rules_of(loaded: Loaded) -> Rules:
    """Reads all seeds, which takes seconds for a million. Raises `ConfigError`."""
    from crawler.wiring import seeding  # noqa: PLC0415 - it loads what asks servers; many commands do without

    urls, sites = url_reader(loaded), Sites(loaded)
    found = _scope(loaded, sites, seeding.seeds(loaded, urls))
    return Rules(urls, found, _discovery(loaded, sites, urls, found))


def _discovery(loaded: Loaded, sites: Sites, urls: UrlReader, scope: Scope) -> Discovery:
    config, max_age_s = loaded.config, loaded.config.scope.sitemap_max_age_s
    found = ScopedDiscovery(
        urls=urls,
        scope=scope,
        traps=sites.each(lambda there: _traps(there.config)).of,
        focus=_focus(config),
        rules=LinkRules(
            kinds=_kinds(config),
            obey_nofollow=config.scope.nofollow,
            check_external=config.scope.check_external,
            max_redirects=config.fetch.max_redirects,
            is_outdated=None if max_age_s is None else partial(_is_outdated, max_age_s=max_age_s),
        ),
    )
    return _with_order(config, urls, found)


def _scope(loaded: Loaded, sites: Sites, seeds: list[Target]) -> Scope:
    scope, reach = loaded.config.scope, sites.each(_reach)
    of_seeds = (port_of(seed.site) for seed in seeds)
    for alone in sites.alone():
        _reach(alone)  # refuses an invalid pattern now, not when the first link leads there
    return Scope(
        within=scope.within,
        seeds=seeds,
        reach=reach.everywhere or reach.of,
        offsite_embeds=scope.offsite_embeds,
        ports=Ports([*scope.ports, *(port for port in of_seeds if port is not None)]),
        places=_places(loaded, "scope.places", scope.places, scope.place_files),
        exclude_places=_places(loaded, "scope.exclude_places", scope.exclude_places, scope.exclude_place_files),
    )


def _reach(loaded: Loaded) -> Reach:
    scope = loaded.config.scope
    try:
        return Reach(include=scope.include, exclude=scope.exclude, max_depth=scope.max_depth)
    except ValueError as error:
        key, _, what = str(error).partition(": ")
        raise loaded.refuse(key, what) from error


def _places(loaded: Loaded, key: str, entries: Sequence[str], files: Sequence[str]) -> list[str]:
    with loaded.refusing(key):
        SurtPrefixes(entries)
    found, problems = list(entries), []
    for name in files:
        try:
            text = Path(name).read_text(encoding="utf-8-sig")
        except (OSError, UnicodeDecodeError) as error:
            why = error.strerror if isinstance(error, OSError) else "expected text in UTF-8"
            raise loaded.refuse(f"{key.removesuffix('s')}_files", f"can't read {name}: {why}") from error
        for line, entry in parse_list(text):
            found.append(entry)
            try:
                SurtPrefixes([entry])
            except ValueError as error:
                problems.append(Problem(str(error), where=f"{name}:{line}", key=key))
    if problems:
        raise ConfigError(problems)
    return found


def _is_outdated(date: str, *, max_age_s: float) -> bool:
    """Whether a date of a sitemap or feed lies further back. One without a time means any time of it."""
    found = w3c_time(date) or header_time(date)
    if found is None:
        return False
    size = len(date) if len(date) <= _LONGEST_DATE else len(found)
    return found[:size] < rfc3339(time() - max_age_s)[:size]


def _kinds(config: Config) -> frozenset[LinkKind]:
    return frozenset(LinkKind) if config.scope.embeds else frozenset(LinkKind) - EMBEDDED


def _traps(config: Config) -> Traps:
    traps = config.traps
    return Traps(
        max_segments=traps.max_segments,
        max_repeats=traps.max_repeats,
        max_parameters=traps.max_parameters,
        calendar_years=traps.calendar_years,
        year=datetime.now(UTC).year,
    )


def _with_order(config: Config, urls: UrlReader, discovery: Discovery) -> Discovery:
    frontier = config.frontier
    if (frontier.order, frontier.cost) == ("depth", "one") and not (frontier.embeds_first or frontier.parallel_queues):
        return discovery
    return OrderedDiscovery(
        discovery,
        order=frontier.order,
        embeds_first=frontier.embeds_first,
        costs=frontier.cost,
        parallel=parallel_queues(config, urls),
    )


def queues_of(loaded: Loaded) -> Callable[[str], int] | None:
    """How many queues the host of a URL has; None if none has several."""
    urls = url_reader(loaded)
    parallel = parallel_queues(loaded.config, urls)

    def count(url: str) -> int:
        target = urls.read(url, url)
        return parallel.get(target.queue_key, 1) if isinstance(target, Target) else 1

    return count if parallel else None


def recanonicalizer(config: Config, urls: UrlReader) -> Recanonicalizer:
    return Recanonicalizer(urls, parallel=parallel_queues(config, urls))


def _focus(config: Config) -> Focus:
    words = (each.rpartition(":") if ":" in each else (each, ":", "1") for each in config.focus.words)
    return Focus({word: float(weight) for word, _, weight in words}, min_weight=config.focus.min_weight)


def sitemap_limits(loaded: Loaded) -> SitemapLimits:
    traps = loaded.config.traps
    return SitemapLimits(
        per_host=traps.sitemaps_per_host,
        bytes_per_host=traps.host_sitemap_bytes,
        per_domain=traps.sitemaps_per_domain,
        bytes_per_domain=traps.domain_sitemap_bytes,
    )


def page_limits(loaded: Loaded) -> PageLimits | None:
    """None if there are none."""
    traps = loaded.config.traps
    limits = PageLimits(
        per_host=traps.pages_per_host, per_domain=traps.pages_per_domain, per_pattern=traps.pages_per_pattern
    )
    return None if limits == PageLimits() else limits

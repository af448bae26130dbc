"""The values that can be replaced while a crawl runs, and the components that always use the latest."""

from collections.abc import Sequence

import msgspec

from config import Loaded
from crawler.discover.quota import PageLimits, SitemapLimits
from crawler.discover.scope import Scope
from crawler.discover.sites import BySite
from crawler.fetch.request_limits import RequestLimits
from crawler.page import Link, LinkDetail, Redirect
from crawler.politeness.response_policy import ResponsePolicy
from crawler.protocols import Discovered, Discovery
from crawler.record import ArchiveFilter
from crawler.steps import Steps
from crawler.url.ports import Ports
from crawler.url.urls import UrlReader
from crawler.wiring import seeding
from crawler.wiring.components import content, discovering, fetching, processing
from crawler.wiring.sites import Sites
from frontier import CrawlUrl


class OfSite(msgspec.Struct, frozen=True, kw_only=True):
    """Those that may differ between sites."""

    policy: ResponsePolicy
    request_limits: RequestLimits
    page_limits: PageLimits
    sitemap_limits: SitemapLimits
    obeys_robots: bool


class Values(msgspec.Struct, frozen=True, kw_only=True):
    """All of them, from one configuration."""

    by_site: BySite[OfSite]
    scope: Scope
    discovery: Discovery
    ports: Ports
    archive_filter: ArchiveFilter | None
    seeds: Sequence[str]
    """As they are written."""


def make_values(loaded: Loaded, urls: UrlReader) -> Values:
    """Raises `ConfigError` for what only a component can judge."""
    processing.check_pdf(loaded)
    sites = Sites(loaded)
    for alone in sites.alone():
        _of_site(alone)  # refuses invalid hours now, not when the first URL leads there
    seeds = seeding.seeds(loaded, urls)
    return Values(
        by_site=sites.each(_of_site),
        scope=discovering.scope(loaded, sites, seeds),
        discovery=discovering.discovery(loaded, sites, urls, seeds),
        ports=discovering.ports(loaded, seeds),
        archive_filter=content.archive_filter(loaded.config),
        seeds=[seed.url for seed in loaded.seeds],
    )


def _of_site(there: Loaded) -> OfSite:
    return OfSite(
        policy=fetching.response_policy(there),
        request_limits=fetching.request_limits(there.config),
        page_limits=discovering.page_limits(there),
        sitemap_limits=discovering.sitemap_limits(there),
        obeys_robots=there.config.politeness.robots,
    )


class Latest:
    """The values that hold now, as functions for components."""

    def __init__(self, values: Values) -> None:
        self.values = values

    def policy(self, url: str, /) -> ResponsePolicy:
        return self.values.by_site.of(url).policy

    def request_limits(self, url: str, /) -> RequestLimits:
        return self.values.by_site.of(url).request_limits

    def page_limits(self, url: str, /) -> PageLimits:
        return self.values.by_site.of(url).page_limits

    def sitemap_limits(self, url: str, /) -> SitemapLimits:
        return self.values.by_site.of(url).sitemap_limits

    def obeys_robots(self, url: str, /) -> bool:
        return self.values.by_site.of(url).obeys_robots

    def scope(self) -> Scope:
        return self.values.scope

    def allows_port(self, port: int, /) -> bool:
        return self.values.ports.allow(port)

    def archive_filter(self) -> ArchiveFilter | None:
        return self.values.archive_filter


class LatestDiscovery:
    """The discovery that holds now; a `Discovery`."""

    def __init__(self, latest: Latest) -> None:
        self._latest = latest

    def seeds(self, urls: Sequence[str], /) -> list[CrawlUrl]:
        return self._latest.values.discovery.seeds(urls)

    def links(self, base_url: str, links: Sequence[Link], /, *, parent: CrawlUrl, about: str = "") -> Steps[Discovered]:
        return self._latest.values.discovery.links(base_url, links, parent=parent, about=about)

    def references(
        self, base_url: str, links: Sequence[Link], found: Discovered, /, *, parent: CrawlUrl
    ) -> Steps[list[str]]:
        return self._latest.values.discovery.references(base_url, links, found, parent=parent)

    def link_details(
        self, base_url: str, links: Sequence[Link], found: Discovered, /, *, parent: CrawlUrl
    ) -> Steps[list[LinkDetail]]:
        return self._latest.values.discovery.link_details(base_url, links, found, parent=parent)

    def sitemaps(self, hrefs: Sequence[str], /, *, parent: CrawlUrl) -> Steps[Discovered]:
        return self._latest.values.discovery.sitemaps(hrefs, parent=parent)

    def redirect(self, redirect: Redirect, /, *, parent: CrawlUrl) -> CrawlUrl | str:
        return self._latest.values.discovery.redirect(redirect, parent=parent)

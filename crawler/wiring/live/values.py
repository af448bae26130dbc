"""The values that can be replaced while a crawl runs, and the functions by which components ask for the latest."""

import msgspec

from config import Loaded
from crawler.discover.quota import PageLimits, SitemapLimits
from crawler.discover.scope import Scope
from crawler.discover.sites import BySite
from crawler.fetch.request_limits import RequestLimits
from crawler.politeness.response_policy import ResponsePolicy
from crawler.protocols import Discovery
from crawler.record import ArchiveFilter
from crawler.url.urls import BadUrl, Target, UrlReader
from crawler.wiring.components import content, discovering, fetching, processing
from crawler.wiring.sites import Sites
from frontier import CrawlUrl


class OfSite(msgspec.Struct, frozen=True, kw_only=True):
    """The values that may differ between sites."""

    policy: ResponsePolicy
    request_limits: RequestLimits
    page_limits: PageLimits | None
    """None if there are none."""
    sitemap_limits: SitemapLimits
    obeys_robots: bool


class Values(msgspec.Struct, frozen=True, kw_only=True):
    """All of them, from one configuration."""

    loaded: Loaded
    """That configuration."""
    by_site: BySite[OfSite]
    urls: UrlReader
    scope: Scope
    discovery: Discovery
    archive_filter: ArchiveFilter | None

    def seeds(self) -> list[CrawlUrl]:
        """All seeds, as URLs of the crawl."""
        return self.discovery.seeds([seed.url for seed in self.loaded.seeds])


def make_values(loaded: Loaded) -> Values:
    """Raises `ConfigError` for what only a component can judge."""
    processing.check_pdf(loaded)
    sites = Sites(loaded)
    for alone in sites.alone():
        _of_site(alone)  # refuses invalid hours now, not when the first URL leads there
    rules = discovering.rules_of(loaded)
    return Values(
        loaded=loaded,
        by_site=sites.each(_of_site),
        urls=rules.urls,
        scope=rules.scope,
        discovery=rules.discovery,
        archive_filter=content.archive_filter(loaded.config),
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
        self.set(values)

    def set(self, values: Values) -> None:
        """From now on these values hold."""
        self.values = values
        # Asked for nine times a page: without blocks of sites, which is usual, that takes one call instead of two.
        self._everywhere, self._of_site = values.by_site.everywhere, values.by_site.of

    def policy(self, url: str, /) -> ResponsePolicy:
        return (self._everywhere or self._of_site(url)).policy

    def request_limits(self, url: str, /) -> RequestLimits:
        return (self._everywhere or self._of_site(url)).request_limits

    def page_limits(self, url: str, /) -> PageLimits | None:
        return (self._everywhere or self._of_site(url)).page_limits

    def sitemap_limits(self, url: str, /) -> SitemapLimits:
        return (self._everywhere or self._of_site(url)).sitemap_limits

    def obeys_robots(self, url: str, /) -> bool:
        return (self._everywhere or self._of_site(url)).obeys_robots

    def read_url(self, href: str, base: str, /) -> Target | BadUrl:
        return self.values.urls.read(href, base)

    def scope(self) -> Scope:
        return self.values.scope

    def discovery(self) -> Discovery:
        return self.values.discovery

    def allows_port(self, port: int, /) -> bool:
        return self.values.scope.ports.allow(port)

    def archive_filter(self) -> ArchiveFilter | None:
        return self.values.archive_filter

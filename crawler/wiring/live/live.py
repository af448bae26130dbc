"""Changes the settings of a crawl that is open."""

from collections.abc import Callable, Mapping
from typing import Final

import msgspec

from config import Config, Loaded
from crawler.components import PipelineOptions
from crawler.engine import Engine, Limits
from crawler.fetch.http import HttpFetcher
from crawler.fetch.robots.robots_txt import RobotsTxt
from crawler.wiring.components.content import archive_filter, wanted_content
from crawler.wiring.components.disk_space import DiskSpace
from crawler.wiring.components.fetching import requests_at_once, robots_lifetimes
from crawler.wiring.live.values import Latest, Values
from crawler.wiring.queue_settings import queue_settings
from frontier import Budgeted, CrawlUrl, Frontier, part_links_of

_NO_BUDGETS: Final = dict.fromkeys(
    ("frontier.session_budget", "frontier.total_budget", "frontier.error_penalty"), "its frontier can't change it"
)


class LiveSettings(msgspec.Struct, kw_only=True, eq=False):
    """The settings of an open crawl, and the components that are told when they change. All others ask for the latest
    values."""

    latest: Latest
    engine: Engine
    http: HttpFetcher
    robots: RobotsTxt
    space: DiskSpace
    frontier: Frontier
    tell_sinks: Callable[[Config], None]

    @property
    def values(self) -> Values:
        """Those that hold now."""
        return self.latest.values

    @property
    def loaded(self) -> Loaded:
        """The configuration that holds now."""
        return self.latest.values.loaded

    @property
    def lacks(self) -> Mapping[str, str]:
        """The settings that this crawl can't change at once, and why."""
        return {} if isinstance(self.frontier, Budgeted) else _NO_BUDGETS

    async def replace(self, values: Values) -> int:
        """Let these values hold from now on, and the configuration that they are made of. Returns the number of new
        seeds.

        All but the budgets and the seeds changes in one step, without await. These two can be repeated, and the next
        start does so.
        """
        before, after = self.loaded.config, values.loaded.config
        had_seeds = {seed.url for seed in self.loaded.seeds}
        self.latest.set(values)
        self.robots.lifetimes = robots_lifetimes(after)
        self.robots.sitemap_paths = after.scope.sitemap_paths
        self.space.set(after)
        self.tell_sinks(after)
        self.engine.set_options(pipeline_options(after))
        self.engine.set_limits(run_limits(after, self.frontier))
        if (before.fetch.concurrency, before.fetch.spare) != (after.fetch.concurrency, after.fetch.spare):
            concurrency, spare = requests_at_once(after.fetch)
            self.http.set_concurrency(concurrency, spare=spare)
            self.engine.set_concurrency(concurrency, spare=spare)
        if _budgets(before) != _budgets(after) and isinstance(self.frontier, Budgeted):
            await self.frontier.set_budgets(queue_settings(after).budgets)
        if all(seed.url in had_seeds for seed in values.loaded.seeds):
            return 0
        return await self.frontier.add(own_seeds(self.frontier, values))


def own_seeds(frontier: Frontier, values: Values) -> list[CrawlUrl]:
    """The seeds of this crawl; of a part, those that belong to it. All parts read all seeds, because they say what is
    in scope."""
    seeds = values.seeds()
    links = part_links_of(frontier)
    return seeds if links is None else [seed for seed in seeds if links.owns(seed.queue_key)]


def run_limits(config: Config, frontier: Frontier) -> Limits:
    """The limits that the engine counts. The pages of a part are counted with those of the others."""
    is_part = part_links_of(frontier) is not None
    return Limits(
        pages=None if is_part else config.limits.pages, bytes=config.limits.bytes, seconds=config.limits.seconds
    )


def pipeline_options(config: Config) -> PipelineOptions:
    return PipelineOptions(
        references=config.output.links,
        link_details=config.output.link_details or config.output.check_fragments,
        refusals=config.output.refusals,
        wanted=wanted_content(config),
        archive_filter=archive_filter(config),
        sitemaps=config.scope.sitemaps,
    )


def _budgets(config: Config) -> object:
    frontier = config.frontier
    return (frontier.session_budget, frontier.total_budget, frontier.error_penalty, config.site)

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


class Adjustable(msgspec.Struct, frozen=True, kw_only=True):
    """The components to which a change of settings is told. All others ask for the latest values."""

    latest: Latest
    engine: Engine
    http: HttpFetcher
    robots: RobotsTxt
    space: DiskSpace
    frontier: Frontier
    tell_sinks: Callable[[Config], None]


class LiveSettings:
    def __init__(self, loaded: Loaded, adjustable: Adjustable) -> None:
        self.loaded = loaded
        """The configuration that holds now."""
        self._adjustable = adjustable

    @property
    def values(self) -> Values:
        """Those of the configuration that holds now."""
        return self._adjustable.latest.values

    @property
    def lacks(self) -> Mapping[str, str]:
        """The settings that this crawl can't change at once, and why."""
        return {} if isinstance(self._adjustable.frontier, Budgeted) else _NO_BUDGETS

    async def replace(self, loaded: Loaded, values: Values) -> int:
        """Let a configuration hold from now on, with the values that were made of it. Returns the number of new seeds.

        All but the budgets and the seeds changes in one step, without await. These two can be repeated, and the next
        start does so.
        """
        before, after = self.loaded.config, loaded.config
        self._replace_values(after, values)
        self._replace_limits(after)
        if _at_once(before) != _at_once(after):
            self._replace_concurrency(after)
        had_seeds = {seed.url for seed in self.loaded.seeds}
        self.loaded = loaded
        frontier = self._adjustable.frontier
        if _budgets(before) != _budgets(after) and isinstance(frontier, Budgeted):
            await frontier.set_budgets(queue_settings(after).budgets)
        if all(seed.url in had_seeds for seed in loaded.seeds):
            return 0
        return await frontier.add(own_seeds(frontier, values))

    def _replace_values(self, config: Config, values: Values) -> None:
        adjustable = self._adjustable
        adjustable.latest.set(values)
        adjustable.robots.lifetimes = robots_lifetimes(config)
        adjustable.robots.sitemap_paths = config.scope.sitemap_paths
        adjustable.space.set(config)
        adjustable.tell_sinks(config)

    def _replace_limits(self, config: Config) -> None:
        engine = self._adjustable.engine
        engine.set_options(pipeline_options(config))
        engine.set_limits(run_limits(config, self._adjustable.frontier))

    def _replace_concurrency(self, config: Config) -> None:
        concurrency, spare = requests_at_once(config.fetch)
        self._adjustable.http.set_concurrency(concurrency, spare=spare)
        self._adjustable.engine.set_concurrency(concurrency, spare=spare)


def own_seeds(frontier: Frontier, values: Values) -> list[CrawlUrl]:
    """The seeds of this crawl; of a part, those that belong to it. All parts read all seeds, because they say what is
    in scope."""
    seeds = values.discovery.seeds(values.seeds)
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


def _at_once(config: Config) -> object:
    return (config.fetch.concurrency, config.fetch.spare)


def _budgets(config: Config) -> object:
    frontier = config.frontier
    return (frontier.session_budget, frontier.total_budget, frontier.error_penalty, config.site)

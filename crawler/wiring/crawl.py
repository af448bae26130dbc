"""Puts a crawl together: `open_crawl` opens what it consists of, one after the other, and closes that in order."""

import logging
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager

import msgspec

from config import ConfigError, Loaded, Problem
from crawler.background import Repeating
from crawler.components import Components
from crawler.discover.quota import PageQuota, SitemapQuota
from crawler.discover.refusal_counts import QuotaCounter, RefusalCounts, TrapCounter
from crawler.discover.scope import refusal_while_waiting
from crawler.disk.directory import CrawlDirectory
from crawler.disk.full_disk_retry import FullDiskRetry
from crawler.disk.unlocking import LockCheck
from crawler.engine import Engine
from crawler.fetch.robots.rules import product_token
from crawler.progress import Gauge
from crawler.url.hosts import registered_domain
from crawler.wiring import seeding
from crawler.wiring.additions import NO_ADDITIONS, Additions
from crawler.wiring.backends import frontier_backend
from crawler.wiring.components import (
    content,
    discovering,
    exchanging,
    fetching,
    processing,
    rendering,
    repeating,
    signing,
)
from crawler.wiring.live.live import LiveSettings, own_seeds, pipeline_options, run_limits
from crawler.wiring.live.values import Latest, make_values
from crawler.wiring.opening.fetchers import Fetchers, open_fetchers
from crawler.wiring.opening.kept import Kept, RebuildProgress, agree_with_output, open_kept
from crawler.wiring.opening.leasing import open_leasing
from crawler.wiring.opening.output import Output, open_output
from crawler.wiring.parts import check_parts
from crawler.wiring.plugins.blame import blaming, plugins_of
from crawler.wiring.plugins.checks import PluginFailed
from crawler.wiring.queue_settings import grouping
from crawler.wiring.revisiting import make_planning, revisits, with_whole_sitemaps
from crawler.wiring.schedule import next_tick
from crawler.wiring.sharing import LeaseSource
from crawler.wiring.sites import Sites
from frontier import CrawlUrl, Frontier, Recrawling, VisitsSince
from frontier.state import FrontierState
from visited import SharedSet, VisitedSet

log = logging.getLogger(__name__)


class OpenedCrawl(msgspec.Struct, frozen=True, kw_only=True):
    """A crawl that is ready to run."""

    engine: Engine
    frontier: Frontier
    state: FrontierState
    """What the frontier has stored, for look-ups."""
    gauge: Gauge
    live: LiveSettings
    new_seeds: int
    """Seeds that were not known before."""
    read_seeds: Callable[[Sequence[str]], list[CrawlUrl]]
    """Reads URLs that are to be added as seeds. Raises `ValueError`, with all that can't be crawled."""
    leasing: LeaseSource
    full_disk: FullDiskRetry


@asynccontextmanager
async def open_crawl(
    loaded: Loaded,
    directory: CrawlDirectory,
    *,
    rebuild: bool = False,
    on_rebuild: RebuildProgress = lambda _what, _urls: None,
    additions: Additions = NO_ADDITIONS,
) -> AsyncIterator[OpenedCrawl]:
    """The crawl of a configuration in its locked directory. Leaving the context closes it in order.

    With `rebuild`, a frontier whose URLs are named by other rules is rebuilt instead of refused.

    Raises `ConfigError` for what only a component can judge, `StoreRefused`, `StoreFailed` and `BrowserRefused`.
    If the directory is deleted meanwhile, the context raises an `ExceptionGroup` with an `OSError`.
    """
    registered_domain("example.org")  # loads the list of public suffixes now, because that takes a while
    config, latest = loaded.config, Latest(make_values(loaded))
    values = latest.values
    async with AsyncExitStack() as stack:
        stack.enter_context(blaming(plugins_of(config)))
        # First, so that its error is told, and not what follows from it while the rest is closed.
        await stack.enter_async_context(Repeating(LockCheck(directory).check).running())
        recanonicalizer = discovering.recanonicalizer(config, values.urls) if rebuild else None
        kept = await open_kept(config, directory, recanonicalizer, on_rebuild, additions, stack)
        leasing = await open_leasing(config, directory, kept, lambda: live, stack)
        output = await open_output(values, directory, kept, additions, stack)
        fetchers = await open_fetchers(
            latest, directory, kept, archive=output.sinks.archive, before_request=additions.check, stack=stack
        )
        components = _make_components(latest, directory, kept, leasing.frontier, output, fetchers, additions, stack)
        await output.space.start(stack)
        concurrency, spare = fetching.requests_at_once(config.fetch)
        engine = Engine(
            components,
            concurrency=concurrency,
            spare=spare,
            limits=run_limits(config, kept.frontier),
            options=pipeline_options(config),
            on_stop=output.full_disk.stop,
        )
        live = LiveSettings(
            latest=latest,
            engine=engine,
            http=fetchers.http,
            robots=fetchers.robots,
            space=output.space,
            frontier=kept.frontier,
            tell_sinks=output.sinks.tell,
        )
        if frontier_backend(config).is_persistent:
            await agree_with_output(config, directory, kept, values.urls, leasing)
        new_seeds = await _add_seeds(own_seeds(kept.frontier, values), leasing.frontier, kept.visited)
        gauge = Gauge(engine.counters, leasing.frontier.describe, kept.visited.describe)
        gauge.connections = fetchers.http.connections
        yield OpenedCrawl(
            engine=engine,
            frontier=kept.frontier,
            state=kept.state,
            gauge=gauge,
            new_seeds=new_seeds,
            live=live,
            read_seeds=lambda texts: seeding.added_seeds(
                live.loaded.config, latest.values.urls, latest.discovery(), texts
            ),
            leasing=leasing,
            full_disk=output.full_disk,
        )


def _make_components(
    latest: Latest,
    directory: CrawlDirectory,
    kept: Kept,
    leases: Frontier,
    output: Output,
    fetchers: Fetchers,
    additions: Additions,
    stack: AsyncExitStack,
) -> Components:
    """What the engine works with. `stack` ends the processes that read documents."""
    loaded, frontier, notes = latest.values.loaded, kept.frontier, kept.state.notes
    config = loaded.config
    refusals = RefusalCounts(notes)
    planning, visiting = revisits(latest, directory, kept.state, frontier)
    read_pdf = content.pdf_reading(config, stack)
    return Components(
        frontier=leases,
        fetcher=fetchers.outermost,
        extractor=additions.extractor(processing.extractor(loaded, read_pdf)),
        robots=fetchers.robots_and_tdm,
        discovery=TrapCounter(latest.discovery, refusals),
        sink=output.sinks.sink,
        policy_for=latest.policy,
        queue_key=lambda url: discovering.queue_key(latest.values.urls, url),
        read_content=content.content_reading(config, read_pdf),
        repeats=repeating.repeats(config, output.fingerprints, latest.read_url, frontier),
        preferences=content.preferences(config),
        addresses=fetchers.http if "ip" in grouping(config).limits else None,
        quota=QuotaCounter(PageQuota(notes, latest.page_limits), refusals),
        sitemap_quota=QuotaCounter(SitemapQuota(notes, latest.sitemap_limits), refusals),
        refusal_while_waiting=lambda url: refusal_while_waiting(url, scope=latest.scope(), urls=latest.values.urls),
        planning=planning,
        recrawling=frontier if isinstance(frontier, Recrawling) else None,
        visiting=visiting,
        may_be_conditional=with_whole_sitemaps(output.space.may_be_conditional, planning),
        archive_began=(lambda: output.space.keeping.since) if config.output.warc else VisitsSince,
    )


async def _add_seeds(seeds: Sequence[CrawlUrl], frontier: Frontier, visited: VisitedSet) -> int:
    """Returns how many of them are new."""
    new = await frontier.add(seeds)
    if seeds and not new and not frontier.describe().admitted and isinstance(visited, SharedSet):
        log.warning(
            "all seeds are known to the visited set: another crawl that shares it fetches them, or this one did "
            "before --fresh"
        )
    return new


def check_configuration(loaded: Loaded) -> None:
    """Check what only the components can judge: places, seeds, patterns, rules. Raises `ConfigError` with all
    problems."""
    checks: Sequence[Callable[[Loaded], object]] = (
        discovering.rules_of,
        processing.extractor,
        processing.check_sinks,
        fetching.routes,
        fetching.check_authorities,
        signing.check,
        lambda _: [fetching.response_policy(each) for each in (loaded, *Sites(loaded).alone())],
        rendering.check,
        check_parts,
        exchanging.check_no_password,
        next_tick,
        make_planning,
    )
    with loaded.refusing("fetch.user_agent"):
        product_token(loaded.config.fetch.user_agent)  # which several of them need
    problems: dict[Problem, None] = {}
    for check in checks:
        try:
            check(loaded)
        except ConfigError as error:
            problems |= dict.fromkeys(error.problems)
        except PluginFailed as error:
            problems[Problem(str(error))] = None
    if problems:
        raise ConfigError(list(problems))

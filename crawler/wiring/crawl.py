"""Makes the components of a crawl, puts them together, and closes them in order."""

import logging
import os
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial

import msgspec

from config import ConfigError, Loaded, Problem
from crawler.background import Repeating
from crawler.components import Components
from crawler.discover.quota import PageQuota, SitemapQuota
from crawler.discover.refusal_counts import QuotaCounter, RefusalCounts, TrapCounter
from crawler.discover.scope import refusal_while_waiting
from crawler.disk.directory import CrawlDirectory
from crawler.disk.full_disk_retry import FullDiskRetry
from crawler.disk.layout import part_at
from crawler.disk.unlocking import LockCheck
from crawler.engine import Engine
from crawler.fetch.robots.rules import product_token
from crawler.parts.line.services import PartService
from crawler.progress import Gauge
from crawler.seams import Robots
from crawler.url.hosts import registered_domain
from crawler.url.urls import UrlReader
from crawler.wiring import seeding, storage
from crawler.wiring.additions import NO_ADDITIONS, Additions
from crawler.wiring.backends import frontier_backend, named_frontier
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
from crawler.wiring.components.disk_space import disk_space
from crawler.wiring.live.live import LiveSettings, own_seeds, pipeline_options, run_limits
from crawler.wiring.live.values import Latest, make_values
from crawler.wiring.opening.fetchers import open_fetchers
from crawler.wiring.opening.kept import Kept, RebuildProgress, agree_with_output, open_kept
from crawler.wiring.parts import check_parts
from crawler.wiring.plugins.blame import blaming, plugins_of
from crawler.wiring.plugins.checks import PluginFailed
from crawler.wiring.plugins.guarded_frontier import guarded_frontier
from crawler.wiring.queue_settings import grouping
from crawler.wiring.revisiting import make_planning, revisits, with_whole_sitemaps
from crawler.wiring.schedule import next_tick
from crawler.wiring.sharing import PACE_VARIABLE, LeaseSource, membership, share_pace
from crawler.wiring.sites import Sites
from frontier import (
    CrawlUrl,
    Frontier,
    Numbering,
    PartLinks,
    Recrawling,
    StoreRefused,
    Timing,
    VisitsSince,
    part_links_of,
)
from frontier.state import FrontierState
from visited import SharedSet, VisitedSet

log = logging.getLogger(__name__)


class OpenedCrawl(msgspec.Struct, frozen=True, kw_only=True):
    """A crawl that is ready to run."""

    engine: Engine
    frontier: Frontier
    state: FrontierState
    """What the frontier has stored, for look-ups."""
    robots: Robots
    """What robots.txt says of URLs."""
    gauge: Gauge
    live: LiveSettings
    new_seeds: int
    """Seeds that were not known before."""
    read_seeds: Callable[[Sequence[str]], list[CrawlUrl]]
    """Reads URLs that are to be added as seeds. Raises `ValueError`, with all that can't be crawled."""
    links: PartLinks | None = None
    """Links to and from the other parts of the crawl; None if it is not in parts."""
    services: tuple[PartService, ...] = ()
    """What it does together with its supervisor."""


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
    urls = discovering.url_reader(loaded)
    values = make_values(loaded)
    async with AsyncExitStack() as stack:
        stack.enter_context(blaming(plugins_of(loaded.config)))
        # First, so that its error is told, and not what follows from it while the rest is closed.
        await stack.enter_async_context(Repeating(LockCheck(directory).check).running())
        recanonicalizer = discovering.recanonicalizer(loaded.config, urls) if rebuild else None
        kept = await open_kept(loaded.config, directory, recanonicalizer, on_rebuild, additions, stack)
        frontier, latest = kept.frontier, Latest(values)
        pace = os.environ.get(PACE_VARIABLE)
        guarded = guarded_frontier(frontier, named_frontier(loaded.config))
        paced = share_pace(
            loaded.config,
            guarded,
            pace,
            stack,
            latest=lambda: live.loaded.config,
            rest_alone_of=lambda url: live.engine.rest_alone_s(url),  # noqa: PLW0108 - it is made below
            host_rest_of=lambda key: live.engine.host_rest_s(key),  # noqa: PLW0108 - it is made below
        )
        with storage.reaching_server(loaded.config):
            # Without a usable file, this crawl keeps the pace of its hosts alone.
            members = membership(kept.visited, frontier, directory, None if paced is guarded else pace)
            await stack.enter_async_context(members)
        leasing, links = LeaseSource(frontier=paced), _part_links(frontier, directory)
        if links is not None:
            from crawler.wiring.components.part_limits import share_limits  # noqa: PLC0415 - most crawls have no parts

            leasing = await share_limits(loaded.config, links, paced, stack)
        live = await _make_components(loaded, directory, urls, latest, kept, leasing, additions, stack)
        if frontier_backend(loaded.config).is_persistent:
            await agree_with_output(loaded.config, directory, kept, urls, leasing)
        new_seeds = await _add_seeds(own_seeds(frontier, values), leasing.frontier, kept.visited)
        gauge = Gauge(live.engine.counters, leasing.frontier.describe, kept.visited.describe)
        gauge.connections = live.http.connections
        yield OpenedCrawl(
            engine=live.engine,
            frontier=frontier,
            state=kept.state,
            robots=live.robots,
            gauge=gauge,
            new_seeds=new_seeds,
            live=live,
            read_seeds=lambda texts: seeding.added_seeds(live.loaded.config, urls, latest.discovery(), texts),
            links=links,
            services=leasing.services,
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


def _part_links(frontier: Frontier, directory: CrawlDirectory) -> PartLinks | None:
    """Raises `StoreRefused` if this is a part, and the frontier can't be one."""
    links = part_links_of(frontier)
    if links is None and part_at(directory.original) is not None:
        raise StoreRefused(
            f"{directory.path} is a part of a crawl, and the backend of its frontier knows no parts; set "
            "crawl.parts = 1, or another frontier.backend"
        )
    return links


async def _make_components(
    loaded: Loaded,
    directory: CrawlDirectory,
    urls: UrlReader,
    latest: Latest,
    kept: Kept,
    leasing: LeaseSource,
    additions: Additions,
    stack: AsyncExitStack,
) -> LiveSettings:
    """Make the other components, and the engine over them. `stack` closes them."""
    config, frontier, state, notes = loaded.config, kept.frontier, kept.state, kept.state.notes
    full_disk = FullDiskRetry(
        pause=partial(frontier.pauses.pause, by="output"),
        resume=partial(frontier.pauses.resume, by="output"),
        before_write=additions.check,
    )
    fingerprints = repeating.fingerprints(config, directory.fingerprints, urls, stack)
    sinks = await processing.open_sinks(
        loaded,
        directory,
        full_disk,
        before=additions.sinks,
        after=fingerprints,
        keeps_loads_of=content.keeps_loads_of(config),
    )
    stack.push_async_callback(sinks.sink.aclose)
    space = disk_space(
        config,
        directory,
        frontier.pauses,
        next_number=lambda: state.next_number if isinstance(state, Numbering) else 0,
        latest_at=lambda: state.latest_at if isinstance(state, Timing) else None,
        forget_before=sinks.forget_before,
    )
    fetchers = await open_fetchers(
        loaded, directory, frontier, notes, latest, archive=sinks.archive, before_request=additions.check, stack=stack
    )
    http = fetchers.http
    refusals = RefusalCounts(notes)
    planning, visiting = revisits(loaded, directory, state, frontier, scope=latest.scope)
    read_pdf = content.pdf_reading(config, stack)
    components = Components(
        preferences=content.preferences(config),
        frontier=leasing.frontier,
        fetcher=fetchers.outermost,
        extractor=additions.extractor(processing.extractor(loaded, read_pdf)),
        robots=fetchers.robots_and_tdm,
        discovery=TrapCounter(latest.discovery, refusals),
        sink=sinks.sink,
        policy_for=latest.policy,
        queue_key=partial(discovering.queue_key, urls),
        read_content=content.content_reading(config, read_pdf),
        repeats=repeating.repeats(config, fingerprints, urls, frontier),
        addresses=http if "ip" in grouping(config).limits else None,
        quota=QuotaCounter(PageQuota(notes, latest.page_limits), refusals),
        sitemap_quota=QuotaCounter(SitemapQuota(notes, latest.sitemap_limits), refusals),
        refusal_while_waiting=lambda url: refusal_while_waiting(url, scope=latest.scope(), urls=urls),
        planning=planning,
        recrawling=frontier if isinstance(frontier, Recrawling) else None,
        visiting=visiting,
        may_be_conditional=with_whole_sitemaps(space.may_be_conditional, planning),
        archive_began=(lambda: space.keeping.since) if config.output.warc else VisitsSince,
    )
    await space.start(stack)
    concurrency, spare = fetching.requests_at_once(config.fetch)
    engine = Engine(
        components,
        concurrency=concurrency,
        spare=spare,
        limits=run_limits(config, frontier),
        options=pipeline_options(config),
        on_stop=full_disk.stop,
    )
    return LiveSettings(
        latest=latest,
        engine=engine,
        http=http,
        robots=fetchers.robots,
        space=space,
        frontier=frontier,
        tell_sinks=sinks.tell,
    )


def check_configuration(loaded: Loaded) -> None:
    """Check what only the components can judge: places, seeds, patterns, rules. Raises `ConfigError` with all
    problems."""
    checks: Sequence[Callable[[Loaded], object]] = (
        lambda _: discovering.scope(loaded, Sites(loaded), seeding.seeds(loaded, discovering.url_reader(loaded))),
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

"""Puts a crawl together: the one module that names concrete classes.

Each part gets plain values; none sees the configuration.
"""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime
from functools import partial
from importlib.metadata import version
from pathlib import Path

import msgspec

from config import Config, ConfigError, Loaded, Problem
from crawler.directory import CrawlDirectory
from crawler.discovery import ScopedDiscovery
from crawler.engine import Engine, Limits, Parts
from crawler.fetch.dns import DnsResolver
from crawler.fetch.guard import Guard
from crawler.fetch.http import HttpFetcher
from crawler.fetch.names import StaticNames, SystemResolver
from crawler.fetch.robots import NoRobots, RobotsTxt, product_token
from crawler.fetch.routes import Routes
from crawler.focus import Focus
from crawler.manners import Manners
from crawler.pace import Pace, parse_retry_after
from crawler.places import Places, listed
from crawler.precedence import Ordered
from crawler.progress import Gauge
from crawler.protocols import Discovery, LinkExtractor, Quota, Robots, Sink
from crawler.quota import PageQuota
from crawler.read.bs4 import Bs4Extractor
from crawler.read.lexbor import LexborExtractor
from crawler.read.lxml import LxmlExtractor
from crawler.read.wishes import Printed, Wishes
from crawler.room import RoomGuard
from crawler.scope import Scope
from crawler.traps import Traps
from crawler.urls import DEFAULT_RULES, Target, UrlReader, host_of
from crawler.write.fanout import Sinks
from crawler.write.records import RecordSink
from crawler.write.warc import WarcSink
from frontier import Notes
from frontier.leveldb import LevelDBStore
from frontier.lifecycle import Budgets
from frontier.memory import MemoryNotes, MemoryStore
from frontier.rules import Rules
from frontier.shell import QueueFrontier
from frontier.snapshots import Snapshots
from frontier.store import Store
from visited import VisitedSet
from visited.blocked import BlockedSet
from visited.bloom import BloomSet
from visited.counting import CountingSet
from visited.dsbf import SplittingSet
from visited.exact import ExactSet
from visited.exact_leveldb import LevelDBSet
from visited.persite import PerSiteSet
from visited.recent import RecentUrls
from visited.verified import Verified
from visited.whitelist import WhiteListed


class Crawl(msgspec.Struct, frozen=True, kw_only=True):
    """A crawl, ready to run."""

    engine: Engine
    frontier: QueueFrontier
    gauge: Gauge
    new_seeds: int
    """Seeds that were not known before."""


@asynccontextmanager
async def assembled(
    loaded: Loaded, directory: CrawlDirectory, *, rebuilding: Callable[[int], None] | None = None
) -> AsyncIterator[Crawl]:
    """The crawl of a configuration in its locked directory; closed in order when left.

    Raises `ConfigError` for what only the parts could judge, `StoreRefused` and `StoreFailed`.
    """
    config = loaded.config
    urls = url_reader(loaded)
    targets = _seeds(loaded, urls)
    discovery: Discovery = ScopedDiscovery(
        urls=urls,
        scope=_scope(loaded, targets),
        traps=_traps(config),
        focus=_focus(config),
        min_weight=config.focus.min_weight,
        max_redirects=config.fetch.max_redirects,
        obey_nofollow=config.scope.nofollow,
    )
    discovery = _ordered(config, urls, discovery)
    async with AsyncExitStack() as stack:
        store, notes = open_store(config, directory)
        try:
            visited = visited_set(config, directory, store)
            stack.push_async_callback(visited.aclose)
            frontier = await QueueFrontier.open(
                store,
                visited,
                snapshots=snapshots(config, directory),
                rules=_rules(config),
                rest_after_crash_s=config.politeness.min_delay_s,
                rebuilding=rebuilding,
            )
        except BaseException:
            store.close()
            raise
        stack.push_async_callback(frontier.aclose)
        sink = _sink(config, directory)
        stack.push_async_callback(sink.aclose)
        fetcher = _fetcher(loaded)
        stack.push_async_callback(fetcher.aclose)
        guard = RoomGuard(
            [directory.path],
            min_free_bytes=config.output.min_free_bytes,
            hold=partial(frontier.hold, by="room"),
            let_go=partial(frontier.let_go, by="room"),
        )
        stack.callback(guard.close)
        guard.start()
        parts = Parts(
            frontier=frontier,
            fetcher=fetcher,
            extractor=_extractor(loaded),
            robots=_robots(config, fetcher, notes),
            discovery=discovery,
            sink=sink,
            manners=_manners(config),
            quota=_quota(config, notes),
        )
        engine = Engine(
            parts,
            concurrency=config.fetch.concurrency,
            limits=Limits(pages=config.limits.pages, bytes=config.limits.bytes, seconds=config.limits.seconds),
            references=config.output.links,
            refusals=config.output.refusals,
            sitemaps=config.scope.sitemaps,
        )
        new_seeds = await frontier.add(discovery.seeds([target.url for target in targets]))
        gauge = Gauge(engine.tally, frontier.describe, visited.describe)
        yield Crawl(engine=engine, frontier=frontier, gauge=gauge, new_seeds=new_seeds)


def url_reader(loaded: Loaded) -> UrlReader:
    """The reader of URLs by the configured rules. Raises `ConfigError` for a rule that does not exist."""
    config = loaded.config
    try:
        return UrlReader(
            rules=DEFAULT_RULES if config.urls.rules is None else config.urls.rules,
            queue_by=config.frontier.queue_by,
            max_length=config.scope.max_url_length,
        )
    except ValueError as error:
        raise loaded.refuse("urls.rules", str(error)) from error


def visited_set(config: Config, directory: CrawlDirectory, store: Store) -> VisitedSet:
    """The configured visited set, empty. What it keeps on disk lies in the crawl's directory; the ledger of `store`
    confirms what a filter calls known."""
    visited = _bare_visited_set(config, directory)
    if config.visited.verify and config.visited.backend != "exact":

        async def known(urls: Sequence[str]) -> Sequence[bool]:
            return store.knows_many(urls)

        visited = Verified(visited, known)
    if config.visited.white_list:
        visited = WhiteListed(visited, config.visited.white_list)
    return RecentUrls(visited, size=config.visited.recent) if config.visited.recent else visited


def _bare_visited_set(config: Config, directory: CrawlDirectory) -> VisitedSet:
    capacity, error_rate = config.visited.capacity, config.visited.error_rate
    on_disk = config.frontier.backend != "memory"
    match config.visited.backend:
        case "exact":
            in_memory = config.visited.store == "memory" or not on_disk
            return ExactSet() if in_memory else LevelDBSet(directory.visited / "exact")
        case "bloom":
            return BloomSet(capacity=capacity, error_rate=error_rate)
        case "blocked":
            return BlockedSet(capacity=capacity, error_rate=error_rate)
        case "counting":
            return CountingSet(capacity=capacity, error_rate=error_rate)
        case "counting-8":
            return CountingSet(capacity=capacity, error_rate=error_rate, width=8)
        case "counting-32":
            return CountingSet(capacity=capacity, error_rate=error_rate, width=32)
        case "dsbf":
            place = directory.visited / "dsbf" if on_disk else None
            return SplittingSet(capacity=capacity, error_rate=error_rate, directory=place)
        case "per-site":
            return PerSiteSet(key=host_of, bytes_per_site=config.visited.site_bytes, error_rate=error_rate)


def open_store(config: Config, directory: CrawlDirectory) -> tuple[Store, Notes]:
    """The configured store of the frontier, and its notes."""
    match config.frontier.backend:
        case "memory":
            return MemoryStore(), MemoryNotes()
        case "leveldb":
            store = open_leveldb(config, directory)
            return store, store


def snapshots(config: Config, directory: CrawlDirectory) -> Snapshots | None:
    """Where snapshots of the visited set are kept; None for a frontier in memory."""
    if config.frontier.backend == "memory":
        return None
    return Snapshots(directory.visited, every=config.frontier.snapshot_every)


def _seeds(loaded: Loaded, urls: UrlReader) -> list[Target]:
    targets = []
    problems = []
    static = StaticNames(loaded.config.fetch.hosts)
    guard = Guard(networks=loaded.config.fetch.allow_networks)
    for seed in loaded.seeds:
        try:
            target = urls.seed(seed.url)
            if not loaded.config.fetch.allow_private:
                _check_public(target, static, guard)
        except ValueError as error:
            problems.append(Problem(str(error), where=seed.origin, key="crawl.seeds"))
        else:
            targets.append(target)
    if problems:
        raise ConfigError(problems)
    return targets


def _check_public(seed: Target, static: StaticNames, guard: Guard) -> None:
    """Refuse at once a seed that would not be fetched: what is found on a page is judged when it is connected to."""
    host = seed.host.strip("[]")
    if static.find(host) is not None:
        return
    if host == "localhost" or host.endswith(".localhost"):
        why = guard.refusal("127.0.0.1")
    else:
        why = guard.refusal(host) if seed.host.startswith("[") or host.rpartition(".")[2].isdecimal() else None
    if why is not None:
        raise ValueError(
            f"seed '{seed.url}' can't be crawled: {host} is not a public address ({why}); "
            "if it is yours to crawl, set fetch.allow_private = true, or list its network in fetch.allow_networks"
        )


def _scope(loaded: Loaded, seeds: list[Target]) -> Scope:
    scope = loaded.config.scope
    try:
        return Scope(
            within=scope.within,
            seeds=seeds,
            include=scope.include,
            exclude=scope.exclude,
            max_depth=scope.max_depth,
            offsite_embeds=scope.offsite_embeds,
            places=_places(loaded, "scope.places", scope.places, scope.place_files),
            exclude_places=_places(loaded, "scope.exclude_places", scope.exclude_places, scope.exclude_place_files),
        )
    except ValueError as error:
        key = "scope.exclude" if "exclude" in str(error) else "scope.include"
        raise loaded.refuse(key, str(error)) from error


def _traps(config: Config) -> Traps:
    traps = config.traps
    return Traps(
        max_segments=traps.max_segments,
        max_repeats=traps.max_repeats,
        max_parameters=traps.max_parameters,
        calendar_years=traps.calendar_years,
        year=datetime.now(UTC).year,
    )


def _ordered(config: Config, urls: UrlReader, discovery: Discovery) -> Discovery:
    frontier = config.frontier
    if (frontier.order, frontier.cost) == ("depth", "one") and not (frontier.embeds_first or frontier.parallel_queues):
        return discovery
    pairs = (each.rpartition(":") for each in frontier.parallel_queues)
    parallel = {urls.seed(f"http://{host}/").queue_key: int(count) for host, _, count in pairs}
    return Ordered(
        discovery,
        order=frontier.order,
        embeds_first=frontier.embeds_first,
        costs=frontier.cost,
        parallel=parallel,
    )


def _rules(config: Config) -> Rules:
    frontier = config.frontier
    return Rules(
        per_queue=config.politeness.per_host,
        budgets=Budgets(
            session=frontier.session_budget, total=frontier.total_budget, error_penalty=frontier.error_penalty
        ),
        by_best_url=frontier.queue_order == "best-url",
        precedence_floor=256 if frontier.precedence_floor is None else frontier.precedence_floor,
    )


def _focus(config: Config) -> Focus:
    words = (each.rpartition(":") if ":" in each else (each, ":", "1") for each in config.focus.words)
    return Focus({word: float(weight) for word, _, weight in words})


def _quota(config: Config, notes: Notes) -> Quota | None:
    traps = config.traps
    if traps.pages_per_host is None and traps.pages_per_pattern is None:
        return None
    return PageQuota(notes, per_host=traps.pages_per_host, per_pattern=traps.pages_per_pattern)


def _places(loaded: Loaded, key: str, entries: Sequence[str], files: Sequence[str]) -> list[str]:
    found = list(entries)
    for name in files:
        try:
            found += listed(Path(name).read_text(encoding="utf-8-sig"))
        except (OSError, UnicodeDecodeError) as error:
            raise loaded.refuse(f"{key.removesuffix('s')}_files", f"can't read {name}: {error}") from error
    try:
        Places(found)
    except ValueError as error:
        raise loaded.refuse(key, str(error)) from error
    return found


def _extractor(loaded: Loaded) -> LinkExtractor:
    config = loaded.config
    agent = product_token(config.fetch.user_agent)
    wishes = Wishes(
        forms=config.scope.forms,
        scripts=config.scope.speculative,
        pdf=_pdf_reader(loaded) if config.scope.pdf else None,
    )
    match config.fetch.extractor:
        case "lexbor":
            return LexborExtractor(agent=agent, wishes=wishes)
        case "lxml":
            return LxmlExtractor(agent=agent, wishes=wishes)
        case "bs4":
            return Bs4Extractor(agent=agent, wishes=wishes)


def _pdf_reader(loaded: Loaded) -> Callable[[bytes], Printed]:
    try:
        from crawler.read.pdf import read_pdf  # noqa: PLC0415 - an extra, which may not be installed
    except ModuleNotFoundError as error:
        raise loaded.refuse("scope.pdf", "pypdf is not installed: pip install 'onceover[pdf]'") from error
    return read_pdf


def open_leveldb(config: Config, directory: CrawlDirectory, *, to_repair: bool = False) -> LevelDBStore:
    """The LevelDB of a crawl. Raises `StoreRefused` and `StoreFailed`."""
    rules = DEFAULT_RULES if config.urls.rules is None else config.urls.rules
    return LevelDBStore(
        directory.frontier,
        identity={
            "urls.rules": UrlReader(rules=rules).identity,
            "frontier.queue_by": config.frontier.queue_by,
        },
        durability=config.frontier.durability,
        to_repair=to_repair,
    )


def check_configuration(loaded: Loaded) -> None:
    """Judge what only the parts can: seeds, patterns, rules. Raises `ConfigError`."""
    _scope(loaded, _seeds(loaded, url_reader(loaded)))
    _extractor(loaded)
    _routes(loaded)


def _sink(config: Config, directory: CrawlDirectory) -> Sink:
    sinks: list[Sink] = []
    durability = config.frontier.durability
    if config.output.warc:
        info = {
            "software": f"onceover/{version('onceover')}",
            "isPartOf": config.crawl.name,
            "http-header-user-agent": config.fetch.user_agent,
            "robots": "obey" if config.politeness.robots else "ignore",
        }
        sinks.append(WarcSink(directory.warc, max_bytes=config.output.warc_max_bytes, durability=durability, info=info))
    if config.output.records:
        # Last, so that a record promises that its page is in the archive.
        sinks.append(RecordSink(directory.records, max_bytes=config.output.records_max_bytes, durability=durability))
    return Sinks(sinks)


def _routes(loaded: Loaded) -> Routes:
    fetch = loaded.config.fetch
    try:
        return Routes(unverified=fetch.unverified, proxies=fetch.proxies, logins=fetch.logins)
    except ValueError as error:
        key = "fetch.logins" if str(error).startswith("logins") else "fetch.proxies"
        raise loaded.refuse(key, str(error)) from None


def _fetcher(loaded: Loaded) -> HttpFetcher:
    config = loaded.config
    fetch = config.fetch
    headers = dict(fetch.headers)
    if fetch.languages:
        headers.setdefault("Accept-Language", ", ".join(fetch.languages))
    return HttpFetcher(
        user_agent=fetch.user_agent,
        concurrency=fetch.concurrency,
        per_host=config.politeness.per_host,
        timeout_s=fetch.timeout_s,
        connect_timeout_s=min(fetch.connect_timeout_s, fetch.timeout_s),
        head_timeout_s=fetch.head_timeout_s,
        min_window_bytes=fetch.min_window_bytes,
        window_s=fetch.window_s,
        max_body_bytes=fetch.max_body_bytes,
        max_memory_bytes=fetch.max_memory_bytes,
        headers=headers,
        hosts=fetch.hosts,
        allow_private=fetch.allow_private,
        allow_networks=fetch.allow_networks,
        authorities=fetch.authorities,
        routes=_routes(loaded),
        resolver=DnsResolver() if fetch.resolver == "dns" else SystemResolver(),
    )


def _robots(config: Config, fetcher: HttpFetcher, notes: Notes) -> Robots:
    if not config.politeness.robots:
        return NoRobots()
    return RobotsTxt(
        fetcher,
        user_agent=config.fetch.user_agent,
        notes=notes,
        min_delay_s=config.politeness.min_delay_s,
        retry_s=config.frontier.retry_delay_s,
        max_retry_s=config.frontier.retry_max_delay_s,
        read_retry_after=parse_retry_after,
    )


def read_url(config: Config, url: str) -> Target:
    """A URL as a person wrote it, by the configured rules. Raises `ValueError`."""
    rules = DEFAULT_RULES if config.urls.rules is None else config.urls.rules
    return UrlReader(rules=rules, queue_by=config.frontier.queue_by).seed(url)


def _manners(config: Config) -> Manners:
    politeness, frontier = config.politeness, config.frontier
    pace = Pace(
        min_delay_s=politeness.min_delay_s,
        max_delay_s=politeness.max_delay_s,
        delay_factor=politeness.delay_factor,
        max_crawl_delay_s=politeness.max_crawl_delay_s,
        retry_delay_s=frontier.retry_delay_s,
        retry_max_delay_s=frontier.retry_max_delay_s,
        max_retry_after_s=politeness.max_retry_after_s,
    )
    return Manners(pace=pace, max_attempts=frontier.max_attempts, dead_after=frontier.dead_after)

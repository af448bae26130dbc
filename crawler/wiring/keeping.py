"""What a crawl knows: the frontier's store, the visited set and its snapshots."""

import logging
from collections.abc import Callable, Sequence

from config import Config, overridden
from crawler.canonical import DEFAULT_RULES
from crawler.directory import CrawlDirectory
from crawler.hosts import domain_of_site, split_port
from crawler.readdressing import Readdressing
from crawler.sites import Blocks, BySite
from crawler.urls import UrlReader, host_of
from crawler.wiring.addressing import queues_by
from crawler.wiring.choosing import decided
from frontier import Notes
from frontier.groups import Grouping, GroupLimit
from frontier.leveldb import LevelDBStore
from frontier.lifecycle import Budgets
from frontier.memory import MemoryNotes, MemoryStore
from frontier.rebuild import rebuild
from frontier.rules import Rules
from frontier.snapshots import Snapshots
from frontier.store import Store
from visited import VisitedSet
from visited.blocked import BlockedSet
from visited.bloom import BloomSet
from visited.counting import CountingSet
from visited.dsbf import SplittingSet
from visited.exact import ExactSet
from visited.exact_leveldb import LevelDBSet
from visited.kernel import best_kernel
from visited.persite import PerSiteSet
from visited.recent import RecentUrls
from visited.verified import Verified
from visited.whitelist import WhiteListed

log = logging.getLogger(__name__)


async def open_store(
    config: Config,
    directory: CrawlDirectory,
    *,
    readdressing: Readdressing | None = None,
    progress: Callable[[int], None] | None = None,
) -> tuple[Store, Notes]:
    """The configured store of the frontier, and its notes.

    With `readdressing`, a store of URLs that were named by other rules is rebuilt, not refused.
    """
    match config.frontier.backend:
        case "memory":
            return MemoryStore(), MemoryNotes()
        case "leveldb":
            store = open_leveldb(config, directory, to_rebuild=readdressing is not None)
            if readdressing is not None and store.differs:
                await _rebuilt(store, readdressing, rules(config), progress)
            return store, store


async def _rebuilt(
    store: LevelDBStore, readdressing: Readdressing, rules: Rules, progress: Callable[[int], None] | None
) -> None:
    try:
        found = await rebuild(store, readdressing, rules=rules, progress=progress)
    except BaseException:
        store.close()
        raise
    log.warning(
        "rebuilt by the new rules: %d of %d URLs have another name or queue, and %d of them were known under that name",
        found.renamed,
        found.urls,
        found.merged,
    )


def open_leveldb(
    config: Config, directory: CrawlDirectory, *, to_repair: bool = False, to_rebuild: bool = False
) -> LevelDBStore:
    """The LevelDB of a crawl. Raises `StoreRefused` and `StoreFailed`."""
    rules = DEFAULT_RULES if config.urls.rules is None else config.urls.rules
    return LevelDBStore(
        directory.frontier,
        identity={
            "urls.rules": UrlReader(rules=rules).identity,
            "frontier.queue_by": queues_by(config),
        },
        durability=config.frontier.durability,
        to_repair=to_repair,
        to_rebuild=to_rebuild,
    )


def snapshots(config: Config, directory: CrawlDirectory) -> Snapshots | None:
    """Where snapshots of the visited set are kept; None for a frontier in memory."""
    if config.frontier.backend == "memory":
        return None
    return Snapshots(directory.visited, every=config.frontier.snapshot_every)


def rules(config: Config) -> Rules:
    frontier = config.frontier
    blocks = Blocks([site.match for site in config.site])
    sites = BySite(blocks, lambda chosen: overridden(config, [config.site[number] for number in chosen]))
    return Rules(
        per_queue=config.politeness.per_host,
        per_queue_of=(lambda key: sites.of_queue(key).politeness.per_host) if blocks else None,
        budgets=Budgets(
            session=frontier.session_budget,
            total=frontier.total_budget,
            total_of=(lambda key: sites.of_queue(key).frontier.total_budget) if blocks else None,
            error_penalty=frontier.error_penalty,
        ),
        by_best_url=frontier.queue_order == "best-url",
        precedence_floor=256 if frontier.precedence_floor is None else frontier.precedence_floor,
        grouping=grouping(config),
    )


def grouping(config: Config) -> Grouping:
    """Which hosts share a pace."""
    politeness = config.politeness
    limits = {
        "ip": _limit(politeness.per_ip, politeness.ip_delay_s),
        "domain": _limit(politeness.per_domain, politeness.domain_delay_s),
    }
    if config.frontier.queue_by == "ip":
        at_once = min(politeness.per_host, politeness.per_ip or politeness.per_host)
        limits["ip"] = GroupLimit(at_once=at_once, rest_s=politeness.ip_delay_s, shares_cooldown=True)
    if config.frontier.queue_by == "surt-prefix":
        limits["host"] = GroupLimit(at_once=politeness.per_host, shares_cooldown=True)
    return Grouping(limits={kind: limit for kind, limit in limits.items() if limit is not None}, named=_groups)


def _limit(at_once: int | None, rest_s: float) -> GroupLimit | None:
    if at_once is None and not rest_s:
        return None
    return GroupLimit(at_once=at_once or 1, rest_s=rest_s)


def _groups(queue_key: str) -> list[str]:
    whole, _, part = queue_key.partition("#")
    domain = f"domain {split_port(domain_of_site(whole))[0]}"
    # Of a host in parallel queues, which have numbers, each has a pace of its own; directories share that of the host.
    return [domain] if part.isdecimal() else [domain, f"host {whole}"]


def visited_set(config: Config, directory: CrawlDirectory, store: Store) -> VisitedSet:
    """The configured visited set, empty. What it keeps on disk lies in the crawl's directory; the ledger of `store`
    confirms what a filter calls known."""
    config, _ = decided(config, directory)
    visited = _bare_visited_set(config, directory)
    if config.visited.verify and config.visited.backend != "exact":

        async def known(urls: Sequence[str]) -> Sequence[bool]:
            return store.knows_many(urls)

        visited = Verified(visited, known)
    if config.visited.white_list:
        visited = WhiteListed(visited, config.visited.white_list)
    if not config.visited.recent or _answers_at_once(config):
        return visited
    return RecentUrls(visited, size=config.visited.recent)


def _answers_at_once(config: Config) -> bool:
    """Whether the set takes a third of the time that the cache of recent URLs would take to answer in its place."""
    return config.visited.backend == "exact" and config.visited.store == "memory" and best_kernel().name == "c"


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
        case "auto":
            raise AssertionError("auto is decided before a set is made")

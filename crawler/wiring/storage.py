"""Makes what a crawl keeps between runs: the store of the frontier, the visited set and its snapshots."""

import logging
from collections.abc import Callable, Sequence

import msgspec

from config import Config, ConfigError, Problem, with_overrides
from crawler.discover.recanonicalize import Recanonicalizer
from crawler.discover.sites import Blocks, BySite
from crawler.disk.directory import CrawlDirectory
from crawler.url.canonical import RULES_VERSION
from crawler.url.hosts import domain_of_site, name_of_site, split_port
from crawler.url.urls import VERSIONS, UrlReader, domain_of, host_of
from crawler.wiring.auto_backend import EXACT_ON_DISK, choose_backend
from crawler.wiring.discovering import canonical_rules, queue_identity
from frontier import DurableMap
from frontier.leveldb.store import LevelDBStore
from frontier.memory import MemoryMap, MemoryStore
from frontier.queues.budgets import Budgets
from frontier.queues.grouping import Grouping, GroupLimit
from frontier.queues.settings import QueueSettings
from frontier.snapshots import Snapshots
from frontier.store import Store
from frontier.upkeep.rebuild import rebuild
from visited import VisitedSet
from visited.backends import descriptor
from visited.bits.kernel import best_kernel
from visited.descriptor import Descriptor, Parameters
from visited.making import make_set
from visited.wrappers.recent import RecentUrls
from visited.wrappers.verified import VerifiedSet
from visited.wrappers.whitelist import WhiteListSet

log = logging.getLogger(__name__)

_RULES = "urls.rules"
"""The key of the canonical rules in the identity of a store."""


async def open_store(
    config: Config,
    directory: CrawlDirectory,
    *,
    recanonicalizer: Recanonicalizer | None = None,
    progress: Callable[[int], None] | None = None,
) -> tuple[Store, DurableMap]:
    """The configured store of the frontier, and its notes.

    With a `recanonicalizer`, a store whose URLs are named by other rules is rebuilt instead of refused.
    """
    match config.frontier.backend:
        case "memory":
            return MemoryStore(), MemoryMap()
        case "leveldb":
            store = open_leveldb(config, directory, to_rebuild=recanonicalizer is not None)
            if recanonicalizer is not None and store.needs_rebuild:
                await _rebuild(store, recanonicalizer, rules(config), progress)
            return store, store.durable_map


async def _rebuild(
    store: LevelDBStore, recanonicalizer: Recanonicalizer, rules: QueueSettings, progress: Callable[[int], None] | None
) -> None:
    try:
        found = await rebuild(store, recanonicalizer, settings=rules, progress=progress)
    except BaseException:
        store.close()
        raise
    log.warning(
        "rebuilt by the new rules: %d of %d URLs have a new canonical form or queue; %d of these were known under it",
        found.renamed,
        found.urls,
        found.merged,
    )


def open_leveldb(
    config: Config, directory: CrawlDirectory, *, to_repair: bool = False, to_rebuild: bool = False
) -> LevelDBStore:
    """The LevelDB of a crawl. Raises `StoreRefused` and `StoreFailed`."""
    rules = canonical_rules(config)
    latest, *earlier = (UrlReader(rules=rules, version=version).identity for version in VERSIONS)
    return LevelDBStore(
        directory.frontier,
        identity={_RULES: latest, "frontier.queue_by": queue_identity(config)},
        accepted={_RULES: earlier},
        durability=config.frontier.durability,
        to_repair=to_repair,
        to_rebuild=to_rebuild,
        may_begin=not directory.has_output(),
    )


def rules_version(store: Store) -> int:
    """The version of the canonical rules by which the URLs of a store are named."""
    return int(store.identity[_RULES].partition(":")[0]) if isinstance(store, LevelDBStore) else RULES_VERSION


def snapshots(config: Config, directory: CrawlDirectory) -> Snapshots | None:
    """The snapshots of the visited set; None for a frontier in memory."""
    if config.frontier.backend == "memory":
        return None
    return Snapshots(directory.visited, every=config.frontier.snapshot_every)


def rules(config: Config) -> QueueSettings:
    """The rules by which the frontier serves its queues."""
    frontier = config.frontier
    blocks = Blocks([site.match for site in config.site])
    sites = BySite(blocks, lambda chosen: with_overrides(config, [config.site[number] for number in chosen]))

    def per_host(queue_key: str) -> int:
        return sites.of_queue(queue_key).politeness.per_host

    return QueueSettings(
        per_queue=config.politeness.per_host,
        per_queue_of=per_host if blocks else None,
        budgets=Budgets(
            session=frontier.session_budget,
            total=frontier.total_budget,
            total_of=(lambda key: sites.of_queue(key).frontier.total_budget) if blocks else None,
            error_penalty=frontier.error_penalty,
        ),
        by_best_url=frontier.queue_order == "best-url",
        precedence_floor=256 if frontier.precedence_floor is None else frontier.precedence_floor,
        grouping=msgspec.structs.replace(grouping(config), per_host=per_host),
    )


def grouping(config: Config) -> Grouping:
    """The groups of hosts that share a pace."""
    politeness = config.politeness
    limits = {
        "ip": _limit(politeness.per_ip, politeness.ip_delay_s),
        "domain": _limit(politeness.per_domain, politeness.domain_delay_s),
    }
    if config.frontier.queue_by == "ip":
        at_once = min(politeness.per_host, politeness.per_ip or politeness.per_host)
        limits["ip"] = GroupLimit(at_once=at_once, rest_s=politeness.ip_delay_s, shares_cooldown=True)
    return Grouping(
        limits={kind: limit for kind, limit in limits.items() if limit is not None},
        groups_of_key=_domain,
        host_of_key=_host,
    )


def _limit(at_once: int | None, rest_s: float) -> GroupLimit | None:
    if at_once is None and not rest_s:
        return None
    return GroupLimit(at_once=at_once or 1, rest_s=rest_s)


def _domain(queue_key: str) -> tuple[str, ...]:
    return (f"domain {split_port(domain_of_site(queue_key.partition('#')[0]))[0]}",)


def _host(queue_key: str) -> str | None:
    """The host whose pace a queue shares. Queues of ports and directories share the pace of their host. Parallel queues
    of a host, which have numbers, have a pace of their own."""
    if ":" not in queue_key and "#" not in queue_key:
        return queue_key
    site, _, suffix = queue_key.partition("#")
    return None if suffix.isdecimal() else name_of_site(site)


def visited_set(config: Config, directory: CrawlDirectory, store: Store) -> VisitedSet:
    """The configured visited set, empty. A set on disk is in the crawl's directory. The ledger of `store` confirms URLs
    that a filter calls known."""
    config, _ = choose_backend(config, directory)
    chosen = _chosen_set(config)
    visited: VisitedSet = _make_chosen(chosen, config, directory)
    if config.visited.verify and not chosen.is_exact:

        async def known(urls: Sequence[str]) -> Sequence[bool]:
            return store.reads.knows_many(urls)

        visited = VerifiedSet(visited, known)
    if config.visited.white_list:
        visited = WhiteListSet(visited, config.visited.white_list)
    if not config.visited.recent or _is_faster_than_cache(chosen):
        return visited
    return RecentUrls(visited, size=config.visited.recent)


def _is_faster_than_cache(chosen: Descriptor) -> bool:
    """Whether the set itself answers faster than the cache of recent URLs; it takes a third of the time."""
    return chosen.name == "exact" and best_kernel().name == "c"


def _chosen_set(config: Config) -> Descriptor:
    """The configured set; `visited.store` chooses among the exact ones."""
    visited = config.visited
    on_disk = visited.store == "leveldb" and config.frontier.backend != "memory"
    return descriptor(EXACT_ON_DISK if visited.backend == "exact" and on_disk else visited.backend)


def _make_chosen(chosen: Descriptor, config: Config, directory: CrawlDirectory) -> VisitedSet:
    visited = config.visited
    has_files = chosen.folder is not None and config.frontier.backend != "memory"
    parameters = Parameters(
        capacity=visited.capacity,
        error_rate=visited.error_rate,
        directory=directory.visited / chosen.folder if has_files and chosen.folder is not None else None,
        site_of=host_of,
        domain_of=domain_of,
    )
    try:
        return make_set(chosen, parameters, {"site_bytes": visited.site_bytes, **visited.options})
    except ValueError as error:
        raise ConfigError([Problem(str(error), key="visited")]) from error

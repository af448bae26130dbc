"""Opens what a crawl keeps between runs: the state of the frontier, and the visited set."""

import logging
import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec

from config import Config, ConfigError, Problem, ServerAway
from crawler.discover.recanonicalize import Recanonicalizer
from crawler.disk.directory import CrawlDirectory
from crawler.disk.layout import part_at, whole_crawl
from crawler.disk.lineages import whole_lineage
from crawler.parts.ownership import Ownership
from crawler.status import number_of
from crawler.url.canonical import identity_of
from crawler.url.urls import domain_of, host_of
from crawler.wiring.auto_backend import EXACT_ON_DISK, choose_backend
from crawler.wiring.backends import frontier_backend, lacks, named_frontier
from crawler.wiring.components.discovering import canonical_rules, queue_identity
from crawler.wiring.components.visited_servers import connect_redis
from crawler.wiring.parts import use_suffixes_of
from crawler.wiring.plugins.catalog import descriptor
from crawler.wiring.plugins.guarded_frontier import check_state
from crawler.wiring.plugins.kinds import VISITED
from crawler.wiring.queue_settings import queue_settings
from crawler.wiring.sharing import meeting_place
from frontier import StoreFailed
from frontier.descriptor import Parameters as FrontierParameters
from frontier.descriptor import RepairResult
from frontier.state import FrontierState
from frontier.terms import Terms
from visited import Crawl, Forgotten, Unanswered, Unavailable, Unreachable, Unwritable, VisitedSet
from visited.bits.kernel import best_kernel
from visited.descriptor import Descriptor, Parameters, checked_options
from visited.digests.exact import ExactSet
from visited.making import make_set
from visited.wrappers.forgetting import ForgettingSet
from visited.wrappers.recent import RecentUrls
from visited.wrappers.verified import VerifiedSet
from visited.wrappers.whitelist import WhiteListSet

log = logging.getLogger(__name__)


def open_state(
    config: Config,
    directory: CrawlDirectory,
    *,
    may_begin: bool | None = None,
    to_rename: bool = False,
    before_write: Callable[[], object] | None = None,
) -> FrontierState:
    """The state of the configured frontier. An empty one is refused if the crawl has output, unless it `may_begin`.
    `before_write` is called right before each write.

    Raises `StoreRefused`, `StoreFailed`, `ConfigError`, `DirectoryRefused` if it may begin and nobody can tell which
    numbers are left, and `PluginFailed` for a wrong one.
    """
    may_begin = not directory.has_output() if may_begin is None else may_begin
    try:
        opened = frontier_backend(config).make(
            *_parameters(config, directory, may_begin=may_begin, to_rename=to_rename, before_write=before_write)
        )
    except ValueError as error:
        raise ConfigError([Problem(str(error), key="frontier")]) from error
    return check_state(opened, named_frontier(config))


async def rename(
    config: Config, state: FrontierState, recanonicalizer: Recanonicalizer, progress: Callable[[int], None] | None
) -> None:
    """Rename the URLs of a state that was opened for that, if the rules have changed."""
    rename_all = frontier_backend(config).upkeep.rename
    if rename_all is None:
        raise lacks(config, "rename the URLs of a crawl that has begun, as --rebuild asks")
    found = await rename_all(state, recanonicalizer, progress)
    if found is not None:
        log.warning(
            "rebuilt by the new rules: %d of %d URLs have a new canonical form or queue; %d of these were known under "
            "it",
            found.renamed,
            found.urls,
            found.merged,
        )


def repair_state(config: Config, directory: CrawlDirectory, copy: Path) -> RepairResult:
    """Repair the state of a crawl that does not run, and open it. `copy` is where the old state is kept."""
    repair = frontier_backend(config).upkeep.repair
    if repair is None:
        raise lacks(config, "repair its state")
    return repair(*_parameters(config, directory, may_begin=True), copy)


def _parameters(
    config: Config,
    directory: CrawlDirectory,
    *,
    may_begin: bool,
    to_rename: bool = False,
    before_write: Callable[[], object] | None = None,
) -> tuple[FrontierParameters, msgspec.Struct]:
    """What the state of the configured frontier is opened with."""
    backend, frontier, part = frontier_backend(config), config.frontier, part_at(directory.original)
    if part is not None:
        use_suffixes_of(CrawlDirectory(whole_crawl(directory.original)))
    parameters = FrontierParameters(
        terms=Terms(
            identity={"urls.rules": identity_of(canonical_rules(config)), "frontier.queue_by": queue_identity(config)},
            may_begin=may_begin,
            to_rename=to_rename,
            part=part,
            lineage=whole_lineage(directory.original) if part is None and may_begin else 0,
        ),
        directory=directory.frontier if "directory" in backend.needs else None,
        durability=frontier.durability,
        settings=queue_settings(config),
        rest_after_crash_s=config.politeness.min_delay_s,
        snapshot_directory=directory.visited if backend.is_persistent else None,
        snapshot_every=frontier.snapshot_every,
        before_write=before_write,
        owner=None if part is None else Ownership(part.parts).owner,
    )
    return parameters, checked_options(backend.options, frontier.options)


def visited_set(
    config: Config,
    directory: CrawlDirectory,
    knows_many: Callable[[Sequence[str]], list[bool]],
    *,
    instead: VisitedSet | None = None,
    is_local: bool = False,
) -> VisitedSet:
    """The configured visited set, empty, or that of a program `instead`. A set on disk is in the crawl's directory.
    `knows_many` confirms, by the ledger, URLs that a filter calls known.

    Instead of a set on a server, an `is_local` one is made: it knows only what this crawl has."""
    config, _ = choose_backend(config, directory)
    if instead is not None:
        visited, is_exact, can_forget, needs_cache = instead, False, True, True
    else:
        chosen = chosen_set(config)
        if is_on_server(chosen):
            return ExactSet() if is_local else _shared_set(chosen, config, directory)
        visited = make_chosen(chosen, config, directory)
        is_exact, can_forget = chosen.is_exact, chosen.can_forget
        # Written in C, the exact set itself answers in a third of the time that the cache takes.
        needs_cache = not (chosen.name == "exact" and best_kernel().name == "c")
    if config.visited.verify and not is_exact:
        visited = VerifiedSet(visited, knows_many)
    elif not can_forget:
        visited = ForgettingSet(visited)
    if config.visited.white_list:
        visited = WhiteListSet(visited, config.visited.white_list)
    if config.visited.recent and needs_cache:
        visited = RecentUrls(visited, size=config.visited.recent)
    return visited


def is_on_server(chosen: Descriptor) -> bool:
    return "server" in chosen.needs


def _shared_set(chosen: Descriptor, config: Config, directory: CrawlDirectory) -> VisitedSet:
    """Without wrappers. It has a cache of its own; and the ledger of this crawl can't confirm what others know."""
    if not frontier_backend(config).asks_servers:
        raise lacks(config, f"keep what it asks a server, as {chosen.name} needs")
    if config.visited.white_list:
        found = number_of(len(config.visited.white_list), "URL")
        problem = f"expected none, as {chosen.name} lies on a server, found {found}"
        raise ConfigError([Problem(problem, key="visited.white_list")])
    return make_chosen(chosen, config, directory)


@contextmanager
def reaching_server(config: Config) -> Iterator[None]:
    """Translates the errors of a visited set on a server: `ConfigError` if the set can't be used, `ServerAway` if its
    server does not answer or takes no writes now, and `StoreFailed` if it stops answering."""
    try:
        yield
    except (Unreachable, Unwritable) as error:
        raise ServerAway([Problem(str(error), key="visited.backend")]) from error
    except Unavailable as error:
        raise ConfigError([Problem(str(error), key="visited.backend")]) from error
    except (Forgotten, Unanswered) as error:
        raise StoreFailed(
            f"{config.visited.backend} can't be asked: {error}; start its server, or name another"
        ) from error


def chosen_set(config: Config) -> Descriptor:
    """The configured set; `visited.store` chooses among the exact ones."""
    visited = config.visited
    on_disk = visited.store == "leveldb" and frontier_backend(config).is_persistent
    chosen: Descriptor = descriptor(
        VISITED, EXACT_ON_DISK if visited.backend == "exact" and on_disk else visited.backend
    )
    return chosen


def make_chosen(
    chosen: Descriptor,
    config: Config,
    directory: CrawlDirectory,
    *,
    is_temporary: bool = False,
    pace: Path | None = None,
) -> VisitedSet:
    """An empty set, without wrappers. A temporary one belongs to no crawl. `pace` is the file by which the crawl keeps
    the pace of hosts with others; by default that which the environment names."""
    visited = config.visited
    has_files = chosen.folder is not None and frontier_backend(config).is_persistent and not is_temporary
    crawl = Crawl(directory=directory.original.absolute(), host=socket.gethostname(), meeting=meeting_place(pace))
    parameters = Parameters(
        capacity=visited.capacity,
        error_rate=visited.error_rate,
        directory=directory.visited / chosen.folder if has_files and chosen.folder is not None else None,
        site_of=host_of,
        domain_of=domain_of,
        connect=connect_redis,
        recent=visited.recent,
        crawl=crawl,
    )
    try:
        return make_set(chosen, parameters, {"site_bytes": visited.site_bytes, **visited.options})
    except (Unavailable, ValueError) as error:
        raise ConfigError([Problem(str(error), key="visited")]) from error
    except MemoryError as error:
        capacity = number_of(visited.capacity, "URL")
        problem = f"{chosen.name} for {capacity} takes more memory than there is; lower the capacity, or choose another"
        raise ConfigError([Problem(problem, key="visited")]) from error

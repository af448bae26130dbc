"""Finds out whether a crawl has ever begun, or only its first start was refused."""

from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from config import Config, ConfigError
from crawler.disk.directory import CrawlDirectory
from crawler.disk.layout import Layout, read_layout
from crawler.operate.missing import missing_parts
from crawler.wiring.backends import frontier_backend
from crawler.wiring.storage import open_state
from frontier import ClaimReads, FrontierStats, StoreFailed, StoreRefused


def is_unbegun(directory: CrawlDirectory, config: Config) -> bool:
    """Whether a locked directory has nothing but the empty frontier of a first start in one process, which was refused.
    Such a directory can be deleted without loss. In doubt, the answer is no."""
    has_more = directory.configuration.exists() or directory.pruned.exists() or directory.has_output()
    copies = directory.path.glob(f"{directory.frontier.name}.before-*")
    if has_more or any(copies) or read_layout(directory.path) is not None:
        return False
    # Another backend would not see what this one has stored.
    if frontier_backend(config).name != "leveldb" or not (directory.frontier / "CURRENT").exists():
        return False
    return not _may_have_state(directory, config, lambda stats: stats.admitted > 0)


def _may_have_state(directory: CrawlDirectory, config: Config, holds: Callable[[FrontierStats], bool]) -> bool:
    """Whether something holds of the stored frontier, or it can't be opened. What it had asked a visited set on a
    server must not be deleted either: if crawls share the set, none would fetch it any more."""
    try:
        state = open_state(config, directory, to_rename=True)
    except (ConfigError, StoreRefused, StoreFailed):
        return True
    with closing(state):
        return (isinstance(state, ClaimReads) and state.has_claims) or holds(state.describe())


def has_begun(path: Path, layout: Layout, config: Config) -> bool:
    """Whether any part of the crawl in `path` has fetched something, or may have. No process may run a part.

    A start that was refused leaves parts, and perhaps their frontiers, but no configuration: that is stored when all
    parts are open.
    """
    if layout.cluster is not None or layout.earlier or CrawlDirectory(path).configuration.exists():
        return True
    parts = [CrawlDirectory(part) for part in layout.directories(path)]
    return bool(missing_parts(path, layout)) or any(_may_have_fetched(part, config) for part in parts)


def has_other_rules(path: Path, layout: Layout, config: Config) -> bool:
    """Whether a part of a crawl that has not begun was made with other rules for URLs than these, by which it can't be
    opened. No process may run a part."""
    return any(_has_other_rules(part, config) for part in map(CrawlDirectory, layout.directories(path)))


def _has_other_rules(part: CrawlDirectory, config: Config) -> bool:
    if not part.has_state():
        return False
    try:
        open_state(config, part).close()
    except StoreRefused:
        return True
    return False


def _may_have_fetched(part: CrawlDirectory, config: Config) -> bool:
    """Whether a part has fetched something, or a visited set that crawls share may know its seeds. Such a set keeps
    them when the part is deleted, and then nobody would fetch them."""
    if part.has_output():
        return True
    is_shared = config.visited.options.get("share") is not None

    def may_be_missed(stats: FrontierStats) -> bool:
        return stats.pending < stats.admitted or (is_shared and stats.admitted > 0)

    return part.has_state() and _may_have_state(part, config, may_be_missed)

"""Finds out whether a crawl in parts has ever begun, or only its parts were made."""

from pathlib import Path

from config import Config, ConfigError
from crawler.disk.directory import CrawlDirectory
from crawler.disk.layout import Layout
from crawler.operate.missing import missing_parts
from crawler.wiring.storage import open_state
from frontier import StoreFailed, StoreRefused


def has_begun(path: Path, layout: Layout, config: Config) -> bool:
    """Whether any part of the crawl in `path` has fetched something, or may have. No process may run a part.

    A start that was refused leaves parts, and perhaps their frontiers, but no configuration: that is stored when all
    parts are open.
    """
    if layout.cluster is not None or layout.earlier or CrawlDirectory(path).configuration.exists():
        return True
    parts = [CrawlDirectory(part) for part in layout.directories(path)]
    return bool(missing_parts(path, layout)) or any(_may_have_fetched(part, config) for part in parts)


def _may_have_fetched(part: CrawlDirectory, config: Config) -> bool:
    if part.has_output():
        return True
    if not part.has_state():
        return False
    try:
        state = open_state(config, part)
    except (ConfigError, StoreRefused, StoreFailed):
        return True
    try:
        stats = state.describe()
        return stats.pending < stats.admitted
    finally:
        state.close()

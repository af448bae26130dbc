"""Notices that the files of a sink were deleted since the last run: a sink would begin others, and only `verify` would
tell that pages are missing."""

import shlex
from collections.abc import Iterator
from pathlib import Path

from config import ConfigError, Loaded
from crawler.disk.directory import CrawlDirectory
from crawler.disk.durable_file import BESIDE_SQLITE
from crawler.disk.layout import part_at
from crawler.wiring.components.processing import readable_sinks
from crawler.wiring.configuration import load


def lost_output(loaded: Loaded, directory: CrawlDirectory) -> list[str]:
    """What to say about sinks that the last run had, too, and whose files are gone. Ask before sinks are opened."""
    if not directory.configuration.exists():
        return []
    try:
        earlier = load(directory.configuration, require_seeds=False)
    except ConfigError:
        return []
    return list(_lost(earlier, loaded, directory))


def _lost(earlier: Loaded, loaded: Loaded, directory: CrawlDirectory) -> Iterator[str]:
    before = {each.name for each in readable_sinks(earlier, directory)}
    whole = directory.path if part_at(directory.original) is None else directory.original.parent
    for each in readable_sinks(loaded, directory):
        folder = directory.sinks / each.name
        if each.has_files and each.name in before and not _has_files(folder):
            where = shlex.quote(str(whole))
            mend = (
                f"`onceover inspect {where} verify --repair` adds the pages until now from the records"
                if each.open_to_repair is not None
                else f"`onceover inspect {where} fsck --refetch` has their pages fetched again"
            )
            yield (
                f"the files of the sink {each.name} in {folder} are gone, and it begins others. Stop the crawl and put "
                f"back a copy; if there is none, {mend}"
            )


def _has_files(folder: Path) -> bool:
    return any(path.is_file() and not path.name.endswith(BESIDE_SQLITE) for path in folder.rglob("*"))

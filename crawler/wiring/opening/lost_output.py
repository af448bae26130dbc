"""Notices that the files of a sink were deleted since the last run: a sink would begin others, and only `verify` would
tell that pages are missing."""

import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path

from config import ConfigError, Loaded
from crawler.disk.directory import CrawlDirectory
from crawler.disk.layout import part_at
from crawler.files.content import BESIDE_SQLITE
from crawler.wiring.components.processing import ReadableSink, readable_sinks
from crawler.wiring.configuration import load


def lost_output(loaded: Loaded, directory: CrawlDirectory) -> list[str]:
    """What to say about sinks that the last run had, too, and whose files are gone. Ask before sinks are opened."""
    if not directory.configuration.exists():
        return []
    without_files = [
        each
        for each in readable_sinks(loaded, directory)
        if each.has_files and not _has_files(directory.sinks / each.name)
    ]
    try:
        # With all of its seeds: it is not read at each start.
        earlier = load(directory.configuration, require_seeds=False, require_contact=False) if without_files else loaded
    except ConfigError:
        return []
    before = {each.name for each in readable_sinks(earlier, directory)}
    return list(_lost([each for each in without_files if each.name in before], directory))


def _lost(sinks: Sequence[ReadableSink], directory: CrawlDirectory) -> Iterator[str]:
    whole = directory.path if part_at(directory.original) is None else directory.original.parent
    where = shlex.quote(str(whole))
    for each in sinks:
        mend = (
            f"`onceover inspect {where} verify --repair` adds the pages until now from the records"
            if each.open_to_repair is not None
            else f"`onceover inspect {where} fsck --refetch` has their pages fetched again"
        )
        yield (
            f"the files of the sink {each.name} in {directory.sinks / each.name} are gone, and it begins others. Stop "
            f"the crawl and put back a copy; if there is none, {mend}"
        )


def _has_files(folder: Path) -> bool:
    return any(path.is_file() and not path.name.endswith(BESIDE_SQLITE) for path in folder.rglob("*"))

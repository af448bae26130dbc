"""Finds the parts of a crawl that are not on this machine, and those whose directories have nothing of them, as when a
disk is not mounted."""

from collections.abc import Mapping
from pathlib import Path

from crawler.disk.directory import CrawlDirectory, DirectoryRefused
from crawler.disk.layout import Layout, read_layout
from crawler.status import name_parts


def notes_of_missing(path: Path) -> list[str]:
    """Which parts what is read in `path` lacks, and why, so that nobody takes what is here for all."""
    layout = read_layout(path)
    if layout is None:
        return []
    missing = missing_parts(path, layout)
    lacks = ((layout.elsewhere(path), "on other machines"), (missing, "whose directory is missing or can't be used"))
    return [f"without {name_parts(numbers)} of the crawl, {why}" for numbers, why in lacks if numbers]


def missing_parts(path: Path, layout: Layout) -> Mapping[int, CrawlDirectory]:
    """The parts of the crawl in `path` that should be on this machine and are not, by number.

    The configuration is stored when all parts are open for the first time, and in each part when that is open. Before
    that, a part may have a lock alone: its process was killed before it made a frontier. Later, a lock alone is no
    part. A machine stores the configuration first, and the claim of a part just before its process makes the frontier.
    """
    has_begun = CrawlDirectory(path).configuration.exists()
    parts = {number: CrawlDirectory(part) for number, part in layout.directories_here(path).items()}
    return {number: part for number, part in parts.items() if _is_missing(part, has_begun=has_begun)}


def _is_missing(part: CrawlDirectory, *, has_begun: bool) -> bool:
    try:
        part.check_place()
    except DirectoryRefused:
        return True
    was_open = part.configuration.exists()
    is_new = part.lock.is_file() and not was_open and (part.claim.is_file() or not has_begun)
    return not (is_new or part.has_state() or part.has_output())

"""Where earlier crawls have their archives, and where a crawl looks up what is in them."""

from collections.abc import Sequence
from pathlib import Path

from crawler.disk.directory import CrawlDirectory
from crawler.disk.layout import output_directories, whole_crawl


def earlier_places(named: Sequence[str]) -> list[Path]:
    """The folders of archives of these crawls, without those of parts that have archived nothing. What is no crawl, or
    has no archive at all, is returned as it is. Raises `DirectoryRefused` for a crawl whose parts can't be told."""
    places: list[Path] = []
    for name in named:
        folders = [CrawlDirectory(each).warc for each in output_directories(Path(name))]
        places += [each for each in folders if any(each.glob("*.warc.gz*"))] or [Path(name)]
    return places


def earlier_index(directory: CrawlDirectory) -> Path:
    """The file in which bodies of earlier crawls are looked up. The parts of a crawl share it."""
    return CrawlDirectory(whole_crawl(directory.original)).earlier

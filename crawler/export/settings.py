"""Settings of a crawl, as its configuration says them."""

import tomllib
from pathlib import Path

from crawler.disk.directory import CrawlDirectory
from crawler.export.wacz.packing import earlier_archives
from crawler.export.wacz.unpacking import is_wacz
from crawler.files.content import read_file


def compared_with(crawl: CrawlDirectory) -> tuple[Path, ...]:
    """The earlier crawls with which the archive was compared, as far as they are still there."""
    return tuple(
        place for place in named_earlier(crawl) if is_wacz(place) or (place.exists() and earlier_archives(place))
    )


def named_earlier(crawl: CrawlDirectory) -> tuple[Path, ...]:
    """The earlier crawls with which the archive was compared, as its configuration names them."""
    named = setting(crawl, "output", "dedupe_against")
    return tuple(Path(each) for each in named if isinstance(each, str)) if isinstance(named, list) else ()


def setting(crawl: CrawlDirectory, section: str, name: str) -> object:
    """A setting of the crawl; None if it has none, or its configuration can't be read."""
    try:
        return tomllib.loads(read_file(crawl.configuration).decode()).get(section, {}).get(name)
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, AttributeError, RecursionError):
        return None

"""Says why the seeds of a crawl gave no page."""

from collections.abc import Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Final

from msgspec import UNSET
from msgspec.structs import replace

from config import ConfigError, Loaded
from crawler.control.client import NoAnswer
from crawler.control.known_urls import UrlForm
from crawler.control.requests import InspectUrl
from crawler.disk.directory import DirectoryRefused
from crawler.disk.layout import record_directories
from crawler.operate.reach import ReachedCrawl, reach
from crawler.operate.refused import Refused
from crawler.page import REDIRECTS
from crawler.status import number_of
from crawler.url.seeds import read_seed
from crawler.url.urls import UrlReader
from crawler.write.records import find_record

MAX_SEEDS: Final = 5


def why_without_page(loaded: Loaded) -> list[str]:
    """Why each of the first seeds of a crawl that has ended gave no page: one line for each, as far as that is known.
    Somebody else may use the directory by now."""
    seeds = [seed.url for seed in loaded.seeds]
    path = Path(loaded.config.crawl.directory)
    lines: list[str] = []
    with suppress(ConfigError, DirectoryRefused, NoAnswer, Refused, OSError), reach(path) as crawl:
        lines += islice(_reasons(crawl, seeds, path), MAX_SEEDS)
    if lines and len(seeds) > MAX_SEEDS:
        lines.append(f"and {number_of(len(seeds) - MAX_SEEDS, 'more seed')}")
    return lines


def with_record(known: UrlForm, path: Path) -> UrlForm:
    """Add what only the record of the page says, if the crawl writes records and the URL is settled."""
    for directory in reversed(record_directories(path, None if known.part is UNSET else known.part)):
        if (record := find_record(directory, known.number)) is not None:
            return replace(known, message=record.message, truncated=record.truncated)
    return known


def _reasons(crawl: ReachedCrawl, seeds: list[str], path: Path) -> Iterator[str]:
    for seed in seeds:
        url = read_seed(UrlReader(), seed)[0].url
        known = crawl.ask(InspectUrl(url=url)).found
        if known is None:
            continue
        known = with_record(known, path)
        why = known.reason or f"status {known.status}"
        if known.status in REDIRECTS:
            why = f"{why}, and no page at the end of the redirect"
        yield f"{url}: {why}" + (f" ({known.message})" if known.message else "")

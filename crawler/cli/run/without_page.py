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
from crawler.page import PageRecord
from crawler.status import number_of
from crawler.url.seeds import read_seed
from crawler.url.urls import UrlReader, join
from crawler.write.records import find_record

MAX_SEEDS: Final = 5
MAX_HOPS: Final = 5


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
    record = _record(known, path)
    return known if record is None else replace(known, message=record.message, truncated=record.truncated)


def _record(known: UrlForm, path: Path) -> PageRecord | None:
    directories = reversed(record_directories(path, None if known.part is UNSET else known.part))
    found = (find_record(directory, known.number) for directory in directories)
    return next((record for record in found if record is not None), None)


def _reasons(crawl: ReachedCrawl, seeds: list[str], path: Path) -> Iterator[str]:
    for seed in seeds:
        url = read_seed(UrlReader(), seed)[0].url
        if (why := _reason(crawl, url, path)) is not None:
            yield why


def _reason(crawl: ReachedCrawl, url: str, path: Path) -> str | None:
    """Where the redirects of a URL lead, and why there is no page; None if the crawl does not know the URL."""
    hops, why = [url], None
    while len(hops) <= MAX_HOPS:
        answer = crawl.ask(InspectUrl(url=hops[-1]))
        if answer.found is None:
            if why is not None and answer.refused is not None:
                why = f"not followed, for the reason {answer.refused}"
            break
        record = _record(answer.found, path)
        why = answer.found.reason or f"status {answer.found.status}"
        if record is not None and record.message:
            why = f"{why} ({record.message})"
        target = None if record is None or record.redirect is None else join(hops[-1], record.redirect)
        if target is None:
            break
        hops.append(target)
        if target in hops[:-1]:
            why = "the redirects go round in a circle"
            break
    return None if why is None else f"{' -> '.join(hops)}: {why}"

"""What the files of a crawl tell: its last pages, the record of a URL, its log, its configuration. All of it blocks."""

import heapq
import os
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Final

import msgspec

from config import Config, ConfigError, Loaded, render_show
from crawler.control.known_urls import UrlForm, UrlFound
from crawler.control.replies import SettingChange
from crawler.disk.directory import CrawlDirectory
from crawler.disk.layout import record_directories
from crawler.page import PageRecord
from crawler.serve.api.data.forms import LogTail, PageList, SettingForm, Settings, UrlStory
from crawler.serve.folder import is_by_hand
from crawler.wiring.configuration import load
from crawler.wiring.live.effect import Effect, effect_of
from crawler.write.records import ReadLimit, newest_records

_LONG: Final = ("references", "link_details", "refusals", "main_text", "markdown", "json_ld")
"""Fields that a list of pages does not have."""
MAX_READ_BYTES: Final = 1 << 26
"""The most bytes of the records that are read to find the last pages."""
MAX_SEARCHED_BYTES: Final = 1 << 30
"""The most bytes of the records that are read to find that of a URL."""
MAX_LOG_BYTES: Final = 1 << 20
MAX_LINE: Final = 4000


def last_pages(directory: Path, *, limit: int, failed: bool, max_bytes: int = MAX_READ_BYTES) -> PageList:
    """The last pages of a crawl, the newest first; with `failed`, of those that failed."""
    reading = ReadLimit(max_bytes)
    # A quote in a text is escaped, so no text of a page looks like this.
    containing = b'"state":"failed"' if failed else b""
    parts = [_by_time(each, containing, reading) for each in record_directories(directory)]
    newest = heapq.merge(*parts, key=lambda each: each[0], reverse=True)
    pages = [msgspec.structs.replace(each, **dict.fromkeys(_LONG)) for _, each in islice(newest, limit)]
    return PageList(pages=pages, searched_all=not reading.was_reached)


def _by_time(directory: Path, containing: bytes, reading: ReadLimit) -> Iterator[tuple[str, PageRecord]]:
    """Records with their moments. One without has that of the record behind it."""
    moment = "~"  # later than any moment
    for record in newest_records(directory, containing=containing, limit=reading):
        moment = min(moment, record.fetched_at or moment)
        yield moment, record


def story_of(directory: Path, found: UrlFound, *, max_bytes: int = MAX_SEARCHED_BYTES) -> UrlStory:
    """What is known about a URL, with the record of its page."""
    known = found.found
    if known is None or known.state == "pending":
        return UrlStory(canonical=found.canonical, found=known, refused=found.refused, record=None, searched_all=True)
    reading = ReadLimit(max_bytes)
    record = _record_of(directory, known, reading)
    if record is not None:
        known = msgspec.structs.replace(known, message=record.message, truncated=record.truncated)
    searched_all = record is not None or not reading.was_reached
    return UrlStory(canonical=found.canonical, found=known, record=record, searched_all=searched_all)


def _record_of(directory: Path, known: UrlForm, reading: ReadLimit) -> PageRecord | None:
    part = None if known.part is msgspec.UNSET else known.part
    for place in reversed(record_directories(directory, part)):
        for record in newest_records(place, containing=b'{"number":%d,' % known.number, limit=reading):
            if record.number == known.number:
                return record
    return None


def log_tail(directory: Path, lines: int) -> LogTail:
    """The last lines of the log of a crawl."""
    path = CrawlDirectory(directory).log
    try:
        with path.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - MAX_LOG_BYTES))
            text = file.read().decode("utf-8", "replace")
    except FileNotFoundError:
        return LogTail(path=str(path), lines=[])
    found = text.splitlines()[1 if size > MAX_LOG_BYTES else 0 :]
    return LogTail(path=str(path), lines=[line[:MAX_LINE] for line in found[-lines:]])


def settings_of(
    loaded: Loaded, running: Path | None, waiting: Iterable[SettingChange] = (), *, with_secrets: bool
) -> Settings:
    """The settings of a crawl. `running` is its directory if it runs: there is what holds now, except for what is
    `waiting` for its next start."""
    now = (
        {}
        if running is None
        else _values_in(running, with_secrets=with_secrets) | {each.key: each.was for each in waiting}
    )
    rows = [
        SettingForm(
            key=row.key,
            value=row.value,
            origin=row.origin,
            meaning=row.meaning,
            running=value if (value := now.get(row.key, row.value)) != row.value else None,
            holds=effect.when if effect.when != "never" else None,
            reason=effect.reason,
        )
        for row in render_show(loaded, with_secrets=with_secrets)
        for effect in [_effect_of(row.key, loaded.config)]
    ]
    return Settings(settings=rows)


def _effect_of(key: str, config: Config) -> Effect:
    """When a change through the API holds."""
    if "[" in key or is_by_hand(key):
        return Effect("never", "it can only be changed by hand, in the file")
    return Effect("now") if key.startswith("daemon.") else effect_of(key, config, config)


def _values_in(directory: Path, *, with_secrets: bool) -> dict[str, str]:
    try:
        stored = load(CrawlDirectory(directory).configuration, environ={}, require_seeds=False, require_contact=False)
    except (ConfigError, OSError):
        return {}
    # The daemon gives a crawl its directory as a whole path.
    return {
        row.key: row.value for row in render_show(stored, with_secrets=with_secrets) if row.key != "crawl.directory"
    }

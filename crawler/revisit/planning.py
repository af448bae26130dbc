"""From a settled URL to the interval until its next visit."""

from datetime import datetime
from typing import Final

from crawler.page import LinkKind, PageRecord
from crawler.record import Change
from crawler.revisit.known_pages import KnownPages
from crawler.revisit.schedules import ByPattern, BySitemap, Visit
from frontier import CrawlUrl, LedgerEntry, add_visit

_DAY_CHARACTERS: Final = len("2026-02-03")
_LONGEST_DAY_S: Final = 36 * 3600.0
"""From the beginning of a day in UTC until it is over in all time zones."""


class VisitPlanning:
    """A `Planning` by a schedule."""

    def __init__(
        self, schedule: ByPattern, *, sitemaps: BySitemap | None = None, pages: KnownPages | None = None
    ) -> None:
        """`sitemaps` decides when pages are visited because of what a sitemap says; None if they never are. `pages`
        counts those that are visited; None if nobody asks."""
        self._schedule = schedule
        self._sitemaps = sitemaps
        self._pages = pages

    @property
    def follows_sitemaps(self) -> bool:
        return self._sitemaps is not None

    def after_visit_s(self, url: CrawlUrl, record: PageRecord, /) -> float:
        last_visit = url.last_visit
        changed = None if record.change is None else record.change == Change.CHANGED
        history = () if last_visit is None else last_visit.history
        fetched_at = _moment(record.fetched_at)
        if last_visit is not None and fetched_at is not None and changed is not None:
            history = add_visit(last_visit, fetched_at=fetched_at, changed=changed)
        stale_at = _moment(record.expires_at)
        visit = Visit(
            changed=changed,
            gone=record.change == Change.GONE,
            is_sitemap=url.kind == LinkKind.SITEMAP,
            interval_s=None if last_visit is None else last_visit.interval_s,
            history=history,
            change_frequency=url.change_frequency,
            fresh_for_s=None if stale_at is None or fetched_at is None else max(0.0, stale_at - fetched_at),
        )
        return self._schedule.interval_s(url.url, visit)

    def leave_out(self, url: CrawlUrl, /) -> None:
        if self._pages is not None and url.last_visit is None:
            self._pages.leave_out()

    def after_entry_s(self, entry: LedgerEntry, /) -> float | None:
        """The same for a URL that was settled when nothing was planned. None for what is only checked, which has no
        next visit."""
        if entry.kind == LinkKind.EXTERNAL:
            return None
        visit = Visit(
            is_sitemap=entry.kind == LinkKind.SITEMAP, history=entry.history, change_frequency=entry.change_frequency
        )
        return self._schedule.interval_s(entry.url or entry.canonical, visit)

    def is_due(self, url: CrawlUrl, entry: LedgerEntry | None, /, *, last_modified: str | None, read_at: float) -> bool:
        if self._sitemaps is None or entry is None or entry.fetched_at is None or url.kind == LinkKind.SITEMAP:
            return False
        return self._sitemaps.is_due(
            since_s=read_at - entry.fetched_at,
            has_changed=_has_changed(url, _moment(last_modified), visited_at=entry.fetched_at, read_at=read_at),
            change_frequency=url.change_frequency,
        )


def _has_changed(url: CrawlUrl, moment: float | None, *, visited_at: float, read_at: float) -> bool:
    """Whether a sitemap says that a page has changed since. A page with only a day may have changed on that day after
    the visit, which is known once the day is over."""
    if moment is None:
        return False
    is_day = len((url.last_modified or "").strip()) == _DAY_CHARACTERS
    return moment > visited_at or (is_day and visited_at < moment + _LONGEST_DAY_S <= read_at)


def _moment(text: str | None) -> float | None:
    return None if text is None else datetime.fromisoformat(text).timestamp()

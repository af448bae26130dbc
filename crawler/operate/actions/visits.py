"""The visits to a URL, and when the next one is due and why then."""

from collections.abc import Sequence
from itertools import accumulate

from config import Config
from config.schema.recrawl import Recrawl
from crawler.control.known_urls import UrlVisits, VisitForm
from crawler.discover.scope import pattern_search
from crawler.operate.actions.forms import moment
from crawler.page import LinkKind
from crawler.record import Change
from crawler.revisit.change_rate import change_rate
from crawler.status import duration
from frontier import KnownUrl, LedgerEntry, UrlState


def visits_of(known: KnownUrl, config: Config) -> UrlVisits:
    """What is known of the visits to a URL: from the ledger, or, while the URL waits, from its entry in the queue."""
    entry = known.entry
    count, history, last_at = entry.visits, entry.history, entry.fetched_at
    if entry.state is UrlState.PENDING:
        last_visit = None if known.waiting is None else known.waiting.last_visit
        if last_visit is None:
            return UrlVisits(count=0, last=[])
        count, history, last_at = last_visit.visits, last_visit.history, last_visit.fetched_at
    rate = change_rate(history)
    next_at, why = _next_visit(entry, config.recrawl)
    return UrlVisits(
        count=count,
        last=_last(history, last_at),
        changes_every_s=None if not rate else round(1 / rate),
        next_at=moment(next_at),
        next_why=why,
    )


def _last(history: Sequence[int], last_at: float | None) -> list[VisitForm]:
    """The visits that found whether the page had changed, the newest first."""
    if last_at is None:
        return []
    gaps = [abs(gap_s) for gap_s in reversed(history)]
    times = accumulate(gaps, lambda at, gap_s: at - gap_s, initial=last_at)
    return [
        VisitForm(at=moment(at), changed=gap_s > 0, after_s=abs(gap_s))
        for at, gap_s in zip(times, reversed(history), strict=False)
    ]


def _next_visit(entry: LedgerEntry, recrawl: Recrawl) -> tuple[float | None, str | None]:
    if entry.state is UrlState.PENDING:
        return None, None
    if recrawl.schedule == "off":
        return None, "recrawl.schedule is off"
    if entry.due_ms is None:
        return None, "the next run plans it"
    return entry.due_ms / 1000, _why(entry, recrawl)


def _why(entry: LedgerEntry, recrawl: Recrawl) -> str:
    after = "" if entry.interval_s is None else f"{duration(entry.interval_s)} after the last visit, "
    if entry.reason == Change.GONE:
        return f"{after}as for all pages that are gone"
    for each in recrawl.pattern:
        search = pattern_search([each.matching], "recrawl.pattern")
        if search is not None and search(entry.url or entry.canonical):
            return f"{after}by the pattern {each.matching} of recrawl.pattern"
    why = f'{after}by the schedule "{recrawl.schedule}"'
    if recrawl.schedule == "sitemap" and entry.kind != LinkKind.SITEMAP and entry.change_frequency is not None:
        why += f", because a sitemap says that it changes {entry.change_frequency}"
    return why

"""What an operator learns of the visits to a URL."""

import msgspec
import pytest

from config import load
from config.schema.recrawl import RecrawlPattern
from crawler.control.known_urls import UrlVisits, VisitForm
from crawler.operate.actions.urls import visits_of
from frontier import CrawlUrl, KnownUrl, LastVisit, LedgerEntry, UrlState

AT = 1_700_000_000.0
ENTRY = LedgerEntry(
    canonical="http://a.test/news/1",
    state=UrlState.DONE,
    number=7,
    found_at=AT - 900,
    fetched_at=AT,
    visits=3,
    history=(300, -100),
    interval_s=7200,
    due_ms=int((AT + 7200) * 1000),
)


def told(entry: LedgerEntry, *settings: str, waiting: CrawlUrl | None = None) -> UrlVisits:
    config = load(None, overrides=list(settings), environ={}, require_seeds=False).config
    return visits_of(KnownUrl(entry=entry, waiting=waiting), config)


def test_the_last_visits_are_told_with_the_next_one_and_why_it_is_due_then() -> None:
    assert told(ENTRY, 'recrawl.schedule="adaptive"') == UrlVisits(
        count=3,
        last=[
            VisitForm(at="2023-11-14T22:13:20.000Z", changed=False, after_s=100),
            VisitForm(at="2023-11-14T22:11:40.000Z", changed=True, after_s=300),
        ],
        changes_every_s=210,
        next_at="2023-11-15T00:13:20.000Z",
        next_why='2 h 0 min after the last visit, by the schedule "adaptive"',
    )


@pytest.mark.parametrize(
    ("settings", "changed", "why"),
    [
        ([], {}, "recrawl.schedule is off"),
        (['recrawl.schedule="fixed"'], {"due_ms": None}, "the next run plans it"),
        (
            ['recrawl.schedule="fixed"'],
            {"reason": "gone"},
            "2 h 0 min after the last visit, as for all pages that are gone",
        ),
        (
            ['recrawl.schedule="sitemap"'],
            {"change_frequency": "hourly"},
            '2 h 0 min after the last visit, by the schedule "sitemap", because a sitemap says that it changes hourly',
        ),
    ],
)
def test_each_reason_for_the_next_visit_is_told(settings: list[str], changed: dict[str, object], why: str) -> None:
    assert told(msgspec.structs.replace(ENTRY, **changed), *settings).next_why == why


def test_a_page_that_a_pattern_matches_is_visited_by_that() -> None:
    config = load(None, overrides=['recrawl.schedule="fixed"'], environ={}, require_seeds=False).config
    pattern = tuple(RecrawlPattern(matching=each, interval_s=9) for each in ("/old/", "/news/"))
    config = msgspec.structs.replace(config, recrawl=msgspec.structs.replace(config.recrawl, pattern=pattern))
    visits = visits_of(KnownUrl(entry=msgspec.structs.replace(ENTRY, interval_s=None)), config)
    assert visits.next_why == "by the pattern /news/ of recrawl.pattern"


def test_a_url_that_waits_for_its_next_visit_tells_of_the_earlier_ones() -> None:
    waiting = CrawlUrl(url="u", canonical="u", queue_key="test,a")
    entry = LedgerEntry(canonical="u", state=UrlState.PENDING, number=8, found_at=AT)
    assert told(entry, waiting=waiting) == UrlVisits(count=0, last=[])
    last_visit = LastVisit(visits=3, fetched_at=AT, history=(300, -100))
    again = told(entry, 'recrawl.schedule="fixed"', waiting=msgspec.structs.replace(waiting, last_visit=last_visit))
    assert (again.count, [each.after_s for each in again.last], again.next_at, again.next_why) == (
        3,
        [100, 300],
        None,
        None,
    )

"""When pages are visited again: intervals are never in the past, and the better schedule keeps more copies current."""

import math
from collections.abc import Callable, Iterator

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crawler.page import CHANGE_FREQUENCIES, LinkKind, PageRecord
from crawler.record import Change
from crawler.revisit.allotment import AIMS, Allotment, Estimated, best_interval_s
from crawler.revisit.change_rate import change_rate
from crawler.revisit.known_pages import KnownPages
from crawler.revisit.planning import VisitPlanning
from crawler.revisit.schedules import Adaptive, Bounds, ByCache, ByPattern, BySitemap, Fixed, Schedule, Visit
from frontier import CrawlUrl, LastVisit, LedgerEntry, UrlState
from tests.bench import recrawl as bench
from tests.unit.serve.samples import FRONTIER

HOUR_S = 3600.0
BOUNDS = Bounds(first_s=24 * HOUR_S, min_s=HOUR_S, max_s=1000 * HOUR_S)
SCHEDULES: dict[str, Callable[[], Schedule]] = {
    "fixed": lambda: Fixed(BOUNDS.first_s),
    "sitemap": lambda: BySitemap(BOUNDS),
    "cache": lambda: ByCache(BOUNDS),
    "adaptive": lambda: Adaptive(BOUNDS),
    "estimate": lambda: Estimated(Allotment(BOUNDS, mean_s=lambda: BOUNDS.first_s)),
}
HISTORY = st.lists(st.integers(1, 2**31).flatmap(lambda each: st.sampled_from([each, -each])), max_size=12).map(tuple)
VISITS = st.builds(
    Visit,
    changed=st.none() | st.booleans(),
    is_sitemap=st.booleans(),
    interval_s=st.none() | st.floats(1, 1e9),
    history=HISTORY,
    fresh_for_s=st.none() | st.floats(0, 1e12),
)


@pytest.mark.parametrize("name", SCHEDULES)
@settings(max_examples=30)
@given(visits=st.lists(VISITS, min_size=1, max_size=150))
def test_the_next_visit_is_within_bounds_and_never_in_the_past(name: str, visits: list[Visit]) -> None:
    schedule = SCHEDULES[name]()
    for visit in visits:
        assert BOUNDS.min_s <= schedule.interval_s(visit) <= BOUNDS.max_s


def test_an_adaptive_interval_is_shorter_after_a_change_and_longer_without_one() -> None:
    schedule = Adaptive(BOUNDS)
    intervals = [
        schedule.interval_s(Visit(changed=changed, interval_s=100 * HOUR_S)) for changed in (True, False, None)
    ]
    assert intervals == pytest.approx([80 * HOUR_S, 120 * HOUR_S, 100 * HOUR_S])
    assert schedule.interval_s(Visit()) == BOUNDS.first_s


@given(st.integers(1, 12), st.integers(0, 12), st.integers(60, 10**7))
def test_with_equal_intervals_the_rate_is_that_of_the_literature_with_half_a_visit_more_of_each_kind(
    visits: int, changes: int, interval_s: int
) -> None:
    changes = min(changes, visits)
    rate = change_rate([interval_s] * changes + [-interval_s] * (visits - changes))
    assert rate is not None
    # The rate at which what was observed is most probable; the prior counts as half a change.
    observed = changes * interval_s / math.expm1(rate * interval_s) + 0.5 / rate
    assert observed == pytest.approx((visits - changes + 0.5) * interval_s, rel=1e-3)


@pytest.mark.parametrize("days", [1, 5, 30])
def test_many_irregular_visits_tell_the_rate(days: float) -> None:
    chance = np.random.default_rng(3)
    intervals = chance.uniform(0.3, 2, size=4000) * days * 86_400
    changed = chance.random(4000) < -np.expm1(-intervals / (days * 86_400))
    rate = change_rate([round(each) if has else -round(each) for each, has in zip(intervals, changed, strict=True)])
    assert rate is not None
    assert 1 / rate / 86_400 == pytest.approx(days, rel=0.1)


@given(st.floats(1e-8, 1e-3), st.floats(1e2, 1e7))
def test_one_more_visit_brings_each_page_the_price(rate: float, price_s: float) -> None:
    interval_s = best_interval_s(rate, price_s)
    if rate * price_s >= 1:
        assert interval_s == math.inf
        return
    x = rate * interval_s
    if 1e-3 < x < 20:
        assert (1 - (1 + x) * math.exp(-x)) / rate == pytest.approx(price_s, rel=0.05)


@given(st.floats(1e-7, 1e-3), st.floats(1e3, 1e6))
def test_for_the_least_age_too_one_more_visit_brings_each_page_the_same(rate: float, price_s: float) -> None:
    interval_s = best_interval_s(rate, price_s, AIMS["age"])

    def age_s(visits_per_s: float) -> float:
        x = rate / visits_per_s
        return (x / 2 - 1 - math.expm1(-x) / x) / rate

    if 0.05 < rate * interval_s < 1e4:
        step = 1e-4 / interval_s
        gain = (age_s(1 / interval_s - step) - age_s(1 / interval_s + step)) / (2 * step)
        assert gain == pytest.approx(price_s**2, rel=0.05)


@pytest.mark.parametrize("aim", AIMS)
def test_an_allotment_finds_the_price_that_meets_its_budget(aim: str) -> None:
    chance = np.random.default_rng(5)
    rates = np.exp(chance.normal(0, 1.5, size=400)) / (30 * HOUR_S)
    allotment = Allotment(BOUNDS, mean_s=lambda: 24 * HOUR_S, aim=AIMS[aim])
    intervals = np.full(len(rates), 24 * HOUR_S)
    for _ in range(12):
        intervals = np.array([allotment.interval_s(rate, 24 * HOUR_S) for rate in rates])
    assert np.mean(24 * HOUR_S / intervals) == pytest.approx(1, rel=0.15)


@pytest.mark.parametrize("mean_h", [2, 24, 240])
def test_the_first_visits_keep_to_the_budget_too(mean_h: float) -> None:
    allotment = Allotment(BOUNDS, mean_s=lambda: mean_h * HOUR_S)
    chance = np.random.default_rng(5)
    rates = np.exp(chance.normal(0, 1.5, size=60)) / (30 * HOUR_S)
    intervals = np.array([allotment.interval_s(rate, 24 * HOUR_S) for rate in rates])
    assert np.mean(HOUR_S / intervals) < 3 / mean_h


class NoteBook:
    """`Notes` in memory."""

    def __init__(self) -> None:
        self.values: dict[str, bytes] = {}

    def get(self, key: str, /) -> bytes | None:
        return self.values.get(key)

    def put(self, key: str, value: bytes, /) -> None:
        self.values[key] = value

    def items(self, prefix: str, /) -> Iterator[tuple[str, bytes]]:
        yield from ((key, value) for key, value in self.values.items() if key.startswith(prefix))

    def set_aside(self, key: str, _why: Exception, /) -> None:
        del self.values[key]


def test_pages_that_are_being_visited_again_count_for_the_budget_also_after_a_restart() -> None:
    notes = NoteBook()
    stats = msgspec.structs.replace(FRONTIER, admitted=1000, done=900, failed=40, excluded=10)
    pages = KnownPages(lambda: stats, notes)
    assert pages.count() == 950
    stats = msgspec.structs.replace(stats, done=3, failed=0, excluded=0)
    for known in (pages, KnownPages(lambda: stats, notes)):
        assert known.count() == 950
    stats = msgspec.structs.replace(stats, admitted=20)  # the others were forgotten
    assert pages.count() == 20
    notes.put("settled", b"\xc1")
    assert KnownPages(lambda: stats, notes).count() == 3


def test_urls_that_are_only_checked_take_nothing_of_the_budget() -> None:
    notes = NoteBook()
    stats = msgspec.structs.replace(FRONTIER, admitted=1000, done=900, failed=0, excluded=0)
    pages = KnownPages(lambda: stats, notes)
    planning = VisitPlanning(ByPattern([], Fixed(1.0), gone_s=1.0), pages=pages)
    check = CrawlUrl(url="http://b.test/", canonical="http://b.test/#external", queue_key="b", kind=LinkKind.EXTERNAL)
    for _ in range(300):
        planning.leave_out(check)
    assert pages.count() == 600
    # A crash costs at most a few, because each is not worth a write.
    assert 600 <= KnownPages(lambda: stats, notes).count() <= 615
    # Those that an operator has checked again count once.
    planning.leave_out(msgspec.structs.replace(check, last_visit=LastVisit(visits=1)))
    assert pages.count() == 600


def test_patterns_and_gone_pages_have_intervals_of_their_own() -> None:
    schedule = ByPattern([(lambda url: "news" in url, 60.0), (lambda _: True, 120.0)], Fixed(1.0), gone_s=999.0)
    assert schedule.interval_s("http://a.test/news", Visit()) == 60
    assert schedule.interval_s("http://a.test/old", Visit()) == 120
    assert schedule.interval_s("http://a.test/news", Visit(gone=True)) == 999
    assert ByPattern([], Fixed(1.0), gone_s=999.0).interval_s("http://a.test/", Visit()) == 1


class Seen:
    """Keeps the visits that a schedule is asked about."""

    def __init__(self) -> None:
        self.visits: list[Visit] = []

    def interval_s(self, visit: Visit, /) -> float:
        self.visits.append(visit)
        return 5.0


def test_a_plan_knows_what_the_record_says() -> None:
    seen = Seen()
    planning = VisitPlanning(ByPattern([], seen, gone_s=9.0))
    last_visit = LastVisit(visits=2, status=200, fetched_at=1_700_000_000.0, history=(-7,), interval_s=50)
    url = CrawlUrl(
        url="http://a.test/",
        canonical="http://a.test/",
        queue_key="test,a",
        kind="sitemap",
        last_visit=last_visit,
        change_frequency="daily",
    )
    record = PageRecord(
        number=3,
        url=url.url,
        state="done",
        depth=0,
        kind=url.kind,
        fetched_at="2023-11-14T22:15:00.000Z",
        expires_at="2023-11-14T23:15:00.000Z",
        change=Change.CHANGED,
    )
    assert planning.after_visit_s(url, record) == 5
    assert seen.visits == [
        Visit(
            changed=True,
            is_sitemap=True,
            interval_s=50,
            history=(-7, 100),
            change_frequency="daily",
            fresh_for_s=HOUR_S,
        ),
    ]
    assert planning.after_visit_s(url, msgspec.structs.replace(record, change=Change.GONE)) == 9


def test_a_sitemap_tells_which_pages_have_changed_since_and_how_often_they_do() -> None:
    sitemaps = BySitemap(BOUNDS)
    planning = VisitPlanning(ByPattern([], sitemaps, gone_s=9.0), sitemaps=sitemaps)
    visited_at = 1_700_000_000.0
    url = CrawlUrl(url="http://a.test/", canonical="http://a.test/", queue_key="test,a")
    entry = LedgerEntry(canonical=url.canonical, state=UrlState.DONE, number=1, found_at=0, fetched_at=visited_at)
    before, after = "2023-11-14T22:00:00Z", "2023-11-14T23:00:00Z"

    def is_due(url: CrawlUrl, last_modified: str | None, hours: float, entry: LedgerEntry | None = entry) -> bool:
        return planning.is_due(url, entry, last_modified=last_modified, read_at=visited_at + hours * HOUR_S)

    assert is_due(url, after, 2)
    assert not is_due(url, after, 0.5)  # a sitemap that always gives the present time is no reason to come at once
    assert not is_due(url, before, 2)
    assert not is_due(url, None, 2)
    assert not is_due(url, after, 2, None)
    assert not is_due(msgspec.structs.replace(url, kind=LinkKind.SITEMAP), after, 2)
    daily = msgspec.structs.replace(url, change_frequency="daily")
    assert [is_due(daily, None, hours) for hours in (23, 25)] == [False, True]
    assert not VisitPlanning(ByPattern([], sitemaps, gone_s=9.0)).is_due(daily, entry, last_modified=after, read_at=9e9)


def test_a_sitemap_that_tells_only_the_day_of_a_change_brings_a_visit_when_that_day_is_over() -> None:
    sitemaps = BySitemap(BOUNDS)
    planning = VisitPlanning(ByPattern([], sitemaps, gone_s=9.0), sitemaps=sitemaps)
    day = 1_700_006_400.0  # 2023-11-15
    url = CrawlUrl(url="http://a.test/", canonical="http://a.test/", queue_key="test,a", last_modified=" 2023-11-15")

    def is_due(*, visited: float, read: float, url: CrawlUrl = url) -> bool:
        """In hours of that day."""
        fetched_at = day + visited * HOUR_S
        entry = LedgerEntry(canonical=url.canonical, state=UrlState.DONE, number=1, found_at=0, fetched_at=fetched_at)
        return planning.is_due(url, entry, last_modified="2023-11-15T00:00:00Z", read_at=day + read * HOUR_S)

    assert is_due(visited=-1, read=3)
    assert [is_due(visited=10, read=hour) for hour in (12, 35, 36, 60)] == [False, False, True, True]
    assert not is_due(visited=36, read=60)
    assert not is_due(visited=10, read=60, url=msgspec.structs.replace(url, last_modified="2023-11-15T00:00Z"))


@pytest.mark.parametrize(
    ("frequency", "hours"),
    [("always", 1), ("hourly", 1), ("daily", 24), ("weekly", 168), ("monthly", 720), ("yearly", 1000), ("never", 1000)],
)
def test_pages_are_visited_as_often_as_a_sitemap_says_that_they_change_within_the_bounds(
    frequency: str, hours: float
) -> None:
    sitemaps = BySitemap(BOUNDS)
    assert sitemaps.interval_s(Visit(change_frequency=frequency)) == hours * HOUR_S
    assert sitemaps.interval_s(Visit(change_frequency=frequency, is_sitemap=True)) == BOUNDS.first_s
    planning = VisitPlanning(ByPattern([], sitemaps, gone_s=9.0), sitemaps=sitemaps)
    entry = LedgerEntry(canonical="u", state=UrlState.DONE, number=1, found_at=0, change_frequency=frequency)
    assert planning.after_entry_s(entry) == hours * HOUR_S
    assert frequency in CHANGE_FREQUENCIES


@pytest.mark.parametrize("name", SCHEDULES)
def test_a_url_that_is_only_checked_has_no_next_visit_also_when_visits_begin_later(name: str) -> None:
    planning = VisitPlanning(ByPattern([(lambda _: True, 5.0)], SCHEDULES[name](), gone_s=9.0))
    entry = LedgerEntry(canonical="u#external", state=UrlState.DONE, number=1, found_at=0, kind=LinkKind.EXTERNAL)
    assert planning.after_entry_s(entry) is None
    assert planning.after_entry_s(msgspec.structs.replace(entry, kind=LinkKind.LINK)) == 5.0


def test_at_equal_cost_adaptive_visits_are_better_than_fixed_ones_and_estimates_better_still() -> None:
    assert_ordered(1_000)


@pytest.mark.long
def test_the_order_of_the_schedules_holds_for_fifty_thousand_pages() -> None:
    assert_ordered(50_000)


def assert_ordered(pages: int) -> None:
    """Fixed, adaptive, estimated: each keeps more copies current than the one before."""
    found = simulated(pages, *bench.schedules())
    assert {each.visits for each in found.values()} == {bench.ROUNDS * pages}
    fresh = {name: each.mean_fresh() for name, each in found.items()}
    age = {name: each.mean_age_days() for name, each in found.items()}
    assert fresh["fixed"] + 0.005 < fresh["adaptive"]
    assert fresh["adaptive"] + 0.002 < fresh["estimate"]
    assert max(age["adaptive"], age["estimate for age"]) * 1.1 < age["fixed"]


@pytest.mark.long
def test_when_the_rates_are_learned_an_estimate_for_age_has_younger_copies_than_adaptive_visits() -> None:
    found = simulated(2_000, "adaptive", "estimate", "estimate for age", rounds=30)
    age = {name: each.mean_age_days(rounds=slice(10, None)) for name, each in found.items()}
    assert age["estimate for age"] * 1.1 < age["adaptive"] < age["estimate"]


def simulated(pages: int, *names: str, rounds: int = bench.ROUNDS) -> dict[str, bench.Simulated]:
    rates = bench.change_rates(pages, np.random.default_rng(bench.SEED))
    makers = bench.schedules()
    return {
        name: bench.simulate(makers[name](), rates, np.random.default_rng(bench.SEED + 1), rounds=rounds)
        for name in names
    }

"""That what is recommended follows from what was measured."""

import msgspec

from crawler.compare.measure.trial import (
    Check,
    Competitor,
    Crawled,
    Done,
    Timing,
)
from crawler.compare.report.expecting import Expectation, judge
from crawler.compare.report.recommending import Requirements, frontier, recommend
from crawler.compare.report.summary import Row, rows
from tests.unit.compare.making import check, timing, work

SETS = [Competitor(name=name, backend=name, is_exact=name == "exact") for name in ("exact", "dsbf", "bloom", "tiny")]
OUTCOMES: dict[str, tuple[Timing, Check]] = {
    "exact": (timing(reported_bytes=20_000_000), check(past_bytes=40_000_000)),
    "dsbf": (timing(reported_bytes=2_800_000), check(lost=30, rate=5e-5, past_lost=90, past_bytes=5_600_000)),
    "bloom": (timing(reported_bytes=2_400_000, steady_bytes=6_000_000), check(lost=10, rate=1e-4, past_lost=30_000)),
    "tiny": (timing(reported_bytes=1_000_000), check(lost=5000, rate=0.02, past_lost=90_000)),
}


def measured(found: dict[str, tuple[Timing, Check]] = OUTCOMES) -> list[Row]:
    done = [
        Done(key="", kind="time", work="work", competitor=name, round=0, outcome=outcome)
        for name, outcomes in found.items()
        for outcome in outcomes
    ]
    return rows([work(10)], SETS, done)


def test_the_least_memory_that_loses_no_more_than_wished_is_taken() -> None:
    first, second = recommend(measured(), Requirements(max_loss=1e-4, max_memory_bytes=None))
    assert first.competitor == "bloom"
    assert first.text == "For 1,000,000 URLs and at most 1 in 10,000 lost: bloom, 2.4 MB."
    assert first.sure.startswith("Sure: 10 of 1,000,000 were lost")
    assert second.competitor == "dsbf"
    assert second.text.startswith("If there may be 2 times as many: dsbf, 5.6 MB. At 2,000,000 URLs it lost")


def test_what_does_not_fit_when_it_has_grown_is_not_taken_for_twice_as_many() -> None:
    [only] = recommend(measured(), Requirements(max_loss=1e-4, max_memory_bytes=5_000_000))
    assert only.competitor == "bloom"
    _, second = recommend(measured(), Requirements(max_loss=1e-4, max_memory_bytes=5_600_000))
    assert second.competitor == "dsbf"
    untold = OUTCOMES | {"dsbf": (OUTCOMES["dsbf"][0], check(lost=30, past_lost=90, past_bytes=None))}
    _, second = recommend(measured(untold), Requirements(max_loss=1e-4, max_memory_bytes=None))
    assert second.competitor == "exact"


def test_many_times_as_many_are_written_without_an_exponent() -> None:
    found = [msgspec.structs.replace(row, past=103_400_000) for row in measured() if row.past is not None]
    _, second = recommend(found, Requirements(max_loss=1e-4, max_memory_bytes=None))
    assert second.text.startswith("If there may be 100 times as many: dsbf, ")


def test_a_loss_that_few_urls_can_not_show_makes_it_less_sure() -> None:
    [first, *_] = recommend(measured(), Requirements(max_loss=1.2e-5, max_memory_bytes=None))
    assert first.competitor == "bloom"
    assert first.sure.startswith("Likely")


def test_a_set_is_called_exact_by_what_it_is_and_not_by_a_rate_too_low_to_tell() -> None:
    few = check(rate=1e-16, distinct=1000)
    for name, words in (("exact", "Sure: it is exact."), ("bloom", "Likely: 0 of 1,000 were lost")):
        [only] = recommend(measured({name: (timing(), few)}), Requirements(max_loss=1e-4, max_memory_bytes=None))
        assert only.sure.startswith(words)


def test_where_nothing_will_do_the_nearest_is_named() -> None:
    [only] = recommend(measured(), Requirements(max_loss=0.0, max_memory_bytes=10_000_000))
    assert only.competitor is None
    assert "exact" in only.text


def test_no_best_choice_is_beaten_in_both_memory_and_loss() -> None:
    assert [row.competitor for row in frontier(measured())] == ["tiny", "bloom", "exact"]


def test_a_row_agrees_with_itself_within_its_bounds() -> None:
    by_name = {row.competitor: row for row in measured()}
    assert by_name["bloom"].agrees is False  # the process has grown by more than twice what was told
    assert by_name["tiny"].agrees is True


def test_expectations_are_judged_by_their_bounds() -> None:
    expected = [
        Expectation(work="work", set="bloom", figure="loss", value=1e-5),
        Expectation(work="work", set="bloom", figure="loss", value=1e-4),
        Expectation(work="work", set="tiny", figure="rate", value=0.02),
        Expectation(work="work", set="exact", figure="ratio_bytes", over="bloom", value=8.0, tolerance=0.05),
        Expectation(work="work", set="exact", figure="ratio_bytes", over="bloom", value=8.3334, tolerance=0.001),
        Expectation(work="other", set="exact", figure="rate", value=0.0),
    ]
    found = judge(expected, measured(), {"work": work(10)})
    assert [each.met for each in found] == [True, False, True, True, True, None]
    assert [each.within for each in found] == [
        "±3 σ of 1,000,000",
        "±3 σ of 1,000,000",
        "±3 σ of 20,000",
        "±5%",
        "±0%",
        "not measured",
    ]


def test_what_a_process_can_not_show_is_not_recommended() -> None:
    faint = timing(reported_bytes=None, steady_bytes=400_000)
    found = measured({"exact": OUTCOMES["exact"], "bloom": (faint, check())})
    assert [row.is_faint for row in found] == [False, True]
    assert [each.competitor for each in recommend(found, Requirements(max_loss=1e-4, max_memory_bytes=None))] == [
        "exact"
    ]
    assert [row.competitor for row in frontier(found)] == ["exact"]


def test_for_a_live_crawl_the_least_memory_that_misses_no_page_is_taken() -> None:
    def crawled(pages: int, reported_bytes: int) -> Crawled:
        return Crawled(
            pages=pages, missing=90 - pages, seconds=1.0, count=1, reported_bytes=reported_bytes, estimated_lost=0.0
        )

    crawls = {"exact": crawled(90, 2000), "dsbf": crawled(90, 1000), "tiny": crawled(47, 80)}
    done = [
        Done(key="", kind="crawl", work="work", competitor=name, round=0, outcome=outcome)
        for name, outcome in crawls.items()
    ]
    found = rows([work(10)], SETS, done)
    [only] = recommend(found, Requirements(max_loss=1e-4, max_memory_bytes=None))
    assert only.text == "For a crawl of 90 pages and at most 1 in 10,000 missing: dsbf, 1.0 kB."
    assert only.sure.startswith("0 pages were missing, so the true share is below ")
    [none] = recommend(found, Requirements(max_loss=1e-4, max_memory_bytes=500))
    assert none.competitor is None
    assert none.text.endswith("missing: none of these. The closest is exact, 2.0 kB.")


def test_a_set_on_a_server_is_recommended_for_crawls_that_share_it_or_if_no_other_will_do() -> None:
    remote = msgspec.structs.replace(timing(reported_bytes=960_000), server_bytes=940_000, server_cpu_s=2.5e-6)
    found = measured(OUTCOMES | {"tiny": (remote, check())})
    first, *_, last = recommend(found, Requirements(max_loss=1e-4, max_memory_bytes=None))
    assert first.competitor == "bloom"
    assert "tiny" not in first.sure
    assert last.competitor == "tiny"
    assert last.text.startswith(
        "If crawls share the set, or this machine has no memory for it: tiny, 960.0 kB, of which "
    )
    assert "940.0 kB on its server; a batch waits " in last.text
    assert last.text.endswith(" ms for it, and a link takes 2.5 µs of its processor.")
    [only] = recommend(found, Requirements(max_loss=1e-4, max_memory_bytes=1_000_000))
    assert only.competitor == "tiny"
    assert only.text.startswith("For 1,000,000 URLs in 1.0 MB and at most 1 in 10,000 lost: tiny, 960.0 kB, of which ")

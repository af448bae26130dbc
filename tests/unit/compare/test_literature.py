"""The figures that the literature run expects are those of the formulas; the run itself is a test of minutes."""

import math
from pathlib import Path

import msgspec
import pytest

from config import CompareSet, Loaded, load
from crawler.compare.measure.trial import Done
from crawler.compare.measure.work import new_batches
from crawler.compare.report.expecting import Expectation, judge
from crawler.compare.report.summary import rows
from crawler.wiring.comparing.blocks import competitors, prepare_work
from crawler.wiring.comparing.worker import make_set
from tests.unit.compare.making import EXACT, timing, work


def literature(*overrides: str) -> Loaded:
    return load(None, preset="compare-literature", overrides=overrides, environ={}, require_seeds=False)


COMPARE = literature().config.compare
BLOOMS = {each.name: each for each in COMPARE.set if each.backend == "bloom" and each.bits_per_url is not None}
RATES = [each for each in COMPARE.expect if each.figure in {"rate", "told_rate"} and each.set in BLOOMS]


def best_rate(given: CompareSet) -> float:
    assert given.bits_per_url is not None
    hashes = given.hashes or round(given.bits_per_url * math.log(2))
    return (1 - math.exp(-hashes / given.bits_per_url)) ** hashes


def test_the_rates_by_bits_per_url_are_those_of_the_formula() -> None:
    assert len(RATES) == 14
    for each in RATES:
        assert each.value == pytest.approx(best_rate(BLOOMS[each.set]), rel=0.003), each.set


@pytest.mark.parametrize("name", [each.set for each in RATES if each.work != "a million URLs at 1 %"])
async def test_the_fill_of_a_small_filter_gives_the_rate_that_is_expected(name: str, tmp_path: Path) -> None:
    [made] = competitors([BLOOMS[name]])
    visited = make_set(made, 20_000, tmp_path)
    for urls in new_batches(work(20_000)):
        await visited.add_many(urls)
    assert visited.describe().false_positive_rate == pytest.approx(best_rate(BLOOMS[name]), rel=0.15)


def test_the_memory_that_is_expected_is_that_of_the_formulas() -> None:
    expected = {(each.set, each.figure): each.value for each in COMPARE.expect}
    bits = math.log(1 / 0.01) / math.log(2) ** 2
    assert expected["counting, int32, of 350,000", "bytes"] == pytest.approx(350_000 * bits * 4, rel=0.001)
    assert expected["hash table of 8 bytes, half full", "bytes_at_scale"] == 1e8 * 8 / 0.5
    assert expected["filter of 2 bytes, 8 hashes", "ratio_bytes"] == 2 / 16
    assert expected["filter of 4 bytes", "ratio_bytes"] == 4 / 16
    assert expected["raw URLs", "text_at_scale"] == 1e8 * 100


def test_every_figure_that_differs_from_what_is_said_has_its_reason() -> None:
    said = {"20 MB", "10 GB", "below 0.0001"}
    corrected = [each for each in COMPARE.expect if any(words in (each.says or "") for words in said)]
    assert [each.set for each in corrected if each.note is None] == ["raw URLs"]  # the text alone is as said
    assert len(corrected) == 4


async def test_only_a_scale_model_is_scaled(tmp_path: Path) -> None:
    loaded = literature("compare.scale=0.01")
    works = {each.name: each for each in COMPARE.work}
    scaled = await prepare_work(loaded, works["100 million addresses"], tmp_path / "1")
    assert (scaled.survey.distinct, scaled.stands_for) == (1300, 100_000_000)
    whole = msgspec.structs.replace(works["350,000 entries that can be deleted"], distinct=3000)
    assert (await prepare_work(loaded, whole, tmp_path / "2")).survey.distinct == 3000


def test_the_characters_of_urls_are_told_for_what_a_work_stands_for() -> None:
    made = msgspec.structs.replace(work(100), stands_for=1_000_000)
    done = Done(key="", kind="time", work="work", competitor="exact", round=0, outcome=timing())
    expected = Expectation(work="work", set="exact", figure="text_at_scale", value=66e6, tolerance=0.01)
    [found] = judge([expected], rows([made], [EXACT], [done]), {"work": made})
    assert (found.found, found.met) == (made.survey.mean_length * 1_000_000, True)
    [unscaled] = judge([expected], rows([made], [EXACT], [done]), {"work": work(100)})
    assert unscaled.found is None

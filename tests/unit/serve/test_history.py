"""The history of a crawl: what it counts over restarts, how long it is kept, and what damage costs."""

import os
import tempfile
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crawler.control.replies import CrawlStatus
from crawler.serve.machine import Taken, measure, measure_alone
from crawler.serve.measure.columns import HistoryQuery, as_columns, window_of
from crawler.serve.measure.history import History
from crawler.serve.measure.recorder import Recorder
from crawler.serve.measure.ring import Ring
from crawler.serve.measure.tiers import PART_TIERS, TIERS, Tier, Window, thin
from tests.unit.serve.samples import VISITED, in_parts, told

START_S = 1_800_000_000.0
DAY_S = 86_400.0
SMALL = (Tier(step_s=5, slots=12), Tier(step_s=60, slots=10), Tier(step_s=600, slots=8))


def keep(history: History, status: CrawlStatus, at: float = START_S) -> None:
    taken = Taken(1000, 10, 2.5)
    history.keep(status, at=at, taken=taken, taken_by_parts={8: Taken(300)}, free_disk_bytes=9)


def opened(folder: Path, now: float = START_S) -> History:
    history = History(folder)
    history.open(now)
    return history


def pages(history: History) -> int:
    assert history.readings.whole is not None
    return history.readings.whole.counts.pages


def test_counts_go_on_when_a_process_counts_anew_and_over_a_restart_of_the_daemon(tmp_path: Path) -> None:
    history = opened(tmp_path / "a")
    keep(history, told(50, pid=7))
    keep(history, told(80, pid=7, elapsed_s=15), START_S + 5)
    assert pages(history) == 80
    keep(history, told(90, pid=8, elapsed_s=20), START_S + 10)  # a new process that has soon counted more
    assert pages(history) == 170
    later = opened(tmp_path / "a", START_S + 20)
    assert later.readings.whole == history.readings.whole
    keep(later, told(100, pid=8, elapsed_s=30), START_S + 20)
    assert pages(later) == 180
    keep(later, told(100, pid=8, elapsed_s=5), START_S + 25)  # another process with a number that came again
    assert pages(later) == 280


def test_a_sample_has_what_the_crawl_tells_and_takes(tmp_path: Path) -> None:
    history = opened(tmp_path)
    keep(history, told(50))
    whole, part = history.readings.whole, history.readings.parts[0]
    assert whole is not None
    assert part.failures == {"timeout": 5, "status": 10}
    assert whole.counts == part.counts
    assert msgspec.to_builtins(whole.counts) == {
        "starts": 1, "pages": 50, "bytes_received": 50_000,
        "responses_1xx": 0, "responses_2xx": 50, "responses_3xx": 10,
        "responses_4xx": 5, "responses_5xx": 5, "failures": 15, "retries": 0, "links": 2000, "admitted": 200,
        "refused": 150, "read_in_part": 5, "truncated": 6, "robots_asked": 0, "connections_opened": 20,
        "connections_reused": 30, "tls_handshakes": 15, "tls_resumed": 10,
    }  # fmt: skip
    assert msgspec.to_builtins(whole.levels) == {
        "discovered": 100, "done": 50, "failed": 5, "excluded": 3, "queued": 42, "in_flight": 3, "hosts_active": 7,
        "hosts_waiting": 8, "hosts_inactive": 9, "hosts_retired": 2, "hosts_failing": 1, "visited_urls": 100,
        "visited_capacity": 1000, "visited_memory_bytes": 5000, "visited_disk_bytes": 0, "visited_fill": 0.25,
        "visited_false_positive_rate": 0.001, "visited_lost": 0.5,
    }  # fmt: skip
    assert msgspec.to_builtins(whole.machine) == {
        "memory_bytes": 1000, "open_files": 10, "cpu_s": 2.5, "free_disk_bytes": 9,
    }  # fmt: skip
    # What was read from the files is the same.
    assert opened(tmp_path).readings.whole == whole
    assert opened(tmp_path).readings.parts == {0: msgspec.structs.replace(part, failures={})}


def test_a_crawl_is_the_sum_of_its_parts_also_while_one_is_silent_or_has_begun_anew(tmp_path: Path) -> None:
    exact = msgspec.structs.replace(VISITED, count=300, fill=None, capacity=None, false_positive_rate=0.0)
    history = opened(tmp_path)
    keep(history, in_parts(part_0=told(10, pid=8), part_1=told(20, pid=9, visited=exact)))
    whole = history.readings.whole
    assert whole is not None
    assert (whole.counts.pages, whole.levels.discovered, whole.levels.hosts_waiting) == (30, 200, 16)
    assert (whole.levels.visited_fill, whole.levels.visited_capacity) == (None, None)
    assert whole.levels.visited_false_positive_rate == pytest.approx(0.001 * 100 / 400)
    assert [each.machine.memory_bytes for each in history.readings.parts.values()] == [300, 0]
    assert whole.machine.memory_bytes == 1000
    keep(history, in_parts(part_0=told(15, pid=8, elapsed_s=15), part_1=None), START_S + 5)
    assert pages(history) == 35
    assert history.readings.whole is not None
    assert history.readings.whole.levels.discovered == 200
    after = (in_parts(part_0=told(15, pid=8, elapsed_s=20), part_1=told(2, pid=10, elapsed_s=1)), START_S + 10)
    keep(history, *after)
    assert pages(history) == 37
    # Divided anew, it has another number of parts. What they have counted goes on.
    keep(history, told(1, pid=11), START_S + 15)
    assert pages(history) == 38
    assert history.readings.parts.keys() == {0}
    assert pages(opened(tmp_path, START_S + 20)) == 38


def rows(ring: Ring, window: Window, now: float) -> list[tuple[float, float]]:
    return [(moment, values[0]) for moment, values in thin(ring.read(window.begin, now), window)]


def test_samples_are_thinned_with_age_and_the_file_never_grows(tmp_path: Path) -> None:
    ring = Ring(tmp_path / "ring", ["n"], SMALL)
    sizes = []
    for number in range(3000):
        ring.write(START_S + 5 * number, (float(number),))
        sizes.append((tmp_path / "ring").stat().st_size)
    now = START_S + 5 * 2999
    assert len(set(sizes[1500:])) == 1
    found = sorted(ring.read(0.0, now))
    assert len(found) == len(set(found)) <= sum(tier.slots for tier in SMALL)
    for tier in SMALL:
        ages = sorted(now - moment for moment in found if now - moment < tier.span_s - tier.step_s)
        assert all(after - before <= tier.step_s for before, after in pairwise(ages))
        assert ages[-1] >= tier.span_s - 2 * tier.step_s
    assert now - found[0] <= SMALL[-1].span_s
    # The newest is there in any window, and each step has its last sample.
    for span_s, points in ((60, 4), (600, 7), (4800, 30), (100_000, 2)):
        window = Window(begin=now - span_s, end=now, points=points)
        shown = rows(ring, window, now)
        assert shown[-1] == (now, 2999.0)
        assert len(shown) <= points
        assert [moment for moment, _ in shown] == sorted({moment for moment, _ in shown})


def test_three_months_of_a_crawl_take_a_few_megabytes(tmp_path: Path) -> None:
    history = opened(tmp_path)
    # These moments have the last slot of each tier, so the files are as long as they get.
    for moment in (tier.step_s * (tier.slots * 100_000 - 1) for tier in TIERS):
        keep(history, told(1, elapsed_s=moment), moment)
    sizes = {path.name: path.stat().st_size for path in tmp_path.iterdir()}
    assert sizes.keys() == {"crawl.samples", "part-0.samples"}
    assert 3_000_000 < sizes["crawl.samples"] < 4_000_000
    assert 800_000 < sizes["part-0.samples"] < 1_200_000
    assert TIERS[-1].span_s == 90 * DAY_S
    assert PART_TIERS[-1].span_s == DAY_S


def test_a_window_shows_columns_of_one_length_with_rates_and_gaps(tmp_path: Path) -> None:
    history = opened(tmp_path)
    for number in range(20):
        keep(history, told(50 * number, elapsed_s=5 * number), START_S + 5 * number)
    keep(history, told(2000, elapsed_s=900), START_S + 900)
    query = msgspec.convert({"from": "-1000", "points": "500"}, HistoryQuery, strict=False)
    window = window_of(query, START_S + 900)
    assert window is not None
    columns = as_columns(history.show(window, START_S + 900, None), window).columns
    assert {len(values) for values in columns.values()} == {22}
    assert columns["time"] == [*(START_S + 5 * number for number in range(20)), START_S + 497.5, START_S + 900]
    assert columns["pages"] == [*(50 * number for number in range(20)), None, 2000]
    assert columns["pages_per_s"] == [None, *[10.0] * 19, None, None]
    assert columns["cpu_cores"][1] == 0.0
    assert columns["visited_fill"][0] == 0.25
    assert as_columns(history.show(window, START_S + 900, 0), window).columns["pages"] == columns["pages"]
    assert history.show(window, START_S + 900, 1) == []
    assert not (tmp_path / "part-1.samples").exists()
    assert window_of(msgspec.structs.replace(query, end=-2000.0), START_S) is None


@pytest.mark.parametrize("wrong", [{"from": "nan"}, {"to": "inf"}, {"points": "1"}, {"points": "1e9"}, {"since": "1"}])
def test_a_query_that_makes_no_sense_is_refused(wrong: dict[str, str]) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(wrong, HistoryQuery, strict=False)


@settings(deadline=None, max_examples=60)
@given(
    damage=st.lists(st.tuples(st.floats(0, 1, exclude_max=True), st.binary(min_size=1, max_size=40)), max_size=6),
    kept=st.just(1.0) | st.floats(0, 1),
)
def test_damage_costs_the_samples_that_it_hits_and_nothing_else(
    damage: Sequence[tuple[float, bytes]], kept: float
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "ring"
        ring = Ring(path, ["n", "m"], SMALL)
        written = {START_S + 5 * number: (float(number), 1.0) for number in range(200)}
        for moment, values in written.items():
            ring.write(moment, values)
        now = max(written)
        whole = ring.read(0.0, now)
        content = bytearray(path.read_bytes())
        for place, found in damage:
            at = int(place * len(content))
            content[at : at + len(found)] = found[: len(content) - at]
        path.write_bytes(content[: int(kept * len(content))])
        after = Ring(path, ["n", "m"], SMALL)
        read = after.read(0.0, now)
        assert read.items() <= whole.items()
        if kept == 1.0:  # each piece of damage hits three samples at most
            assert len(whole) - len(read) <= 3 * len(damage)
        # It goes on as if nothing had happened.
        after.write(now + 5, (7.0, 8.0))
        assert Ring(path, ["n", "m"], SMALL).last(now + 5) == (now + 5, (7.0, 8.0))


def test_a_file_of_another_version_keeps_what_it_has(tmp_path: Path) -> None:
    old = Ring(tmp_path / "ring", ["a", "gone", "b"], SMALL)
    old.write(START_S, (1.0, 2.0, 3.0))
    old.write(START_S + 70, (4.0, 5.0, 6.0))
    new = Ring(tmp_path / "ring", ["b", "new", "a"], SMALL)
    found = new.read(0.0, START_S + 100)
    assert {moment: (values[0], values[2]) for moment, values in found.items()} == {
        START_S: (3.0, 1.0),
        START_S + 70: (6.0, 4.0),
    }
    assert all(values[1] != values[1] for values in found.values())
    assert [path.name for path in tmp_path.iterdir()] == ["ring"]


def test_samples_of_the_future_are_hidden_after_the_clock_was_set_back(tmp_path: Path) -> None:
    ring = Ring(tmp_path / "ring", ["n"], SMALL)
    ring.write(START_S + 10_000, (1.0,))
    ring.write(START_S, (2.0,))
    assert ring.read(0.0, START_S) == {START_S: (2.0,)}
    assert ring.last(START_S) == (START_S, (2.0,))


async def test_a_history_that_cant_be_stored_costs_samples_and_is_told_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    now = START_S
    (tmp_path / "a").write_text("in the way")
    recorder = Recorder(tmp_path, lambda: now)
    for _ in range(3):
        now += 5
        await recorder.take({"a": told(10, pid=os.getpid()), "b": told(20, pid=os.getpid())}, {})
    whole = recorder.readings("a").whole
    assert whole is not None
    assert (whole.at, whole.counts.pages) == (START_S + 15, 10)
    assert [each.message.partition(":")[0] for each in caplog.records] == ["a"]
    window = Window(begin=START_S, end=now, points=10)
    assert len(await recorder.show("b", window, now, None)) == 3
    assert await recorder.show("a", window, now, 0) == []
    (tmp_path / "a").unlink()
    await recorder.take({"a": told(10, pid=os.getpid())}, {})
    assert len(await recorder.show("a", window, now, None)) == 1
    later = Recorder(tmp_path, lambda: now)
    await later.open(["a", "b", "c"])
    assert [later.readings(name).whole is not None for name in "abc"] == [True, True, False]
    await later.forget("b")
    assert [path.name for path in tmp_path.iterdir()] == ["a"]
    assert later.readings("b").whole is None


def test_a_process_is_measured_alone_and_with_what_it_has_used() -> None:
    here = os.getpid()
    before = measure_alone([here, 2**22 + 1])
    assert before[2**22 + 1] == Taken()
    assert 0 < before[here].cpu_s <= measure([here])[here].cpu_s
    assert before[here].memory_bytes > 10_000_000

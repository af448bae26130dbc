"""Crawls that begin anew by a schedule, by a clock that only the tests move."""

from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from config import ConfigError
from crawler.disk.directory import CrawlDirectory
from crawler.disk.layout import Layout, write_layout
from crawler.serve.folder import read_folder
from crawler.serve.life import changes
from crawler.serve.life.endings import Ended
from crawler.serve.life.facts import EndTimeouts, Facts, Plan, Process, Restarts, Wish
from crawler.serve.life.settling import settle
from crawler.serve.life.steps import Start, Wait, next_step
from crawler.serve.life.summary import summarize
from crawler.serve.old_runs import delete_run, runs_beyond
from crawler.wiring.configuration import load
from crawler.wiring.schedule import next_tick
from tests.e2e.crawling import tree

HOUR_S = 3600.0
START_S = datetime(2026, 11, 22, 12, 30, tzinfo=UTC).timestamp()
TIMEOUTS = EndTimeouts()


def hourly(moment: float) -> float:
    return (moment // HOUR_S + 1) * HOUR_S


PLAN = Plan(directory="/home/crawls/a", digest="1", next_tick=hourly)


def scheduled() -> Facts:
    return settle(changes.configured(Facts(), PLAN), START_S)[0]


def run_at(facts: Facts, now: float) -> Facts:
    """Settle and start, as at a tick."""
    facts, _ = settle(facts, now)
    step = next_step(facts, now, timeouts=TIMEOUTS)
    assert isinstance(step, Start)
    return changes.started(facts, Process(pid=7, directory=step.directory, began_at=now))


def end(facts: Facts, code: int, now: float) -> Facts:
    return changes.ended(facts, Ended(exit_code=code), now, restarts=Restarts())


def test_the_first_run_waits_for_the_schedule_and_each_has_a_directory_of_its_own() -> None:
    facts = scheduled()
    assert next_step(facts, START_S, timeouts=TIMEOUTS) == Wait(hourly(START_S))
    assert (summarize(facts).state, summarize(facts).until) == ("scheduled", "2026-11-22T13:00:00Z")
    directories = []
    for hour in range(1, 4):
        now = START_S + hour * HOUR_S - 1800
        facts = run_at(facts, now)
        assert facts.process is not None
        directories.append(facts.process.directory)
        facts = end(facts, 0 if hour < 3 else 3, now + 60)
        assert next_step(facts, now + 60, timeouts=TIMEOUTS) == Wait(hourly(now))
        assert summarize(facts).until is not None
    assert directories == [f"/home/crawls/a/20261122T{hour}0000Z" for hour in (13, 14, 15)]


def test_a_run_is_left_out_while_the_last_one_is_not_finished() -> None:
    facts = run_at(scheduled(), START_S + 1800)
    facts, notes = settle(facts, START_S + 1800 + HOUR_S)
    assert notes == ["a run of the schedule is left out, because the last one still runs"]
    # It was interrupted: it goes on in its directory.
    place = facts.record.place
    crashed = end(facts, 1, START_S + 2 * HOUR_S)
    again = settle(crashed, START_S + 2 * HOUR_S + 10)[0]
    assert next_step(again, START_S + 2 * HOUR_S + 10, timeouts=TIMEOUTS) == Start(str(place))


def test_runs_that_were_missed_are_made_up_for_once_unless_the_crawl_was_stopped() -> None:
    facts = end(run_at(scheduled(), START_S + 1800), 0, START_S + 1900)
    late = START_S + 30 * HOUR_S
    ran = run_at(changes.configured(Facts(record=facts.record), PLAN), late)
    assert next_step(end(ran, 0, late + 5), late + 5, timeouts=TIMEOUTS) == Wait(hourly(late))
    stopped = changes.wished(facts, Wish.STOP, START_S + 2000)
    told, notes = settle(changes.wished(settle(stopped, late)[0], Wish.RUN, late), late)
    assert (next_step(told, late, timeouts=TIMEOUTS), notes) == (Wait(hourly(late)), [])


def test_to_run_begins_a_scheduled_crawl_anew_at_once() -> None:
    for facts in (scheduled(), end(run_at(scheduled(), START_S + 1800), 0, START_S + 1900)):
        before = facts.record.place
        now = START_S + 2000
        told, notes = settle(changes.wished(facts, Wish.RUN, now), now)
        step = next_step(told, now, timeouts=TIMEOUTS)
        assert isinstance(step, Start)
        assert step.directory != before
        assert notes == [f"begins anew, in {step.directory}"]
        assert next_step(end(run_at(told, now), 0, now + 1), now + 1, timeouts=TIMEOUTS) == Wait(hourly(now))


def test_runs_that_begin_within_one_second_have_directories_of_their_own() -> None:
    facts, directories = scheduled(), list[str]()
    for number in range(3):
        now = START_S + number / 10
        facts = run_at(changes.wished(facts, Wish.RUN, now), now)
        assert facts.process is not None
        directories.append(facts.process.directory)
        facts = end(facts, 0, now + 0.05)
    assert directories == [f"/home/crawls/a/20261122T12300{second}Z" for second in range(3)]


@given(pauses=st.lists(st.floats(1, 10 * HOUR_S), min_size=1, max_size=30))
def test_runs_never_overlap_and_none_is_missed_while_the_crawl_is_idle(pauses: list[float]) -> None:
    facts, now, runs = scheduled(), START_S, 0
    for number, pause_s in enumerate(pauses):
        was_due = hourly(facts.record.ticked_at or now) <= now + pause_s
        was_busy = facts.process is not None
        now += pause_s
        before = facts.record.place
        facts, notes = settle(facts, now)
        step = next_step(facts, now, timeouts=TIMEOUTS)
        if was_busy:
            assert facts.record.place == before
            assert bool(notes) == was_due
            facts = end(facts, 0, now)
        elif was_due:
            assert isinstance(step, Start)
            assert step.directory == facts.record.place != before
            facts = changes.started(facts, Process(pid=number + 1, directory=step.directory, began_at=now))
            runs += 1
        else:
            assert isinstance(step, Wait)
    assert len(facts.record.runs) == runs


def test_a_schedule_is_read_in_its_time_zone_with_daylight_saving() -> None:
    values = {"crawl.seeds": ["http://a.test/"], "daemon.schedule": "30 3 * * *", "daemon.time_zone": "Europe/Vienna"}
    tick = next_tick(load(None, tables=[("test", values)]))
    assert tick is not None
    moment, found = datetime(2026, 10, 23, 12, tzinfo=UTC).timestamp(), []
    for _ in range(3):
        moment = tick(moment)
        found.append(datetime.fromtimestamp(moment, UTC).strftime("%d %H:%M"))
    assert found == ["24 01:30", "25 02:30", "26 02:30"]


@pytest.mark.parametrize("schedule", ["30 2 * * *", "*/30 2 * * *", "*/20 * * * *", "45 1-3 * * *"])
@given(st.integers(0, 6 * 3600))
def test_the_next_time_is_never_past_also_in_the_hour_that_comes_twice(schedule: str, after_s: int) -> None:
    values = {"crawl.seeds": ["http://a.test/"], "daemon.schedule": schedule, "daemon.time_zone": "Europe/Vienna"}
    tick = next_tick(load(None, tables=[("test", values)]))
    assert tick is not None
    moment = datetime(2026, 10, 24, 22, tzinfo=UTC).timestamp() + after_s
    following = tick(moment)
    assert following > moment
    assert tick((moment + following) / 2) == following


@pytest.mark.parametrize("schedule", ["", "daily", "* * * *", "61 * * * *", "0 0 30 2 *", "0 0 0 0 0 0"])
def test_a_schedule_that_makes_no_sense_is_refused_with_an_example(schedule: str) -> None:
    values = {"crawl.seeds": ["http://a.test/"], "daemon.schedule": schedule}
    with pytest.raises(ConfigError, match=r"daemon\.schedule: expected"):
        next_tick(load(None, tables=[("test", values)]))


@pytest.mark.parametrize("zone", ["Nowhere/City", "../../etc/passwd", "Europe", "x" * 5000])
def test_an_unknown_time_zone_is_refused(zone: str) -> None:
    values = {"crawl.seeds": ["http://a.test/"], "daemon.time_zone": zone}
    with pytest.raises(ConfigError, match="knows no time zone"):
        next_tick(load(None, tables=[("test", values)]))


def run(base: Path, stamp: str) -> Path:
    path = base / stamp
    with CrawlDirectory(path) as place:
        place.frontier.mkdir()
        (place.frontier / "CURRENT").write_text("x")
        place.write_configuration("[crawl]")
    return path


SHARED = {"visited.backend": "redis-exact", "visited.options": {"share": "library"}, "daemon.schedule": "0 3 * * *"}


@pytest.mark.parametrize("backend", ["redis-exact", "redis-bloom", "redis-dsbf"])
def test_a_schedule_with_a_set_that_would_know_the_seeds_of_the_next_run_is_refused(backend: str) -> None:
    values = {**SHARED, "crawl.seeds": ["http://a.test/"], "visited.backend": backend}
    with pytest.raises(
        ConfigError, match=r"visited\.options\.share: expected none with daemon\.schedule, found 'library'"
    ):
        next_tick(load(None, tables=[("test", values)]))


def test_each_run_of_a_schedule_may_have_a_set_of_its_own_or_new_seeds(tmp_path: Path) -> None:
    (tmp_path / "seeds.txt").write_text("http://a.test/\n")
    own = {**SHARED, "crawl.seeds": ["http://a.test/"], "visited.options": {"url": "redis://127.0.0.1:1/0"}}
    new = {**SHARED, "crawl.seed_files": [str(tmp_path / "seeds.txt")]}
    once = {"crawl.seeds": ["http://a.test/"], **{key: SHARED[key] for key in SHARED if key != "daemon.schedule"}}
    for values in (own, new):
        assert next_tick(load(None, tables=[("test", values)])) is not None
    assert next_tick(load(None, tables=[("test", once)])) is None


def deleted_runs(base: Path, *, keep: int, last: Path | None = None, now: float | None = None) -> list[Path]:
    runs = runs_beyond(base, keep=keep, last=last, now=now)
    return [path for path in runs if delete_run(path, base / "pace") is None]


def test_old_runs_are_deleted_and_nothing_else(tmp_path: Path) -> None:
    base = tmp_path / "a"
    runs = [run(base, f"2026112{day}T030000Z") for day in range(6)]
    (runs[0] / "notes.txt").write_text("mine")
    (base / "20261101T030000Z").mkdir()
    (base / "20261101T030000Z" / "letter.txt").write_text("not a crawl's")
    (base / "other").mkdir()
    with CrawlDirectory(runs[1]):
        deleted = deleted_runs(base, keep=2)
        left = set(tree(base))
    assert deleted == [runs[0], runs[2], runs[3]]
    assert "20261101T030000Z/letter.txt" in left
    assert "20261120T030000Z/notes.txt" in left
    assert not any(name.startswith(("20261122", "20261123")) for name in left)
    assert {"other", *(f"{path.name}/frontier/CURRENT" for path in (runs[1], runs[4], runs[5]))} <= left
    assert runs_beyond(tmp_path / "missing", keep=1) == []


def test_old_runs_in_parts_are_deleted_with_their_parts(tmp_path: Path) -> None:
    runs = [run(tmp_path, f"2026112{day}T030000Z") for day in range(3)]
    layout = Layout.begin(2)
    for path in runs:
        for part in layout.directories(path):
            run(path, part.name)
        write_layout(path, layout)
    with CrawlDirectory(runs[0] / "part-1"):
        assert deleted_runs(tmp_path, keep=1) == [runs[1]]
    assert not runs[1].exists()
    assert (runs[0] / "part-0" / "frontier" / "CURRENT").exists()
    assert deleted_runs(tmp_path, keep=1) == [runs[0]]
    assert set(tmp_path.iterdir()) - {tmp_path / "pace"} == {runs[2]}


def test_runs_of_a_clock_that_was_ahead_are_deleted_before_later_ones(tmp_path: Path) -> None:
    base = tmp_path / "a"
    before, ahead, after, last = (
        run(base, f"{stamp}T030000Z") for stamp in ("20261120", "20361101", "20261121", "20261122")
    )
    assert deleted_runs(base, keep=1, last=last, now=START_S) == [ahead, before, after]
    # It was set back by some minutes in the last run.
    assert deleted_runs(base, keep=1, last=last, now=START_S - 24 * HOUR_S) == []
    assert last.exists()


def test_a_folder_is_read_and_what_is_wrong_stays_with_its_crawl(tmp_path: Path) -> None:
    good = '[crawl]\nseeds = ["http://a.test/"]\n'
    (tmp_path / "a.toml").write_text(good)
    (tmp_path / "b.toml").write_text(
        good + "[daemon]\nschedule = '0 3 * * *'\nkeep_runs = 3\nmax_memory_bytes='1 GB'\n"
    )
    (tmp_path / "c.toml").write_text("[crawl]\nseeds = [\n")
    (tmp_path / "d.toml").write_text(good + "directory = 'crawls/a'\n")
    (tmp_path / "e.toml").mkdir()
    (tmp_path / ".hidden.toml").write_text("no")
    (tmp_path / "seeds.txt").write_text("no")
    found = read_folder(tmp_path)
    assert list(found) == ["a", "b", "c", "d", "e"]
    a, b = found["a"].plan, found["b"].plan
    assert a is not None
    assert b is not None
    assert (a.directory, a.next_tick) == (str(tmp_path / "crawls/a"), None)
    assert b.next_tick is not None
    assert (b.keep_runs, b.max_memory_bytes) == (3, 10**9)
    assert "c.toml:" in found["c"].problems[0]
    assert "a.toml uses" in found["d"].problems[0]
    assert found["e"].problems
    before = a.digest
    (tmp_path / "a.toml").write_text(good.replace("a.test", "b.test"))
    again = read_folder(tmp_path)["a"].plan
    assert again is not None
    assert again.digest != before

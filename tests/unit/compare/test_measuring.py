"""That what is measured is what is there: sets of which the truth is known."""

import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import msgspec
import pytest

from config import CompareSet
from crawler.compare.measure.checking import check
from crawler.compare.measure.folder import Journal
from crawler.compare.measure.running import (
    Progress,
    run_in_process,
    run_trials,
    schedule,
)
from crawler.compare.measure.timing import measure_time
from crawler.compare.measure.trial import (
    Check,
    Competitor,
    Done,
    Effort,
    Failed,
    Outcome,
    ReportProgress,
    Timing,
    Trial,
)
from crawler.compare.measure.work import Live, Survey, Work
from crawler.compare.report.summary import rows
from crawler.compare.statistics import SIGMA
from crawler.testing.timeouts import MAX_WAIT_S
from crawler.wiring.comparing.blocks import competitors
from crawler.wiring.comparing.worker import make_set
from tests.unit.compare.bloomserver import serving
from tests.unit.compare.making import BLOOM, EFFORT, EXACT, timing, work
from visited import Full, Unavailable
from visited.backends import BACKENDS, PEERS
from visited.baselines.raw_urls import RawUrlSet
from visited.digests.exact import ExactSet

COMMAND = (sys.executable, "-P", "-m", "crawler.wiring.comparing.worker")


def quiet(_share: float) -> None:
    """Nobody is told."""


async def checked(competitor: Competitor, scratch: Path, distinct: int = 5000) -> Check:
    trial = Trial(kind="check", work=work(distinct), competitor=competitor, effort=EFFORT)
    return await check(trial, make_set, scratch, quiet, exact=ExactSet)


@pytest.mark.parametrize("backend", [*BACKENDS, "python-set"])
async def test_every_backend_can_be_checked_and_keeps_its_promise(backend: str, tmp_path: Path) -> None:
    made = Competitor(name=backend, backend=backend, bits=1 << 17 if backend == "six-seeds" else None)
    found = await checked(made, tmp_path, distinct=2000)
    assert found.distinct == 2000
    assert found.twice == 0
    assert found.wrongly_forgotten == 0
    assert (found.forgotten is None) == (found.forget_asked == 0)
    assert list(tmp_path.iterdir()) == []


async def test_options_of_a_competitor_override_its_keys(tmp_path: Path) -> None:
    entered = Competitor(name="hashed", backend="per-site", filters=50, options={"filters": 3, "site_bytes": 64})
    visited = make_set(entered, 100, tmp_path)
    await visited.add_many([f"https://h{number}.test/" for number in range(100)])
    details = visited.describe().details
    assert (details["filters"], details["bytes_per_filter"]) == (3, 64)


async def test_an_exact_set_loses_nothing_and_forgets_what_it_should(tmp_path: Path) -> None:
    found = await checked(EXACT, tmp_path)
    assert (found.lost, found.estimated_lost, found.still_known) == (0, 0.0, 0)
    assert found.forgotten == found.forget_asked > 0
    assert all(look.hits == 0 for look in (*found.looks, *found.past))


@pytest.mark.parametrize("backend", ["bloom", "blocked", "counting", "dsbf", "salted-md5", "per-site"])
async def test_rates_and_losses_are_those_that_the_filter_tells(backend: str, tmp_path: Path) -> None:
    made = Competitor(name=backend, backend=backend, error_rate=0.02, site_bytes=4096)
    found = await checked(made, tmp_path, distinct=20_000)
    [row] = rows([work(20_000)], [made], [_done(made, found)])
    assert row.rate_deviation is not None
    assert row.lost_deviation is not None
    assert abs(row.rate_deviation) <= SIGMA
    assert abs(row.lost_deviation) <= SIGMA
    assert found.looks[-1].hits > 0


@pytest.mark.parametrize("skew", [0.6, 1.0, 1.4])
async def test_filters_that_large_sites_overrun_are_as_they_tell(skew: float, tmp_path: Path) -> None:
    made = Competitor(name="small", backend="per-site", error_rate=0.01, site_bytes=1024, filters=40)
    made_of = work(12_000, skew=skew)
    trial = Trial(kind="check", work=made_of, competitor=made, effort=EFFORT)
    found = await check(trial, make_set, tmp_path, quiet, exact=ExactSet)
    [row] = rows([made_of], [made], [_done(made, found)])
    assert row.agrees
    if skew == 1.4:  # sites at whose URLs it errs always, or never
        assert found.clustering > 1.5
        assert found.looks[-1].hits > found.looks[-1].probes / 4


async def test_a_filter_is_watched_beyond_its_capacity(tmp_path: Path) -> None:
    found = await checked(BLOOM, tmp_path)
    assert found.past[-1].distinct == 10_000
    assert found.past[-1].hits > 3 * found.looks[-1].hits


async def test_a_set_that_was_made_for_fewer_is_watched_beyond_the_work(tmp_path: Path) -> None:
    found = await checked(Competitor(name="dsbf", backend="dsbf", capacity=500), tmp_path)
    assert found.past[-1].distinct == 10_000


async def test_more_bits_than_asked_for_are_taken_as_told(tmp_path: Path) -> None:
    made = Competitor(name="wide", backend="bloom", bits_per_url=32)
    found = await checked(made, tmp_path)
    assert found.looks[-1].reported_bytes == pytest.approx(5000 * 4, abs=4096)


@pytest.mark.parametrize("backend", ["exact", "dsbf"])
async def test_time_memory_and_snapshots_are_measured(backend: str, tmp_path: Path) -> None:
    made = Competitor(name=backend, backend=backend)
    found = await measure_time(Trial(kind="time", work=work(), competitor=made), make_set, tmp_path, quiet)
    assert min(found.new_per_s, found.known_per_s, found.links_per_s) > 0
    assert found.p50_s <= found.p99_s <= found.slowest_s
    assert found.reported_bytes
    assert found.snapshot_bytes
    assert found.load_s is not None
    assert [look.distinct for look in found.looks] == sorted(look.distinct for look in found.looks)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("backend", ["counting-32", "exact", "fingerprints", "per-site"])
async def test_a_process_grows_by_what_the_set_in_it_tells(backend: str, tmp_path: Path) -> None:
    made = Competitor(name=backend, backend=backend)
    asked = work(70_000, repeats=0.0)
    trial = Trial(kind="time", work=asked, competitor=made, effort=EFFORT)
    found = await run_in_process(trial, quiet, command=COMMAND, scratch=tmp_path, timeout_s=MAX_WAIT_S)
    assert isinstance(found, Timing)
    assert found.noise_bytes >= 1 << 20
    [row] = rows([asked], [made], [Done(key="", kind="time", work="work", competitor=backend, round=0, outcome=found)])
    assert row.agrees, found


async def test_a_process_answers_and_one_without_memory_says_so(tmp_path: Path) -> None:
    large = Competitor(name="large", backend="bloom", capacity=10**9)
    for competitor, effort in ((EXACT, EFFORT), (large, Effort(memory_bytes=50_000_000))):
        trial = Trial(kind="time", work=work(), competitor=competitor, effort=effort)
        found = await run_in_process(trial, quiet, command=COMMAND, scratch=tmp_path, timeout_s=MAX_WAIT_S)
        if competitor is large:
            assert found == Failed(reason="out of memory; 50.0 MB were allowed")
        else:
            assert isinstance(found, Timing)
    assert list(tmp_path.iterdir()) == []


async def test_a_limit_of_memory_is_that_of_the_set_and_not_of_what_watches_it(tmp_path: Path) -> None:
    asked = work(300_000, repeats=0.0)
    trial = Trial(kind="check", work=asked, competitor=BLOOM, effort=Effort(probes=2000, looks=5, memory_bytes=10**6))
    found = await run_in_process(trial, quiet, command=COMMAND, scratch=tmp_path, timeout_s=MAX_WAIT_S)
    assert isinstance(found, Check), found


async def test_a_set_that_is_loaded_again_needs_its_memory_only_once(tmp_path: Path) -> None:
    asked = work(700_000, repeats=0.0)
    trial = Trial(kind="time", work=asked, competitor=EXACT, effort=Effort(known=1000, memory_bytes=17_000_000))
    found = await run_in_process(trial, quiet, command=COMMAND, scratch=tmp_path, timeout_s=MAX_WAIT_S)
    assert isinstance(found, Timing), found
    assert found.reported_bytes is not None
    assert found.reported_bytes > 12_000_000


async def test_a_system_without_memory_is_told_as_such(tmp_path: Path) -> None:
    trial = Trial(
        kind="time",
        work=work(20_000, repeats=0.0),
        competitor=Competitor(name="set", backend="per-site", options={"site_bytes": 1 << 20}),
        effort=Effort(memory_bytes=1000),
    )
    found = await run_in_process(trial, quiet, command=COMMAND, scratch=tmp_path, timeout_s=MAX_WAIT_S)
    assert found == Failed(reason="out of memory; 1.0 kB were allowed")


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", "killed, as the system does when memory runs out"),
        ("raise SystemExit('no such thing')", "exit code 1 and without an outcome: no such thing"),
        *(
            (f"print({text!r})", "exit code 0 and without an outcome")
            for text in ("hello", "42", "[]", "null", "{}", '{"done": "all"}', '{"outcome": 3}')
        ),
    ],
)
async def test_a_process_that_dies_is_reported_with_how(script: str, words: str, tmp_path: Path) -> None:
    trial = Trial(kind="time", work=work(10), competitor=EXACT)
    found = await run_in_process(
        trial, quiet, command=[sys.executable, "-c", script], scratch=tmp_path, timeout_s=MAX_WAIT_S
    )
    assert isinstance(found, Failed)
    assert words in found.reason


@pytest.mark.parametrize(
    ("module", "name", "kind"),
    [("crawler.cli.compare.live", "crawl_with", "crawl"), ("crawler.wiring.comparing.worker", "_measure", "time")],
)
async def test_what_a_plugin_prints_is_no_part_of_the_outcome(
    module: str, name: str, kind: Literal["crawl", "time"], tmp_path: Path
) -> None:
    script = (
        f"import {module} as worker\n"
        "def measure(*_):\n"
        "    print('...', end='', flush=True)\n"
        "    raise ValueError('no outcome')\n"
        f"worker.{name} = measure\n"
        "worker.main()\n"
    )
    survey = Survey(links=0, distinct=0, hosts=0, largest_host="", largest_host_urls=0, mean_length=0.0)
    crawled = Work(name="web", stream=Live(configuration=""), survey=survey)
    found = await run_in_process(
        Trial(kind=kind, work=crawled, competitor=EXACT),
        quiet,
        command=[sys.executable, "-c", script],
        scratch=tmp_path,
        timeout_s=MAX_WAIT_S,
    )
    assert found == Failed(reason="no outcome")


async def test_a_process_that_takes_too_long_is_ended(tmp_path: Path) -> None:
    trial = Trial(kind="time", work=work(10), competitor=EXACT)
    command = [sys.executable, "-c", "import time; time.sleep(600)"]
    found = await run_in_process(trial, quiet, command=command, scratch=tmp_path, timeout_s=0.05)
    assert found == Failed(reason="took longer than 0.05 s")


async def test_a_trial_that_is_cancelled_ends_with_all_that_it_started_and_leaves_no_pipe_open(tmp_path: Path) -> None:
    """A pipe that is still open when the event loop ends is an error here, as every warning."""
    script = (
        "import json, subprocess, sys, time\n"
        "left = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])\n"
        "print(json.dumps({'done': left.pid}), flush=True)\n"
        "time.sleep(600)\n"
    )
    trial = Trial(kind="time", work=work(10), competitor=EXACT)
    begun = asyncio.Event()
    pids: list[int] = []

    def tell(share: float) -> None:
        pids.append(int(share))
        begun.set()

    async with asyncio.TaskGroup() as group:
        running = group.create_task(
            run_in_process(trial, tell, command=[sys.executable, "-c", script], scratch=tmp_path, timeout_s=None)
        )
        await begun.wait()
        running.cancel()
    while Path(f"/proc/{pids[0]}").exists():  # until whoever adopted it has noticed
        state = Path(f"/proc/{pids[0]}/stat").read_text().rpartition(")")[2].split()[0]
        if state == "Z":
            break
        await asyncio.sleep(0.01)


def test_each_round_begins_with_another_competitor() -> None:
    names = [
        (trial.kind, trial.round, trial.competitor.name)
        for trial in schedule([work(10)], [EXACT, BLOOM], rounds=2, effort=EFFORT, version="1")
    ]
    assert names == [
        ("time", 0, "exact"),
        ("time", 0, "bloom"),
        ("time", 1, "bloom"),
        ("time", 1, "exact"),
        ("check", 0, "exact"),
        ("check", 0, "bloom"),
    ]


class Runner:
    """Runs trials that cost nothing; those of one competitor fail."""

    def __init__(self, failing: Sequence[str] = (), *, stops_after: int | None = None) -> None:
        self.ran: list[str] = []
        self._failing = failing
        self._stops_after = stops_after

    async def __call__(self, trial: Trial, tell: ReportProgress) -> Outcome:
        if len(self.ran) == self._stops_after:
            raise asyncio.CancelledError
        self.ran.append(trial.competitor.name)
        tell(1.0)
        return Failed(reason="died") if trial.competitor.name in self._failing else timing()


async def run(runner: Runner, journal: Path) -> list[Done]:
    trials = list(schedule([work(10)], [EXACT, BLOOM], rounds=2, effort=EFFORT, version="1"))
    done: list[Done] = []
    steps: list[Progress] = []
    try:
        await run_trials(trials, Journal(journal), done, run=runner, progress=steps.append)
    except asyncio.CancelledError:
        return done
    assert steps[-1].number + 1 == steps[-1].total
    return done


async def test_a_competitor_that_fails_is_not_tried_again_and_the_others_finish(tmp_path: Path) -> None:
    runner = Runner(failing=["exact"])
    done = await run(runner, tmp_path / "journal")
    assert runner.ran == ["exact", "bloom", "bloom", "bloom"]
    assert len(done) == 6
    [failed, whole] = rows([work(10)], [EXACT, BLOOM], done)
    assert failed.failed == "died"
    assert whole.failed is None
    assert whole.links_per_s is not None
    assert whole.links_per_s.samples == 3


async def test_a_run_that_was_stopped_goes_on_with_what_is_missing(tmp_path: Path) -> None:
    first = Runner(stops_after=3)
    assert len(await run(first, tmp_path / "journal")) == 3
    with (tmp_path / "journal").open("ab") as file:
        file.write(b'{"key":"\xff"}\n{"key":"torn')
    second = Runner()
    assert len(await run(second, tmp_path / "journal")) == 6
    assert len(second.ran) == 3
    third = Runner()
    assert len(await run(third, tmp_path / "journal")) == 6
    assert third.ran == []


class ForgetfulSet(RawUrlSet):
    async def add_many(self, urls: Sequence[str], /) -> list[bool]:
        await super().add_many(urls)
        return [True] * len(urls)


async def test_a_set_that_calls_all_urls_new_again_is_found_by_a_work_without_repeats(tmp_path: Path) -> None:
    trial = Trial(kind="check", work=work(5000, repeats=0.0), competitor=EXACT, effort=EFFORT)
    found = await check(trial, lambda *_: ForgetfulSet(), tmp_path, quiet, exact=ExactSet)
    assert (found.twice, found.recovered) == (EFFORT.probes, 0)


def test_trials_that_ask_for_the_same_have_the_same_key() -> None:
    trial = Trial(kind="time", work=work(10), competitor=EXACT)
    assert trial.key == Trial(kind="time", work=work(10), competitor=EXACT).key
    assert trial.key != msgspec.structs.replace(trial, round=1).key
    assert trial.key != msgspec.structs.replace(trial, work=work(10, seed=2)).key


@pytest.mark.parametrize("backend", [name for name in PEERS if name not in ("python-set", "redisbloom")])
async def test_other_libraries_take_part(backend: str, tmp_path: Path) -> None:
    if backend.startswith("pybloom"):
        pytest.importorskip("pybloom_live")
    found = await checked(competitor_of(backend), tmp_path, distinct=2000)
    assert found.twice == 0
    assert found.estimated_lost is None
    assert found.looks[-1].reported_bytes is None


async def test_redisbloom_is_asked_on_its_server_and_leaves_nothing_there(tmp_path: Path) -> None:
    with serving() as (url, sets):
        made = competitor_of("redisbloom", server=url)
        found = await checked(made, tmp_path, distinct=1000)
        assert sets == {}
    assert (found.lost, found.twice, found.estimated_lost) == (0, 0, None)
    assert found.looks[-1].reported_bytes == 2000
    assert found.looks[-1].estimated_rate is None


def competitor_of(backend: str, **settings: Any) -> Competitor:
    [found] = competitors([CompareSet(backend=backend, **settings)])
    return found


async def test_redisbloom_that_takes_no_more_or_is_gone_says_so(tmp_path: Path) -> None:
    with serving(most=3) as (url, _):
        made = make_set(Competitor(name="redisbloom", backend="redisbloom", server=url), 3, tmp_path)
        assert await made.add_many(["a", "b", "a"]) == [True, True, False]
        with pytest.raises(Full, match="is full: non scaling filter is full"):
            await made.add_many(["c", "d"])
    with pytest.raises(Unavailable, match=f"RedisBloom at {url} failed: "):
        await made.add_many(["c"])
    await made.aclose()


@pytest.mark.parametrize(
    ("server", "words"),
    [(None, "needs a server"), ("redis://127.0.0.1:1/0", "no RedisBloom at redis://127.0.0.1:1/0: ")],
)
def test_redisbloom_without_a_server_says_so(server: str | None, words: str, tmp_path: Path) -> None:
    made = Competitor(name="redisbloom", backend="redisbloom", server=server)
    with pytest.raises(Unavailable, match=words):
        make_set(made, 10, tmp_path)


def _done(competitor: Competitor, outcome: Outcome) -> Done:
    return Done(key="", kind="check", work="work", competitor=competitor.name, round=0, outcome=outcome)

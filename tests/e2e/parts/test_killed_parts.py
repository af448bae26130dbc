"""That a crawl in parts loses nothing and repeats nothing that was settled, whichever of its processes dies."""

import fcntl
import signal
import time
from collections.abc import Sequence
from pathlib import Path
from random import Random

import msgspec
import pytest

from crawler.control.replies import CrawlStatus
from crawler.disk.layout import part_directories
from tests.e2e.crawling import COMPLETE, FAILED, REFUSED, STOPPED, Running, assert_sound, assert_told, onceover
from tests.e2e.killing import Lines, growth
from tests.e2e.operating import command_here
from tests.e2e.parts.in_parts import (
    HURRIED,
    UNHURRIED,
    WORLD,
    PartsOfWeb,
    assert_fetched_once,
    crossed,
    in_parts,
    send,
)

PACE = "politeness.min_delay_s=0.1"
SUPERVISOR = -1


def kill_some(crawl: PartsOfWeb, victims: Sequence[int], random: Random) -> int:
    """Kill a part by its number, or the supervisor with its parts or without them, each after some more requests.
    Then kill all, and let the crawl come to its end. If it gives a part up that was killed too often, it is started
    again. Returns how many of the victims were killed."""
    killed = 0
    waiting = list(victims)
    while waiting:
        with crawl.started() as supervisor:
            killed += _kill_parts(crawl, supervisor, waiting, random)
            if supervisor.process.poll() is not None:
                ended = supervisor.wait()
                if ended.code != FAILED:
                    assert_told(ended, COMPLETE)
                    return killed
                assert_told(ended, FAILED, "has died 6 times, the last time by SIGKILL")
                continue
            killed += len(waiting[:1])
            del waiting[:1]
            supervisor.process.kill()
            supervisor.process.wait()
            # With or without its parts: those that are left finish what is in flight, and the next one waits for them.
            for pid in crawl.pids() if random.random() < 0.5 else []:
                send(pid, signal.SIGKILL)
            crawl.wait_until_gone()
    with crawl.started(*HURRIED) as supervisor:
        assert_told(supervisor.wait(), COMPLETE)
    return killed


def _kill_parts(crawl: PartsOfWeb, supervisor: Running, waiting: list[int], random: Random) -> int:
    """Kill parts, until the supervisor is next or the crawl has ended."""
    lines, killed = Lines(crawl.log), 0
    while waiting and supervisor.process.poll() is None:
        moment = growth(lines, by=random.randint(1, 6))
        while not moment() and supervisor.process.poll() is None:
            time.sleep(0.001)
        if waiting[0] == SUPERVISOR:
            break
        if (pid := crawl.pid(waiting[0])) is not None:
            send(pid, signal.SIGKILL)
            killed += 1
            waiting.pop(0)
    return killed


def test_killed_parts_and_a_killed_supervisor_lose_nothing(tmp_path: Path) -> None:
    victims = [0, 1, SUPERVISOR, 1, 1, SUPERVISOR, 0]
    # Of so many pages some are left for the end, however long the parts take to start.
    params = msgspec.structs.replace(WORLD, pages_per_host=30)
    with in_parts(tmp_path, *UNHURRIED, "fetch.concurrency=4", params=params) as crawl:
        assert kill_some(crawl, victims, Random(7)) == len(victims)
        records = crawl.records()
        assert_fetched_once(records, crawl.web.pages)
        assert crossed(records) > 0
        for path in part_directories(crawl.directory):
            assert_sound(path)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(50))
def test_ten_more_kills_lose_nothing(tmp_path: Path, seed: int) -> None:
    random = Random(seed)
    with in_parts(tmp_path, PACE, "fetch.concurrency=4", parts=3) as crawl:
        kill_some(crawl, [random.choice([0, 1, 2, SUPERVISOR]) for _ in range(10)], random)
        assert_fetched_once(crawl.records(), crawl.web.pages)
        for path in part_directories(crawl.directory):
            assert_sound(path)


def test_parts_whose_supervisor_is_killed_finish_what_is_in_flight_and_end(tmp_path: Path) -> None:
    with in_parts(tmp_path, *UNHURRIED) as crawl, crawl.started() as supervisor:
        crawl.wait_until_all_crawl(supervisor)
        supervisor.process.kill()
        supervisor.process.wait()
        crawl.wait_until_gone()
        requests = [each for each in crawl.requests() if each.target != "/robots.txt"]
        records = [record for part in crawl.records() for record in part]
        assert len(records) < len(crawl.web.pages)
        assert len(requests) == sum(record.attempts for record in records)  # drained, not dropped


def test_the_next_supervisor_names_the_parts_that_are_stopped(tmp_path: Path) -> None:
    with in_parts(tmp_path, *UNHURRIED) as crawl, crawl.started() as supervisor:
        crawl.wait_until_all_crawl(supervisor)
        stopped = crawl.pid(1)
        assert stopped is not None
        send(stopped, signal.SIGSTOP)
        supervisor.process.kill()
        supervisor.process.wait()
        ended = onceover("crawl", "--dir", "crawl", cwd=tmp_path)
        assert_told(ended, REFUSED, "parts of an earlier run are stopped", str(stopped), f"kill -CONT {stopped}")
        send(stopped, signal.SIGCONT)
        assert_told(onceover("crawl", "--dir", "crawl", *HURRIED, cwd=tmp_path), COMPLETE)
        assert_fetched_once(crawl.records(), crawl.web.pages)


def test_a_part_that_is_stopped_by_a_signal_is_named_also_when_the_crawl_ends_and_does_not_run_on(
    tmp_path: Path,
) -> None:
    with in_parts(tmp_path, *UNHURRIED) as crawl, crawl.started() as supervisor:
        crawl.wait_until_all_crawl(supervisor)
        stopped = crawl.pid(1)
        assert stopped is not None
        send(stopped, signal.SIGSTOP)
        supervisor.wait_until(lambda: f"part 1 does nothing: process {stopped}, " in supervisor.err, "word of it")
        supervisor.signal(signal.SIGINT)
        supervisor.wait_until(lambda: f"part 1 can't end yet: process {stopped}, " in supervisor.err, "word of it")
        send(stopped, signal.SIGCONT)
        assert_told(supervisor.wait(), STOPPED)
        assert crawl.pids() == []


def test_a_part_waits_for_the_process_of_an_earlier_run_that_got_the_lock_late(tmp_path: Path) -> None:
    with in_parts(tmp_path, *UNHURRIED) as crawl, crawl.started() as supervisor:
        crawl.wait_until_all_crawl(supervisor)
        killed = crawl.pid(1)
        assert killed is not None
        with (crawl.directory / "part-1" / "lock").open("rb") as lock:
            send(killed, signal.SIGKILL)
            fcntl.flock(lock, fcntl.LOCK_EX)  # before the next process of the part is started
            supervisor.wait_until(lambda: "Waiting for parts of an earlier run" in supervisor.err, "wait")
        assert_told(supervisor.wait(), COMPLETE)
        assert_fetched_once(crawl.records(), crawl.web.pages)


def test_a_part_that_dies_too_often_ends_the_crawl_with_the_end_of_its_log(tmp_path: Path) -> None:
    with in_parts(tmp_path, "politeness.min_delay_s=1") as crawl, crawl.started() as supervisor:
        dead: set[int] = set()
        while supervisor.process.poll() is None:
            pid = crawl.pid(1)
            if pid is not None and pid not in dead:
                dead.add(pid)
                send(pid, signal.SIGKILL)
            time.sleep(0.01)
        ended = supervisor.wait()
        assert_told(ended, FAILED, "part 1 has died 6 times, the last time by SIGKILL", "The end of crawl/part-1/logs")
        assert ended.err.count("it starts again in") == 5
        assert crawl.pids() == []
        assert_told(onceover(*crawl.options, "--set", "politeness.min_delay_s=0", cwd=tmp_path), COMPLETE)
        assert_fetched_once(crawl.records(), crawl.web.pages)


def test_a_part_whose_directory_is_gone_when_it_dies_does_not_begin_anew(tmp_path: Path) -> None:
    with in_parts(tmp_path, *UNHURRIED) as crawl, crawl.started() as supervisor:
        crawl.wait_until_all_crawl(supervisor)
        pid, part, away = crawl.pid(1), crawl.directory / "part-1", tmp_path / "away"
        assert pid is not None
        part.rename(away)
        send(pid, signal.SIGKILL)
        assert_told(supervisor.wait(), REFUSED, "crawl/part-1, the directory of this part, is gone")
        assert not part.exists(), "nothing makes what a missing disk should have"
        away.rename(part)
        assert_told(onceover("crawl", "--dir", "crawl", *HURRIED, cwd=tmp_path), COMPLETE)
        assert_fetched_once(crawl.records(), crawl.web.pages)


def test_a_part_that_is_asked_to_end_is_started_again(tmp_path: Path) -> None:
    with in_parts(tmp_path, *UNHURRIED) as crawl, crawl.started() as supervisor:
        crawl.wait_until_all_crawl(supervisor)
        pid = crawl.pid(0)
        assert pid is not None
        send(pid, signal.SIGTERM)
        supervisor.wait_until(lambda: "part 0 was stopped from outside; it starts again" in supervisor.err, "word")
        supervisor.wait_until(lambda: crawl.pid(0) not in (None, pid), "start")
        told = command_here("status", str(crawl.directory), "--json")
        assert_told(told, COMPLETE)
        found = msgspec.json.decode(told.out, type=CrawlStatus)
        now = [each.status.run.pages for each in found.parts or () if each.status is not None and each.status.run]
        assert found.run is not None
        assert found.run.pages > sum(now)  # those of the process that has ended count, too
        assert_told(command_here("stop", str(crawl.directory)), COMPLETE)
        assert_told(supervisor.wait(), STOPPED)
        assert_told(onceover("crawl", "--dir", "crawl", *HURRIED, cwd=tmp_path), COMPLETE)
        assert_fetched_once(crawl.records(), crawl.web.pages)

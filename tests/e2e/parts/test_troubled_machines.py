"""That parts of one crawl on many machines keep their promises when a machine sleeps, or Redis forgets everything."""

import os
import shutil
import signal
import time
from itertools import pairwise
from pathlib import Path

import pytest

from tests.e2e.crawling import COMPLETE, FAILED, STOPPED, assert_told, onceover
from tests.e2e.killing import wait_for_earlier_requests
from tests.e2e.parts.in_parts import UNHURRIED, assert_fetched_once
from tests.e2e.parts.on_machines import LEASE_S, Machine, on_machines
from tests.e2e.parts.test_machines import DELAY_S
from tests.e2e.parts.test_shared_limits import IP_DELAY_S, ONE_ADDRESS, PLAIN
from tests.e2e.test_politeness import gaps_s


def _sleep(machine: Machine, seconds: float, *, port: int) -> tuple[float, float]:
    """Stop all processes of a machine for some time. Returns from when, what it had sent to the web before having been
    read, to when."""
    parts = [pid for part in machine.parts() if (pid := machine.pid_of(part)) is not None]
    for pid in (machine.process.pid, *parts):
        os.kill(pid, signal.SIGSTOP)
    while any(Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0] != "T" for pid in parts):
        time.sleep(0.001)
    wait_for_earlier_requests(port)
    began = time.monotonic()
    time.sleep(seconds)  # what is shown is that this long sleep changes nothing
    ended = time.monotonic()
    for pid in (*parts, machine.process.pid):
        os.kill(pid, signal.SIGCONT)
    return began, ended


@pytest.mark.long
def test_a_machine_that_slept_beyond_its_leases_asks_nobody_before_it_has_them_again(tmp_path: Path) -> None:
    with on_machines(tmp_path, *UNHURRIED, machines=2) as crawl:
        crawl.start()
        crawl.wait_until_all_crawl()
        decides = crawl.wait_for_coordinator()
        sleeper = next(machine for machine in crawl.machines if machine is not decides)
        hosts = {record.url.split("/")[2] for part in sleeper.records() for record in part}
        began, ended = _sleep(sleeper, 5.0, port=crawl.web.port)
        crawl.wait(COMPLETE)
        assert_fetched_once(crawl.records(), crawl.web.pages)
        assert min(gaps_s(crawl.requests())) >= DELAY_S
        mine = [request.at_s for request in crawl.requests() if request.host.partition(":")[0] in hosts]
        # The lease had ended in its sleep. A claim must stand for a lease and a tenth.
        assert not [at_s for at_s in mine if began < at_s < ended + 1.1 * LEASE_S]
        assert "its lease was lost" in sleeper.err


@pytest.mark.long
def test_redis_may_forget_everything_in_the_middle(tmp_path: Path) -> None:
    with on_machines(tmp_path, *UNHURRIED, machines=2) as crawl:
        crawl.start()
        crawl.wait_until_all_crawl()
        crawl.wait_for_coordinator()
        crawl.redis.kill()
        crawl.redis.start()
        crawl.wait(COMPLETE)
        assert_fetched_once(crawl.records(), crawl.web.pages)
        assert min(gaps_s(crawl.requests())) >= DELAY_S


@pytest.mark.long
def test_machines_keep_the_pace_of_an_address_together_although_the_one_that_decides_dies(tmp_path: Path) -> None:
    with on_machines(tmp_path, *ONE_ADDRESS, "politeness.robots=false", machines=2, params=PLAIN) as crawl:
        crawl.start()
        crawl.wait_until(lambda: len(crawl.requests()) >= 10, "ten requests")
        first = crawl.wait_for_coordinator()
        first.kill()
        first.start()
        crawl.wait(COMPLETE)
        assert_fetched_once(crawl.records(), crawl.web.pages)
        times = sorted(request.at_s for request in crawl.requests())
        assert min(after - before for before, after in pairwise(times)) >= IP_DELAY_S


@pytest.mark.long
def test_a_machine_that_is_stopped_while_redis_hangs_leaves_and_says_what_that_means(tmp_path: Path) -> None:
    with on_machines(tmp_path, *UNHURRIED, machines=1) as crawl:
        [machine] = crawl.machines
        machine.start()
        crawl.wait_until_all_crawl()
        crawl.redis.hold()
        try:
            machine.process.send_signal(signal.SIGTERM)
            assert_told(machine.wait(), STOPPED, "Redis can't be told that this machine leaves", "leases have ended")
        finally:
            crawl.redis.go_on()
        machine.start()
        assert_told(machine.wait(), COMPLETE)
        assert_fetched_once(crawl.records(), crawl.web.pages)


@pytest.mark.long
def test_a_crawl_with_a_part_that_was_made_again_ends_as_complete_on_no_machine(tmp_path: Path) -> None:
    with on_machines(tmp_path, *UNHURRIED, machines=2) as crawl:
        crawl.start()
        crawl.wait_until_all_crawl()
        # Links that a part has received long ago are gone from the outbox of the other.
        crawl.wait_until(lambda: all(len(part) >= 20 for part in crawl.records()), "20 pages of each part")
        kept, lost = crawl.machines
        [part] = lost.parts()
        lost.kill()
        shutil.rmtree(lost.directory)
        crawl.wait_until(lambda: crawl.read().parts[part].lease is None, "end of the lease")
        assert_told(onceover("cluster", "adopt", str(part), "--url", crawl.redis.url, "--yes", cwd=tmp_path), COMPLETE)
        lost.start()
        for machine, text in ((kept, "lost in parts on other machines"), (lost, "were lost on their way")):
            ended = machine.wait()
            assert_told(ended, FAILED)
            assert "The crawl is not complete" in ended.out
            assert text in ended.out
        told = onceover("cluster", "status", "--url", crawl.redis.url, cwd=tmp_path)
        assert "ended  nothing was left to fetch, but URLs or links to them are lost" in told.out

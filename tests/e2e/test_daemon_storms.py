"""Several crawls of a daemon over the same hosts: they keep the pace together, and end whole whatever is killed."""

import os
import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import groupby, pairwise
from operator import attrgetter
from pathlib import Path
from random import Random

import msgspec
import pytest

from crawler.disk.layout import part_directories
from crawler.page import LinkKind
from crawler.serve.life.facts import Wish
from crawler.simweb.log import LogEntry, read_json_lines
from crawler.simweb.params import WorldParams
from crawler.simweb.process import running
from crawler.url.urls import UrlReader
from crawler.write.records import read_records
from tests.e2e.crawling import COMPLETE, Web, assert_sound, assert_told, started
from tests.e2e.operating import command_here
from tests.e2e.test_daemon import Served, kill_crawls, serving, write

WORLD = WorldParams(domain="test", seed=3, hosts=5, pages_per_host=6, links_per_page=8, page_bytes=800)
"""Directly below .test, each host is a registered domain, so the hosts are divided among the parts of a crawl."""
DELAY_S = 0.05


class Storm(msgspec.Struct, frozen=True):
    """A folder of three crawls of one web, of which the last is in two parts."""

    home: Path
    web: Web
    log: Path
    names: Sequence[str] = ("one", "two", "parts")

    def write(self, *names: str, delay_s: float) -> None:
        for name in names:
            path = write(self.home, name, self.web, "crawl.parts = 2" if name == "parts" else "", delay_s=delay_s)
            path.write_text(path.read_text().replace('within = "domain"', 'within = "any"'))

    def write_idle(self, *names: str) -> None:
        """Crawls that ask a host of their own, and nearly never."""
        seeds = [f"http://elsewhere.test/{number}" for number in range(100)]
        for name in names:
            write(self.home, name, self.web, delay_s=30.0)
            path = self.home / f"{name}.toml"
            path.write_text(f"crawl.seeds = {seeds}\n" + path.read_text().partition("\n")[2])

    def requests(self) -> list[LogEntry]:
        return read_json_lines(self.log)

    def wait_for_requests(self, served: Served, number: int) -> bool:
        """Until so many more were sent; whether the crawls still run then."""
        upto = len(self.requests()) + number
        served.wait(lambda: len(self.requests()) >= upto or self.are_complete(served), "requests")
        return not self.are_complete(served)

    def are_complete(self, served: Served) -> bool:
        return all(served.is_complete(name) for name in self.names)

    def fetched(self, name: str) -> set[str]:
        directory, reader = self.home / "crawls" / name, UrlReader()
        return {
            reader.seed(record.url).canonical
            for part in part_directories(directory) or [directory]
            for record in read_records(part / "records")
            if record.state == "done" and record.status == 200 and record.kind != LinkKind.SITEMAP
        }

    def assert_whole(self) -> None:
        for name in self.names:
            assert self.fetched(name) == self.web.pages
            assert_sound(self.home / "crawls" / name)


@contextmanager
def storm(folder: Path) -> Iterator[Storm]:
    with running(WORLD, log_path=folder / "requests") as port:
        crawls = Storm(folder / "home", Web(port, WORLD), folder / "requests")
        crawls.write(*crawls.names, delay_s=DELAY_S)
        try:
            yield crawls
        finally:
            kill_crawls(crawls.home)  # those that a daemon has left alone, if the test fails


def least_gap_s(requests: Sequence[LogEntry]) -> float:
    """Of two requests to one host."""
    by_host = groupby(sorted(requests, key=attrgetter("host", "at_s")), key=attrgetter("host"))
    return min(after.at_s - before.at_s for _, each in by_host for before, after in pairwise(each))


def kill(pid: int) -> None:
    """A daemon alone, or a crawl with its parts."""
    if os.getpgid(pid) == pid:
        os.killpg(pid, signal.SIGKILL)
    else:
        os.kill(pid, signal.SIGKILL)


def test_crawls_of_a_daemon_keep_the_pace_of_hosts_together_also_when_it_is_killed(tmp_path: Path) -> None:
    with storm(tmp_path) as crawls:
        with left_alone(crawls.home) as served:
            assert crawls.wait_for_requests(served, 30)
            served.daemon.process.kill()
        with serving(crawls.home) as served:
            served.wait_until_complete(*crawls.names)
            assert all(len(served.record(name).runs) == 1 for name in crawls.names)
            served.end()
        crawls.assert_whole()
        assert least_gap_s(crawls.requests()) >= DELAY_S


def test_whatever_is_killed_each_crawl_ends_whole_and_what_it_was_told_holds(tmp_path: Path) -> None:
    assert_survives(tmp_path, Random(4), rounds=3)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(20))
def test_storms_of_many_rounds(tmp_path: Path, seed: int) -> None:
    assert_survives(tmp_path, Random(seed), rounds=8)


def assert_survives(folder: Path, random: Random, *, rounds: int) -> None:
    with storm(folder) as crawls:
        crawls.write_idle("halted", "waiting")
        seen: dict[str, list[int]] = {name: [] for name in crawls.names}
        for each in range(rounds):
            with left_alone(crawls.home) as served:
                if not each:
                    tell(served)
                if not crawls.wait_for_requests(served, random.randint(5, 25)):
                    break
                kill_some(served, seen, random, with_crawls=each == 1 or random.random() < 0.5)
        with serving(crawls.home) as served:
            served.wait_until_complete(*crawls.names)
            assert served.record("halted").wish is Wish.STOP
            assert len(served.record("halted").runs) == 1
            paused = command_here("status", str(served.directory("waiting")), "--json").json()["paused"]
            assert paused == "by night"
            served.end()
            for name, killed in seen.items():
                runs = served.record(name).runs
                assert [run.pid for run in runs][: len(killed)] == killed
                assert all(run.how is not None for run in runs)
                assert str(runs[-1].how).startswith("complete")
        crawls.assert_whole()


def tell(served: Served) -> None:
    """One crawl to stop, and one to pause."""
    served.wait_for_pid("halted")
    assert_told(command_here("stop", str(served.directory("halted"))), COMPLETE)
    served.wait_for_pid("waiting")
    assert_told(command_here("pause", str(served.directory("waiting")), "--reason", "by night"), COMPLETE)


def kill_some(served: Served, seen: dict[str, list[int]], random: Random, *, with_crawls: bool) -> None:
    """Kill the daemon, and its crawls with it, or not. The order is left to chance."""
    running = {name: runs[-1].pid for name in seen if (runs := served.record(name).runs) and runs[-1].how is None}
    for name, pid in running.items():
        if pid not in seen[name]:
            seen[name].append(pid)
    victims = [served.daemon.pid, *(running.values() if with_crawls else ())]
    random.shuffle(victims)
    for pid in victims:
        with suppress(ProcessLookupError):
            kill(pid)
    served.daemon.process.wait()


@contextmanager
def left_alone(home: Path) -> Iterator[Served]:
    """A daemon whose crawls go on when it is killed."""
    with started("daemon", str(home), "--restart-delay", "0.1", cwd=home.parent) as daemon:
        served = Served(home, daemon)
        served.wait(lambda: "serves " in daemon.err, "start")
        yield served

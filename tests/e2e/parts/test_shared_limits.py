"""What the parts of a crawl share: a limit of pages that is met exactly, and an address whose pace they keep together,
whichever of them dies."""

import signal
from collections.abc import Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path
from random import Random

import msgspec
import pytest

from crawler.page import LinkKind
from crawler.simweb.log import LogEntry
from tests.e2e.crawling import COMPLETE, LIMIT, Running, assert_told, onceover
from tests.e2e.operating import command_here
from tests.e2e.parts.in_parts import UNHURRIED, WORLD, PartsOfWeb, in_parts, send

IP_DELAY_S = 0.05
ONE_ADDRESS = ("politeness.per_ip=1", f"politeness.ip_delay_s={IP_DELAY_S}")
"""All hosts of the simulated web are at one address."""
PLAIN = msgspec.structs.replace(WORLD, robots_rules=0.0)


def pages(crawl: PartsOfWeb) -> int:
    """The pages in the output, by their numbers."""
    return len(
        {
            record.number
            for part in crawl.records()
            for record in part
            if record.state == "done" and record.status == 200 and record.kind != LinkKind.SITEMAP
        }
    )


def kill_parts(crawl: PartsOfWeb, supervisor: Running, victims: Sequence[int], random: Random) -> int:
    """Kill these parts, each after some more requests. Returns how many were killed: all, if the crawl did not end."""
    killed = 0
    for number in victims:
        upto = len(crawl.requests()) + random.randint(1, 6)
        supervisor.wait_until(partial(_has_sent, crawl, supervisor, number, upto), "requests of a part that runs")
        if (pid := crawl.pid(number)) is None:
            break
        send(pid, signal.SIGKILL)
        killed += 1
    return killed


def _has_sent(crawl: PartsOfWeb, supervisor: Running, part: int, requests: int) -> bool:
    """Whether there are so many requests, and this part runs. It may have been killed before."""
    return not is_running(supervisor) or (len(crawl.requests()) >= requests and crawl.pid(part) is not None)


def is_running(supervisor: Running) -> bool:
    return supervisor.process.poll() is None


def assert_allowances_add_up(crawl: PartsOfWeb) -> None:
    checked = command_here("inspect", str(crawl.directory), "fsck")
    assert checked.code == COMPLETE, checked


def test_three_parts_store_exactly_as_many_pages_as_they_may(tmp_path: Path) -> None:
    with in_parts(tmp_path, parts=3) as crawl:
        for run in (1, 2):
            ended = onceover(*crawl.options, "--max-pages", "40", cwd=tmp_path)
            assert_told(ended, LIMIT)
            assert "pages  40 in" in ended.out
            assert pages(crawl) == 40 * run
            assert_allowances_add_up(crawl)
        assert_told(onceover(*crawl.options, cwd=tmp_path), COMPLETE)
        assert pages(crawl) == len(crawl.web.pages)
        assert_allowances_add_up(crawl)


def test_a_limit_is_met_exactly_although_parts_are_killed(tmp_path: Path) -> None:
    with in_parts(tmp_path, *UNHURRIED, parts=3) as crawl:
        with crawl.started("--max-pages", "50") as supervisor:
            assert kill_parts(crawl, supervisor, [0, 1, 2, 0, 1], Random(5)) >= 3
            assert_told(supervisor.wait(), LIMIT)
        assert pages(crawl) == 50
        assert_allowances_add_up(crawl)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(30))
def test_a_limit_is_met_exactly_whatever_is_killed(tmp_path: Path, seed: int) -> None:
    random = Random(seed)
    limit = random.randint(1, 100)
    with in_parts(tmp_path, "politeness.min_delay_s=0.1", parts=3) as crawl:
        with crawl.started("--max-pages", str(limit)) as supervisor:
            kill_parts(crawl, supervisor, [random.randrange(3) for _ in range(random.randint(1, 8))], random)
            assert_told(supervisor.wait(), LIMIT)
        assert pages(crawl) == limit
        assert_allowances_add_up(crawl)


def least_gap_s(requests: Sequence[LogEntry]) -> float:
    return min(after.at_s - before.at_s for before, after in pairwise(sorted(requests, key=lambda each: each.at_s)))


def test_parts_keep_the_pace_of_an_address_together(tmp_path: Path) -> None:
    with in_parts(tmp_path, *ONE_ADDRESS, parts=3, params=PLAIN) as crawl:
        assert_told(onceover(*crawl.options, cwd=tmp_path), COMPLETE)
        assert pages(crawl) == len(crawl.web.pages)
        assert len({record.number >> 40 for part in crawl.records() for record in part}) == 3
        assert least_gap_s(crawl.requests()) >= IP_DELAY_S


def test_the_pace_of_an_address_is_kept_although_parts_are_killed(tmp_path: Path) -> None:
    with in_parts(tmp_path, *ONE_ADDRESS, parts=3, params=PLAIN) as crawl:
        with crawl.started() as supervisor:
            assert kill_parts(crawl, supervisor, [0, 1, 2, 1], Random(3)) == 4
            assert_told(supervisor.wait(), COMPLETE)
        assert pages(crawl) == len(crawl.web.pages)
        assert least_gap_s(crawl.requests()) >= IP_DELAY_S

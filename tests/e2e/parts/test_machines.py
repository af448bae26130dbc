"""That parts of one crawl on many machines find what any crawl finds, whichever of them dies or leaves."""

import signal
from pathlib import Path
from typing import Final

import pytest
import redis

from tests.e2e.crawling import (
    AWAY,
    COMPLETE,
    FAILED,
    LIMIT,
    REFUSED,
    STOPPED,
    USAGE,
    Ended,
    assert_sound,
    assert_told,
    onceover,
)
from tests.e2e.parts.in_parts import UNHURRIED, assert_fetched_once, crossed
from tests.e2e.parts.on_machines import PREFIX, Machine, on_machines
from tests.e2e.test_politeness import gaps_s
from tests.redis_server import running_redis

DELAY_S: Final = 2.0
"""That of `UNHURRIED`."""


def test_two_machines_crawl_together_and_end_together(tmp_path: Path) -> None:
    with on_machines(tmp_path, machines=2) as crawl:
        first, second = crawl.machines
        first.start()
        crawl.wait_for_coordinator()
        # As when the node of a cluster of Redis that has the name of the crawl comes back empty.
        with redis.Redis.from_url(crawl.redis.url) as client:
            name = f"{{{PREFIX}:crawl}}"
            client.delete(name)
            crawl.wait_until(lambda: client.exists(name), "name of the crawl")
        second.start()
        crawl.wait(COMPLETE)
        for machine in crawl.machines:
            assert_told(onceover("crawl", "--dir", "crawl", cwd=machine.folder), REFUSED, "onceover crawl --cluster")
        records = crawl.records()
        assert_fetched_once(records, crawl.web.pages)
        assert crossed(records) > 0


def test_a_machine_that_starts_while_redis_is_gone_waits_for_it_unless_it_is_new(tmp_path: Path) -> None:
    with on_machines(tmp_path, *UNHURRIED, machines=2) as crawl:
        machine, new = crawl.machines
        machine.start("--max-parts", "2")
        crawl.wait_until_all_crawl()
        machine.kill()
        crawl.redis.kill()
        new.start()
        assert_told(new.wait(), AWAY, "can't be reached")
        machine.start("--max-parts", "2")
        crawl.wait_until(lambda: "Waiting until Redis can be used" in machine.err, "message")
        machine.signal(signal.SIGTERM)
        assert_told(machine.wait(), STOPPED)
        machine.start("--max-parts", "2")
        crawl.wait_until(lambda: machine.err.count("Waiting until Redis can be used") == 2, "message")
        crawl.redis.start()
        assert_told(machine.wait(), COMPLETE)
        assert_fetched_once(machine.records(), crawl.web.pages)


@pytest.mark.long
@pytest.mark.parametrize("share", [None, "one"])
def test_parts_on_many_machines_have_sets_on_a_server_of_their_own_or_together(
    tmp_path: Path, share: str | None
) -> None:
    with running_redis("--appendonly", "yes") as server:
        shared = "" if share is None else f", share='{share}'"
        options = ("visited.backend=redis-exact", f"visited.options={{url='{server.url}'{shared}}}")
        with on_machines(tmp_path, *options, machines=2) as crawl:
            crawl.start()
            crawl.wait(COMPLETE)
            assert_fetched_once(crawl.records(), crawl.web.pages)
        with redis.Redis.from_url(server.url) as client:
            assert len(client.keys("*:set")) == (2 if share is None else 1)
            assert not client.exists("{onceover:visited:one}:members")


@pytest.mark.long
def test_the_one_that_decides_and_another_one_may_die_in_the_middle(tmp_path: Path) -> None:
    """Four machines; the one that decides is killed, and another one is killed and started again."""
    with on_machines(tmp_path, *UNHURRIED, machines=4) as crawl:
        crawl.start()
        crawl.wait_until_all_crawl()
        first = crawl.wait_for_coordinator()
        first.kill()
        second = crawl.wait_for_coordinator()
        assert second is not first
        first.start()
        other = next(machine for machine in crawl.machines if machine not in (first, second))
        other.kill()
        other.start()
        crawl.wait(COMPLETE)
        assert_fetched_once(crawl.records(), crawl.web.pages)
        assert min(gaps_s(crawl.requests())) >= DELAY_S
        for machine in crawl.machines:
            for part in machine.parts():
                assert_sound(machine.directory / f"part-{part}")


@pytest.mark.long
def test_a_limit_of_pages_is_met_exactly_although_the_one_that_decides_dies(tmp_path: Path) -> None:
    with on_machines(tmp_path, *UNHURRIED, "limits.pages=80", machines=3) as crawl:
        crawl.start()
        crawl.wait_until_all_crawl()
        first = crawl.wait_for_coordinator()
        first.kill()
        crawl.wait_for_coordinator()
        first.start()
        crawl.wait(LIMIT)
        pages = [
            record for part in crawl.records() for record in part if record.state == "done" and record.status == 200
        ]
        assert len({record.number for record in pages}) == 80
        crawl.start()  # the next run counts its own
        crawl.wait(COMPLETE)
        assert_fetched_once(crawl.records(), crawl.web.pages)


@pytest.mark.long
def test_all_machines_stop_together_and_go_on_later(tmp_path: Path) -> None:
    with on_machines(tmp_path, *UNHURRIED, machines=2) as crawl:
        crawl.start()
        crawl.wait_until_all_crawl()
        stopped = onceover("cluster", "stop", "--url", crawl.redis.url, "--json", cwd=tmp_path)
        assert stopped.json()["parts"] == [0, 1]
        crawl.wait(STOPPED)
        crawl.start()
        crawl.wait(COMPLETE)
        assert_fetched_once(crawl.records(), crawl.web.pages)


@pytest.mark.long
def test_a_part_moves_with_its_directory_and_commands_work_on_each_machine(tmp_path: Path) -> None:
    with on_machines(tmp_path, *UNHURRIED, machines=2) as crawl:
        one, other = crawl.machines
        crawl.start()
        crawl.wait_until_all_crawl()
        crawl.wait_for_coordinator()
        for machine in crawl.machines:
            crawl.wait_until(lambda: _status(machine).code == COMPLETE, "status")  # noqa: B023
            assert [each["part"] for each in _list(_status(machine).json()["parts"])] == machine.parts()
            assert_told(onceover("pause", "crawl", "--reason", "because", cwd=machine.folder), COMPLETE)
            assert _status(machine).json()["paused"] == "because"
            assert_told(onceover("resume", "crawl", cwd=machine.folder), COMPLETE)
            assert_told(onceover("reload", "crawl", cwd=machine.folder), USAGE, "onceover set")
            assert_told(_set_delay(machine, 1.5), COMPLETE)
        for machine in crawl.machines:
            crawl.wait_until(lambda: "1.5" in (machine.directory / "crawl.toml").read_text(), "the new delay")  # noqa: B023
        assert_told(onceover("stop", "crawl", cwd=other.folder), COMPLETE)
        assert_told(other.wait(), STOPPED, "Other machines go on")
        assert one.is_running
        crawl.wait_until(lambda: "parts" in _set_delay(one, 0).err, "refusal, once a machine decides")
        assert_told(_set_delay(one, 0), FAILED, "can't be reached")
        [part] = other.parts()
        one.kill()
        (other.directory / f"part-{part}").rename(one.directory / f"part-{part}")
        one.start("--max-parts", "2")
        crawl.wait_until_all_crawl()
        crawl.wait_for_coordinator()
        crawl.wait_until(lambda: _set_delay(one, 0).code == COMPLETE, "a change")
        assert_told(one.wait(), COMPLETE)
        assert_fetched_once(crawl.records(), crawl.web.pages)


def _status(machine: Machine) -> Ended:
    return onceover("status", "crawl", "--json", cwd=machine.folder)


def _set_delay(machine: Machine, delay_s: float) -> Ended:
    return onceover("set", "crawl", f"politeness.min_delay_s={delay_s}", cwd=machine.folder)


def _list(value: object) -> list[dict[str, object]]:
    assert isinstance(value, list)
    return value

"""Crawls keep the pace of a host together, whichever of them dies."""

import asyncio
import math
import os
from pathlib import Path

import msgspec
import pytest

from crawler.shared_pace.slot import BUSY_WAIT_S, SIZE, TURN_S, decode
from crawler.shared_pace.table import SETS, WAYS, PaceTable
from crawler.testing.disks import largest_file
from crawler.testing.frontier.crawls import now
from crawler.testing.loops import in_virtual_time
from tests.unit.shared_pace.crawls import FETCH_S, Neighbour, Request, at_once, least_rest_s, longest_run


@pytest.fixture
def pace(tmp_path: Path) -> Path:
    return tmp_path / "pace"


@in_virtual_time
async def test_crawls_keep_the_delay_of_a_host_together_and_take_turns(pace: Path) -> None:
    log: list[Request] = []
    crawls = [Neighbour(name, pace, log, delay_s=2.0) for name in "abc"]
    for crawl in crawls:
        await crawl.begin("host")
    for crawl in crawls:
        await crawl.end()
    assert len(log) == 30
    assert at_once(log) == 1
    assert least_rest_s(log) >= 2.0
    assert longest_run(log[:20]) <= 3


@in_virtual_time
async def test_the_longest_delay_counts_while_its_crawl_asks(pace: Path) -> None:
    log: list[Request] = []
    quick, slow = Neighbour("quick", pace, log), Neighbour("slow", pace, log, delay_s=5.0)
    await quick.begin("host", pages=100)
    await slow.begin("host")
    await slow.end()
    assert least_rest_s(log[2:]) >= 5.0
    await quick.end()
    assert least_rest_s(log[-20:]) < 1.5


@in_virtual_time
async def test_crawls_keep_the_number_of_requests_together_that_a_host_may_have_at_once(pace: Path) -> None:
    log: list[Request] = []
    crawls = [Neighbour(name, pace, log, per_host=2, delay_s=0.0) for name in "ab"]
    for crawl in crawls:
        await crawl.begin("host", pages=40)
    for crawl in crawls:
        await crawl.end()
    assert len(log) == 80
    assert at_once(log) == 2


@pytest.mark.parametrize("known_to_second", [None, 2.0], ids=["first-knows", "both-know"])
@in_virtual_time
async def test_a_host_with_a_crawl_delay_gets_one_request_at_a_time_as_soon_as_one_crawl_knows_it(
    pace: Path, known_to_second: float | None
) -> None:
    log: list[Request] = []
    first = Neighbour("first", pace, log, per_host=2, delay_s=0.1, crawl_delay_s=2.0)
    second = Neighbour("second", pace, log, per_host=2, delay_s=0.1, crawl_delay_s=known_to_second)
    await first.begin("host")
    await asyncio.sleep(FETCH_S / 2)
    await second.begin("host")
    await first.end()
    await second.end()
    assert len(log) == 20
    assert longest_run(log[:16]) == 1
    assert at_once(log) == 1
    assert least_rest_s(log) >= 2.0


@in_virtual_time
async def test_a_host_with_a_crawl_delay_gets_one_request_at_a_time_also_if_a_crawl_has_parallel_queues_for_it(
    pace: Path,
) -> None:
    log: list[Request] = []
    parallel = Neighbour("parallel", pace, log, delay_s=0.1, crawl_delay_s=2.0)
    plain = Neighbour("plain", pace, log, delay_s=0.1, crawl_delay_s=2.0)
    await parallel.begin("host#0", "host#1", pages=5)
    await plain.begin("host")
    for crawl in (parallel, plain):
        await crawl.end()
    assert len(log) == 20
    assert at_once(log) == 1
    assert least_rest_s(log) >= 2.0


@in_virtual_time
async def test_a_host_with_a_crawl_delay_gets_one_request_at_a_time_also_for_the_robots_txt_of_others(
    pace: Path,
) -> None:
    log: list[Request] = []
    crawls = [Neighbour(name, pace, log, delay_s=0.1, crawl_delay_s=2.0) for name in "ab"]
    for number, crawl in enumerate(crawls):
        await crawl.begin(f"other{number}", pages=5, prerequisite=f"test,host#{number}")
    for crawl in crawls:
        await crawl.end()
    assert len(log) == 10
    assert at_once(log) == 1
    assert least_rest_s(log) >= 2.0


@pytest.mark.parametrize("address_rest_s", [None, 0.1], ids=["hosts-alone", "addresses-too"])
@pytest.mark.parametrize("queues", [["host#0", "host#1", "host#2"], ["host"]], ids=["parallel", "single"])
@in_virtual_time
async def test_robots_txt_is_asked_by_one_crawl_at_a_time(
    pace: Path, queues: list[str], address_rest_s: float | None
) -> None:
    log: list[Request] = []
    crawls = [
        Neighbour(name, pace, log, delay_s=2.0, per_host=3, address_rest_s=address_rest_s, knows_robots=False)
        for name in "abc"
    ]
    for number, crawl in enumerate(crawls):
        await crawl.begin(queues[number % len(queues)], pages=3)
    for crawl in crawls:
        await crawl.end()
    assert len(log) == 3 + 9
    asked = [request for request in log if request.is_robots]
    assert [request.crawl for request in asked] == ["a", "b", "c"]
    assert at_once(asked) == 1
    assert least_rest_s(asked) >= 2.0


@in_virtual_time
async def test_robots_txt_of_other_hosts_are_asked_at_once_at_the_host_to_which_they_lead(pace: Path) -> None:
    log: list[Request] = []
    crawls = [Neighbour(name, pace, log, per_host=3, knows_robots=False) for name in "ab"]
    for crawl in crawls:
        others = [f"other{crawl.name}{number}" for number in range(3)]
        await crawl.begin(*others, pages=1, prerequisite="test,host")
    for crawl in crawls:
        await crawl.end()
    assert at_once([request for request in log if request.is_robots]) == 3
    assert at_once(log) == 3


@pytest.mark.parametrize("queue", ["host", "host#0", "host#2"])
@in_virtual_time
async def test_robots_txt_of_other_hosts_wait_for_a_crawl_delay_that_another_crawl_keeps(
    pace: Path, queue: str
) -> None:
    log: list[Request] = []
    first = Neighbour("first", pace, log, delay_s=0.1, per_host=3, crawl_delay_s=2.0)
    second = Neighbour("second", pace, log, delay_s=0.1, per_host=3, crawl_delay_s=2.0, knows_robots=False)
    await first.begin("host" if queue == "host" else "host#0", pages=5)
    await asyncio.sleep(FETCH_S / 2)
    await second.begin("other0", "other1", "other2", pages=1, prerequisite=f"test,{queue}")
    for crawl in (first, second):
        await crawl.end()
    assert any(request.is_robots for request in log)
    assert at_once(log) == 1
    assert least_rest_s(log) >= 2.0


@pytest.mark.parametrize(
    ("asked", "waiting", "prerequisite"),
    [
        pytest.param(["host#0", "host#1"], ["host"], None, id="of-parallel-queues"),
        pytest.param(["host"], ["host#0", "host#1"], None, id="of-a-single-queue"),
        pytest.param(["host#0"], ["host#1", "host#2"], None, id="of-another-queue"),
        pytest.param(["other"], ["host#1", "host#2"], "test,host#0", id="of-a-prerequisite"),
        pytest.param(["other"], ["host#0", "host#1"], "test,host", id="of-a-prerequisite-in-a-single-queue"),
    ],
)
@in_virtual_time
async def test_retry_after_holds_for_all_queues_of_a_host_in_all_crawls(
    pace: Path, asked: list[str], waiting: list[str], prerequisite: str | None
) -> None:
    log: list[Request] = []
    first, second = Neighbour("first", pace, log, delay_s=0.1), Neighbour("second", pace, log, delay_s=0.1)
    await second.begin(*waiting, pages=20)
    await asyncio.sleep(3 * FETCH_S)
    first.retry_after_s = 30.0
    await first.begin(*asked, pages=1, prerequisite=prerequisite)
    for crawl in (first, second):
        await crawl.end()
    asked_at = next(each.ended for each in log if each.crawl == "first") or 0.0
    began = [each.began for each in log if each.crawl == "second"]
    assert len(began) == 20 * len(waiting)
    assert [at for at in began if asked_at < at < asked_at + 30.0] == []
    assert min(at for at in began if at > asked_at) < asked_at + 35.0


@in_virtual_time
async def test_parallel_queues_do_not_wait_for_the_usual_rests_of_a_crawl_with_a_single_queue(pace: Path) -> None:
    log: list[Request] = []
    parallel, plain = Neighbour("parallel", pace, log), Neighbour("plain", pace, log, delay_s=10.0)
    await parallel.begin("host#0", "host#1")
    await plain.begin("host")
    await parallel.end()
    assert len([each for each in log if each.crawl == "plain"]) <= 3
    await plain.end()


def test_a_crawl_counts_the_requests_of_crawls_that_allow_more_at_once(pace: Path) -> None:
    strict, first, second = (PaceTable(pace, clock=lambda: 100.0) for _ in range(3))
    for crawl in (first, second):
        assert not crawl.begin("host", at_once=2, delay_s=0.0)
    first.end("host", 0.0)
    assert strict.begin("host", at_once=1, delay_s=0.0) == BUSY_WAIT_S
    second.end("host", 0.0)
    assert not strict.begin("host", at_once=1, delay_s=0.0)
    for crawl in (strict, first, second):
        crawl.close()


@in_virtual_time
async def test_crawls_keep_the_pace_of_an_address_together_whatever_hosts_they_ask_there(pace: Path) -> None:
    log: list[Request] = []
    crawls = [Neighbour(name, pace, log, delay_s=0.0, address_rest_s=1.0) for name in "ab"]
    for crawl in crawls:
        await crawl.begin(*(f"{crawl.name}{number}" for number in range(5)), pages=3)
    for crawl in crawls:
        await crawl.end()
    assert len(log) == 30
    assert at_once(log) == 1
    assert least_rest_s(log) >= 1.0


@in_virtual_time
async def test_a_host_that_one_crawl_asks_waits_for_nobody(pace: Path) -> None:
    log: list[Request] = []
    first, second = Neighbour("first", pace, log), Neighbour("second", pace, log)
    await first.begin("a")
    await second.begin("b")
    began = now()
    await first.end()
    await second.end()
    assert now() - began == pytest.approx(10 * FETCH_S + 9 * 1.0)
    assert not first.refused
    assert not second.refused


@in_virtual_time
async def test_the_server_rests_when_a_crawl_dies_in_a_request(pace: Path) -> None:
    log: list[Request] = []
    first, second = Neighbour("first", pace, log, delay_s=3.0), Neighbour("second", pace, log, delay_s=3.0)
    await first.begin("host")
    await second.begin("host")
    await asyncio.sleep(FETCH_S / 2)
    died = now()
    await first.die()
    await second.end()
    assert [request.crawl for request in log] == ["first"] + ["second"] * 10
    assert 3.0 <= log[1].began - died <= 3.0 + BUSY_WAIT_S
    assert least_rest_s(log[1:]) >= 3.0


def test_the_server_rests_once_however_many_requests_a_crawl_dies_in(pace: Path) -> None:
    time = [100.0]
    first, second = (PaceTable(pace, clock=lambda: time[0]) for _ in range(2))
    for _ in range(4):
        assert not first.begin("host", at_once=4, delay_s=5.0)
    first.close()
    assert second.begin("host", at_once=4, delay_s=5.0) == 5.0
    time[0] += 5.0
    for _ in range(4):
        assert not second.begin("host", at_once=4, delay_s=5.0)
    second.close()


@in_virtual_time
async def test_a_crawl_that_dies_while_it_comes_next_loses_its_turn(pace: Path) -> None:
    log: list[Request] = []
    first, second = Neighbour("first", pace, log), Neighbour("second", pace, log)
    await first.begin("host")
    await second.begin("host")
    await second.die()
    await first.end()
    assert {request.crawl for request in log} == {"first"}
    assert least_rest_s(log) >= 1.0
    assert log[-1].began - log[0].began <= 9 * (FETCH_S + 1.0) + TURN_S


def test_a_set_that_is_full_takes_the_slot_that_says_least(pace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("crawler.shared_pace.table.SETS", 1)
    time = 100.0
    first, second = PaceTable(pace, clock=lambda: time), PaceTable(pace, clock=lambda: time)
    assert not first.begin("running", at_once=1, delay_s=1.0)
    assert not first.begin("resting", at_once=1, delay_s=1.0)
    first.end("resting", 500.0)
    for number in range(10 * WAYS):
        assert not first.begin(f"host {number}", at_once=1, delay_s=1.0)
        first.end(f"host {number}", 1.0)
    assert second.begin("running", at_once=1, delay_s=1.0) == BUSY_WAIT_S
    assert second.begin("resting", at_once=1, delay_s=1.0) == 500.0
    first.close()
    second.close()
    assert pace.stat().st_size < SETS * 64


def test_a_file_from_before_a_reboot_is_emptied(pace: Path) -> None:
    table = PaceTable(pace, clock=lambda: 1e6)
    assert not table.begin("host", at_once=1, delay_s=1.0)
    table.end("host", 1e5)
    table.close()
    again = PaceTable(pace, clock=lambda: 1e6)
    assert again.begin("host", at_once=1, delay_s=1.0) == 1e5
    again.close()
    with pace.open("r+b") as file:
        file.seek(16)
        file.write(b"another-boot-id")
    after = PaceTable(pace, clock=lambda: 10.0)
    assert not after.begin("host", at_once=1, delay_s=1.0)
    after.close()


def test_crawls_of_a_version_with_other_slots_keep_their_file(pace: Path) -> None:
    PaceTable(pace).close()
    theirs = pace.read_bytes().replace(b"pace 2 ", b"pace 1 ") + b"slots"
    pace.write_bytes(theirs)
    with pace.open("rb") as file:
        one, other = PaceTable(pace, clock=lambda: 1e6), PaceTable(pace, clock=lambda: 1e6)
        assert not one.begin("host", at_once=1, delay_s=1.0)
        assert other.begin("host", at_once=1, delay_s=1.0)
        assert file.read() == theirs
    for table in (one, other):
        table.close()


def test_a_file_that_is_none_of_paces_is_not_touched(pace: Path) -> None:
    pace.write_text('[crawl]\nname = "docs"\n')
    with pytest.raises(OSError, match="expected a file of paces"):
        PaceTable(pace)
    assert pace.read_text() == '[crawl]\nname = "docs"\n'


@pytest.mark.parametrize("left", [b"", b"once", bytes(10), bytes(10_000)])
def test_a_file_that_a_crash_or_a_full_disk_has_left_is_made_again(pace: Path, left: bytes) -> None:
    pace.write_bytes(left)
    first, second = PaceTable(pace, clock=lambda: 100.0), PaceTable(pace, clock=lambda: 100.0)
    assert not first.begin("host", at_once=1, delay_s=1.0)
    assert second.begin("host", at_once=1, delay_s=1.0) == BUSY_WAIT_S
    first.close()
    second.close()


def test_a_slot_for_a_part_of_which_the_disk_has_room_is_a_failure(pace: Path) -> None:
    first, second = PaceTable(pace, clock=lambda: 100.0), PaceTable(pace, clock=lambda: 100.0)
    assert not first.begin("host", at_once=1, delay_s=1.0)
    size = pace.stat().st_size
    first.end("host", None)
    os.truncate(pace, 64)
    with largest_file(size - 8), pytest.raises(OSError, match="No space"):
        first.begin("host", at_once=1, delay_s=1.0)
    assert not second.begin("host", at_once=1, delay_s=1.0)
    first.close()
    second.close()


@pytest.mark.parametrize("field", ["rest_until", "delay_s", "delay_until", "turn_until", "alone_until"])
@pytest.mark.parametrize("value", [math.inf, math.nan, 1e300, 1e12])
def test_a_slot_that_no_crawl_can_have_written_is_worth_nothing(pace: Path, field: str, value: float) -> None:
    first, second = PaceTable(pace, clock=lambda: 100.0), PaceTable(pace, clock=lambda: 100.0)
    assert not first.begin("host", at_once=1, delay_s=1.0)
    first.end("host", 0.0)
    at = pace.stat().st_size - SIZE
    with pace.open("r+b") as file:
        file.seek(at)
        slot = decode(file.read(SIZE))
        file.seek(at)
        file.write(msgspec.structs.replace(slot, rest_by=1, turn_of=1, delay_by=1, **{field: value}).encode())
    assert not second.begin("host", at_once=1, delay_s=1.0)
    second.end("host", 5.0)
    assert first.begin("host", at_once=1, delay_s=1.0) == 5.0
    first.close()
    second.close()


def test_nobody_waits_for_a_crawl_that_was_stopped_while_it_writes(pace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("crawler.shared_pace.table.MAX_WAIT_S", 0.05)
    stopped, other = PaceTable(pace, clock=lambda: 100.0), PaceTable(pace, clock=lambda: 100.0)
    with stopped._changing("host"):
        for _ in range(2):
            with pytest.raises(TimeoutError, match="as if it was stopped"):
                other.begin("host", at_once=1, delay_s=1.0)
    assert not other.begin("host", at_once=1, delay_s=1.0)
    assert stopped.begin("host", at_once=1, delay_s=1.0) == BUSY_WAIT_S
    stopped.close()
    other.close()


@in_virtual_time
async def test_a_crawl_goes_on_alone_when_the_file_fails(pace: Path, caplog: pytest.LogCaptureFixture) -> None:
    log: list[Request] = []
    crawl = Neighbour("a", pace, log)
    await crawl.begin("host")
    await asyncio.sleep(FETCH_S / 2)
    broken = os.open(os.devnull, os.O_RDONLY)
    os.dup2(broken, crawl.table._file)
    os.close(broken)
    await crawl.end()
    assert len(log) == 10
    assert least_rest_s(log) >= 1.0
    assert [record.getMessage() for record in caplog.records if "can't be shared" in record.getMessage()]

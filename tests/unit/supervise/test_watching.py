"""What the supervisor makes of what its parts say: sums over processes that have died, limits, and warnings."""

import asyncio
import logging
from functools import partial
from pathlib import Path

import msgspec
import pytest

from config import Limits, load
from crawler.control.replies import CrawlStatus, PartStatus
from crawler.counters import Counters
from crawler.disk.directory import CrawlDirectory
from crawler.disk.layout import Layout
from crawler.engine import Ending
from crawler.library.log_handlers import PER_KIND
from crawler.operate.parts.sums import sum_statuses
from crawler.parts.ending import Answer, Report
from crawler.parts.line.messages import Answered, Ask, Ended, Opened, Progress, ToPart, ToService, Warned
from crawler.parts.reservations import Join, Register
from crawler.parts.sharing.address_holder import NAME as ADDRESSES
from crawler.status import Status, status_of
from crawler.supervise.coordination.coordinator import Coordinator, RunState
from crawler.supervise.coordination.given import CrawlLimits
from crawler.supervise.coordination.watched_part import WatchedPart, over_all_processes, status_of_all
from crawler.supervise.part import warning_by
from crawler.supervise.preparing import Plan, for_parts
from crawler.testing.loops import in_virtual_time
from tests.frontier_stats import frontier_stats
from visited import VisitedStats


def status(*, pages: int, received: int = 0, paused: str | None = None) -> Status:
    counters = Counters()
    counters.pages, counters.bytes_received = pages, received
    visited = VisitedStats(backend="exact", count=10, capacity=None, memory_bytes=1)
    frontier = frontier_stats(admitted=10, paused=paused)
    return status_of(counters, frontier, visited, elapsed_s=1.0, recent_pages_per_s=0.0, monotonic=0.0)


def test_what_is_left_of_a_part_counts_where_it_is() -> None:
    """What it has done here counts here."""
    moved, stays = WatchedPart(), WatchedPart()
    for part in (moved, stays):
        part.begin(lambda _: None, pid=None)
        part.open(opened())
        part.note(status(pages=5))
    moved.end("others run it")
    moved.is_elsewhere = True
    found = status_of_all({0: moved, 1: stays}, 1.0)
    assert found is not None
    assert (found.pages, found.frontier.admitted, found.visited.count) == (10, 10, 10)
    moved.begin(lambda _: None, pid=None)
    moved.open(opened())
    found = status_of_all({0: moved, 1: stays}, 1.0)
    assert found is not None
    assert (found.pages, found.frontier.admitted, found.visited.count) == (10, 20, 20)


def test_a_part_that_moves_back_to_a_machine_counts_what_was_done_there_once() -> None:
    part = WatchedPart()
    for agent, pages in (("a", 5), ("b", 2), ("a", 6), ("b", 3)):
        part.attach(opened(), status(pages=pages), agent)
        part.lose()
    found = part.status()
    assert found is not None
    assert found.pages == 6 + 3


def opened() -> Opened:
    return Opened(new_seeds=1, resumed=False, choice=None, status=status(pages=0))


@in_virtual_time
async def test_a_crawl_resumes_what_it_had_before_any_part_went_on(tmp_path: Path) -> None:
    loaded = load(None, options={"crawl.seeds": ("a test", ["http://a.test/"])}, environ={})
    plan = Plan(loaded=loaded, directory=CrawlDirectory(tmp_path), layout=Layout.begin(2))
    coordinator = Coordinator(plan, tell=lambda _: None)
    before, later = (frontier_stats(done=count) for count in (3, 50))
    first = msgspec.structs.replace(opened(), status=msgspec.structs.replace(status(pages=0), frontier=before))
    coordinator.take(0, first)
    coordinator.take(0, Progress(status=msgspec.structs.replace(first.status, frontier=later), is_idle=False))
    coordinator.take(1, first)
    assert coordinator.first_frontier.done == 6


@in_virtual_time
async def test_a_crawl_in_which_a_part_lacks_links_does_not_end_as_complete(tmp_path: Path) -> None:
    confirmed: list[Ending] = []

    async def confirm(ending: Ending) -> bool:
        confirmed.append(ending)
        return True

    loaded = load(None, options={"crawl.seeds": ("a test", ["http://a.test/"])}, environ={})
    plan = Plan(loaded=loaded, directory=CrawlDirectory(tmp_path), layout=Layout.begin(2))
    for gaps, ending in ((0, Ending.COMPLETE), (1, Ending.INCOMPLETE)):
        coordinator = Coordinator(plan, tell=lambda _: None, confirm_end=confirm)
        deciding = asyncio.create_task(coordinator.run())
        for number in (0, 1):
            coordinator.attach(
                number, partial(_answer_as_idle, coordinator, number), opened(), status(pages=1), agent="a"
            )
            lacking = msgspec.structs.replace(status(pages=1), frontier=frontier_stats(done=1, gaps=gaps * number))
            coordinator.take(number, Progress(status=lacking, is_idle=True))
        await coordinator.ends.wait()
        assert coordinator.ending is ending
        deciding.cancel()
    assert confirmed == [Ending.COMPLETE, Ending.INCOMPLETE]


def _answer_as_idle(coordinator: Coordinator, number: int, message: ToPart) -> None:
    if isinstance(message, Ask):
        other = 1 - number
        report = Report(incarnation=number, transitions=1, is_idle=True, welcomed_by={other: other}, unconfirmed={})
        answered = Answered(wave=message.wave, answer=Answer(report=report, gate_is_closed=message.close_gate))
        asyncio.get_running_loop().call_soon(coordinator.take, number, answered)


def two_parts(directory: Path, *settings: str) -> Coordinator:
    loaded = load(None, overrides=settings, environ={}, require_seeds=False)
    plan = Plan(loaded=loaded, directory=CrawlDirectory(directory), layout=Layout.begin(2))
    return Coordinator(plan, tell=lambda _: None)


def test_the_limit_of_bytes_holds_also_while_a_part_is_missing(tmp_path: Path) -> None:
    coordinator = two_parts(tmp_path, "limits.bytes=1000")
    coordinator.attach(0, lambda _: None, opened(), status(pages=0), agent="one")
    for received, ending in ((999, None), (1000, Ending.LIMIT)):
        coordinator.take(0, Progress(status=status(pages=1, received=received), is_idle=False))
        assert coordinator.ending is ending


@in_virtual_time
async def test_the_limit_of_seconds_holds_for_a_run_that_another_has_begun_also_while_a_part_is_missing(
    tmp_path: Path,
) -> None:
    coordinator = two_parts(tmp_path, "limits.seconds=60")
    deciding = asyncio.create_task(coordinator.run())
    coordinator.attach(0, lambda _: None, opened(), status(pages=0), agent="one")
    await asyncio.sleep(100)
    found = [coordinator.ending]  # not all parts were open yet
    for elapsed_s in (10, 50, 20):  # other machines know how long it lasts at least
        coordinator.go_on(RunState(elapsed_s=elapsed_s))
    for sleep_s in (9, 2):
        await asyncio.sleep(sleep_s)
        found.append(coordinator.ending)
    assert found == [None, None, Ending.LIMIT]
    assert coordinator.run_state.elapsed_s >= 50
    deciding.cancel()


@in_virtual_time
async def test_no_part_waits_for_one_that_nobody_runs_before_it_asks_an_address(tmp_path: Path) -> None:
    coordinator = two_parts(tmp_path, "politeness.ip_delay_s=1")
    heard: list[ToPart] = []
    coordinator.attach(0, heard.append, opened(), status(pages=0), agent="one")
    for message in (Join(()), Register("ip 192.0.2.1")):
        coordinator.take(0, ToService(service=ADDRESSES, body=msgspec.Raw(msgspec.msgpack.encode(message))))
    await asyncio.sleep(60)
    assert not any(isinstance(each, ToService) for each in heard)  # the other part may be asking that address
    coordinator.end(1)
    await asyncio.sleep(60)
    assert sum(isinstance(each, ToService) for each in heard) == 1


def test_what_a_process_has_done_counts_after_its_death() -> None:
    part, other = WatchedPart(), WatchedPart()
    other.open(opened())
    assert status_of_all(dict(enumerate([part, other])), 1.0) is None  # one was not open yet
    for pages in (5, 7):
        part.open(opened())
        part.note(status(pages=pages - 1))
        part.note(status(pages=pages))
    found = status_of_all(dict(enumerate([part, other])), 4.0)
    assert found is not None
    assert (found.pages, found.pages_per_s) == (12, 3.0)
    assert found.frontier.admitted == 20  # the frontier counts the whole crawl, not a run


def told_by_parts(*each_pages: int | None) -> CrawlStatus:
    """What parts tell somebody who asks their processes. One cannot tell."""
    runs = {number: status(pages=pages) for number, pages in enumerate(each_pages) if pages is not None}
    parts = [
        PartStatus(part=number, directory="p", status=told_by_process(runs[number]) if number in runs else None)
        for number in range(len(each_pages))
    ]
    return msgspec.structs.replace(told_by_process(sum_statuses(runs)), parts=parts)


def told_by_process(run: Status) -> CrawlStatus:
    return CrawlStatus(directory="d", running=True, pid=1, paused=None, frontier=run.frontier, run=run)


def test_who_asks_how_a_crawl_stands_hears_what_its_progress_counts_though_parts_have_died() -> None:
    parts = {number: WatchedPart() for number in range(3)}
    read = partial(status_of_all, parts, 1.0)
    assert over_all_processes(told_by_parts(1, 2, None), read) == told_by_parts(1, 2, None)  # not all were open yet
    for part in parts.values():
        part.open(opened())
        part.note(status(pages=5))
    parts[1].end()
    parts[1].begin(lambda _: None, pid=7)
    parts[1].open(opened())
    parts[2].end()
    found = over_all_processes(told_by_parts(6, 1, None), read)
    assert found.run is not None
    assert found.run.pages == 6 + (5 + 1) + 5
    assert found.frontier == found.run.frontier
    assert found.frontier.admitted == 30  # also of the part that cannot tell now
    assert [each.status and each.status.run and each.status.run.pages for each in found.parts or ()] == [6, 1, None]


def test_people_hear_once_that_a_part_waits_and_once_that_it_goes_on() -> None:
    part = WatchedPart()
    part.open(opened())
    told = [part.note(status(pages=1, paused=paused)) for paused in (None, "no space", "no space", None, None)]
    assert told == [None, "is paused: no space", None, "goes on.", None]


def test_a_part_that_has_died_waits_for_nothing_but_its_next_process() -> None:
    busy = msgspec.structs.replace(
        status(pages=1),
        waiting="all 3 hosts rest",
        links_wait="Redis is slow",
        recent_pages_per_s=2.0,
        frontier=frontier_stats(
            pending=7, in_process=3, in_process_queues=2, awaits_limit=1, ready_queues=1, snoozed_queues=4
        ),
    )
    part = WatchedPart()
    found = []
    for last in (None, Ended(ending=Ending.STOPPED, status=busy, has_page=True)):
        part.begin(lambda _: None, pid=7)
        part.open(opened())
        part.note(busy)
        part.last = last
        part.end()
        found.append(part.status())
    assert [(each.waiting, each.links_wait, each.recent_pages_per_s) for each in found if each is not None] == [
        ("the part does not run at the moment", None, 0.0),
        ("all 3 hosts rest", "Redis is slow", 2.0),  # as it was at its end
    ]
    dead = None if found[0] is None else found[0].frontier
    assert dead == frontier_stats(pending=7, snoozed_queues=7)


def test_a_part_without_a_process_says_what_keeps_it_from_one_until_it_has_one() -> None:
    part = WatchedPart()

    def begin() -> None:
        part.begin(lambda _: None, pid=7)
        part.open(opened())

    def waiting() -> str | None:
        found = part.status()
        return None if found is None else found.waiting

    begin()
    part.end("its lease was lost: Redis is away")
    part.end()  # the process dies later
    assert waiting() == "the part does not run: its lease was lost: Redis is away"
    part.end("b holds it")
    assert waiting() == "the part does not run: b holds it"
    begin()
    assert waiting() is None
    part.end()
    assert waiting() == "the part does not run at the moment"


def test_a_part_whose_line_has_ended_may_run_as_far_as_anybody_knows() -> None:
    part = WatchedPart()
    found = []
    for leave in (part.lose, part.end):
        part.begin(lambda _: None, pid=None)
        part.open(opened())
        part.note(status(pages=1))
        leave()
        found.append(part.status())
    assert [each.waiting for each in found if each is not None] == [
        "the part can't be reached at the moment",
        "the part does not run at the moment",
    ]


def test_bytes_and_seconds_are_limits_of_the_crawl_and_not_of_its_parts() -> None:
    config = load(None, overrides=["limits.bytes=1000", "limits.seconds=60"], environ={}, require_seeds=False).config
    limits = CrawlLimits(config.limits)
    assert [limits.is_reached(received) for received in (999, 1000)] == [False, True]
    assert (for_parts(config).limits.bytes, for_parts(config).limits.seconds) == (None, None)


@in_virtual_time
async def test_other_limits_hold_at_once_and_seconds_count_from_the_beginning_of_the_run() -> None:
    limits = CrawlLimits(Limits(seconds=60))
    limits.begin()
    loop = asyncio.get_running_loop()
    ends = asyncio.create_task(limits.wait_for_seconds())
    await asyncio.sleep(20)
    limits.replace(Limits(bytes=5))
    assert limits.is_reached(5)
    await asyncio.sleep(100)
    assert not ends.done()
    limits.replace(Limits(seconds=500))
    began = loop.time() - 120
    await ends
    assert loop.time() - began == pytest.approx(500)
    late = asyncio.create_task(limits.wait_for_seconds())
    await asyncio.sleep(20)
    limits.replace(Limits(seconds=10))
    await asyncio.sleep(0.001)
    assert late.done()


def test_the_supervisor_hears_the_first_warnings_of_each_kind() -> None:
    told: list[Warned] = []
    handler = warning_by(told.append)
    for number in range(PER_KIND + 5):
        for text in ("%d is slow", "%d is odd"):
            handler.handle(logging.LogRecord("crawler", logging.WARNING, "", 1, text, (number,), None))
    assert [each.text for each in told if "slow" in each.text] == [f"warning: {n} is slow" for n in range(PER_KIND)]
    assert len({each.kind for each in told}) == 2
    assert handler.suppressed == 10


def test_what_an_agent_says_again_is_not_counted_twice_and_what_another_has_said_is_kept() -> None:
    part = WatchedPart()
    for agent, pages in (("one", 3), ("one", 5), ("other", 2), ("other", 4)):
        part.attach(opened(), status(pages=pages), agent)
    found = part.status()
    assert found is not None
    assert found.pages == 5 + 4

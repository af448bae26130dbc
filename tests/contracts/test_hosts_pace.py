"""Queues of one host share its pace, and so does a queue of which it is a prerequisite: by name, whatever the port."""

import asyncio
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import pytest

from frontier import CrawlUrl, Lease, Outcome, UrlState
from frontier.queues.grouping import Grouping, GroupLimit
from frontier.queues.settings import QueueSettings
from frontier.shell import QueueFrontier
from tests.unit.frontier.crawls import DONE, START, Crawl, check, lease, none_for, now, page, turns
from tests.unit.frontier.virtual_time import in_virtual_time

BROKEN = Outcome(state=UrlState.FAILED, reason="connect", server_ok=False)


def by_name(*, per_host: int = 1, ip: GroupLimit | None = None) -> QueueSettings:
    grouping = Grouping(
        limits={} if ip is None else {"ip": ip},
        host_of_key=lambda key: key.partition(":")[0],
        per_host=lambda _: per_host,
    )
    return QueueSettings(per_queue=per_host, grouping=grouping)


def ported(host: str, *ports: int, each: int = 1) -> list[CrawlUrl]:
    """URLs of a host, by the ports named; 80 has the host's own queue."""
    return [
        CrawlUrl(
            url=f"http://{host}.test:{port}/{number}",
            canonical=f"http://{host}.test:{port}/{number}",
            queue_key=f"test,{host}" if port == 80 else f"test,{host}:{port}",
        )
        for number in range(each)
        for port in ports
    ]


@pytest.fixture(params=["memory", "leveldb"])
def crawl(request: pytest.FixtureRequest, tmp_path: Path) -> Crawl:
    crawl = Crawl(tmp_path, kind=request.param)
    crawl.settings = by_name()
    return crawl


async def done(
    frontier: QueueFrontier,
    out: Lease,
    cooldown_s: float = 0.0,
    *,
    outcome: Outcome = DONE,
    host_s: float | None = None,
) -> None:
    await frontier.done(out, cooldown_s=cooldown_s, group_cooldown_s=host_s, outcome=outcome)


async def began_s(frontier: QueueFrontier, cooldown_s: float) -> list[tuple[str, float]]:
    """Which queue was asked when, until nothing is left."""
    began = []
    async for out in frontier:
        began.append((out.url.queue_key, now() - START))
        await done(frontier, out, cooldown_s)
    return began


def gaps_s(began: Sequence[tuple[str, float]]) -> list[float]:
    return [after - before for (_, before), (_, after) in pairwise(began)]


@in_virtual_time
@pytest.mark.parametrize("ports", [(80, 8080, 8443), (8080, 8443, 80), (8080, 8443)])
async def test_the_ports_of_a_host_take_turns_and_rest_as_one(crawl: Crawl, ports: tuple[int, ...]) -> None:
    async with crawl.opened() as frontier:
        await frontier.add(ported("a", *ports, each=3))
        began = await began_s(frontier, 2.0)
    assert gaps_s(began) == [2.0] * (3 * len(ports) - 1)
    assert len({key for key, _ in began[: len(ports)]}) == len(ports)
    if crawl.kind == "leveldb":
        await check(crawl.directory)


@in_virtual_time
async def test_other_hosts_are_not_kept_waiting(crawl: Crawl) -> None:
    async with crawl.opened() as frontier:
        await frontier.add([*ported("a", 80, 8080), *ported("b", 80), *ported("c", 8080)])
        began = await began_s(frontier, 5.0)
    assert sorted(at_s for _, at_s in began) == [0.0, 0.0, 0.0, 5.0]


@in_virtual_time
async def test_all_ports_together_are_fetched_at_once_as_often_as_one_host_may_be(crawl: Crawl) -> None:
    crawl.settings = by_name(per_host=2)
    async with crawl.opened() as frontier:
        await frontier.add(ported("a", 80, 8080, 8443, each=2))
        out = [await lease(frontier) for _ in range(2)]
        assert await none_for(frontier, 60.0)
        await done(frontier, out[0])
        await lease(frontier)
        assert await none_for(frontier, 60.0)


@in_virtual_time
@pytest.mark.parametrize("ports", [(80, 8080), (8080, 80)])
async def test_a_port_that_is_found_while_its_host_is_asked_waits(crawl: Crawl, ports: tuple[int, int]) -> None:
    async with crawl.opened() as frontier:
        await frontier.add(ported("a", ports[0]))
        out = await lease(frontier)
        await frontier.add(ported("a", ports[1]))
        assert await none_for(frontier, 60.0)
        await done(frontier, out, 3.0)
        at = now()
        await lease(frontier)
        assert now() - at == 3.0


@in_virtual_time
@pytest.mark.parametrize("ports", [(80, 8080), (8080, 80), (8443, 8080)])
async def test_a_port_that_is_found_while_its_host_rests_waits_also_after_a_restart(
    crawl: Crawl, ports: tuple[int, int]
) -> None:
    async with crawl.opened() as frontier:
        await frontier.add(ported("a", ports[0]))
        await done(frontier, await lease(frontier), 9.0)
        await frontier.add(ported("a", ports[1], each=2))
        assert await none_for(frontier, 1.0)
    async with crawl.opened() as frontier:
        await lease(frontier)
        assert now() - START == 9.0


@in_virtual_time
@pytest.mark.parametrize("ports", [(80, 8080), (8080, 80)])
async def test_a_port_that_does_not_answer_does_not_stop_the_others(crawl: Crawl, ports: tuple[int, int]) -> None:
    dead = ported("a", ports[0])[0].queue_key
    for start in range(2):
        async with crawl.opened() as frontier:
            await frontier.add(ported("a", *ports, each=4))
            for _ in range(2):
                out = await lease(frontier)
                if out.url.queue_key == dead:
                    await frontier.retry(out, after_s=None, cooldown_s=1000.0, group_cooldown_s=1.0, reason="connect")
                else:
                    await done(frontier, out, 1.0)
        assert now() - START <= 1.0 + 3.0 * start


@in_virtual_time
async def test_a_host_in_trouble_is_spared_by_its_other_ports_as_long_as_it_asks_to_be(crawl: Crawl) -> None:
    async with crawl.opened() as frontier:
        await frontier.add(ported("a", 80))
        out = await lease(frontier)
        await frontier.retry(out, after_s=500.0, cooldown_s=1000.0, group_cooldown_s=300.0, reason="http-503")
    async with crawl.opened() as frontier:
        await frontier.add(ported("a", 8080))
        await lease(frontier)
        assert now() - START == 300.0


@in_virtual_time
async def test_a_crash_is_no_way_around_the_pace_of_a_host(tmp_path: Path) -> None:
    crawl = Crawl(tmp_path / "first")
    crawl.settings = by_name()
    async with crawl.opened() as frontier:
        await frontier.add(ported("a", 80, 8080, each=3))
        await done(frontier, await lease(frontier), 10.0)
        await done(frontier, await lease(frontier), 10.0)
        await lease(frontier)  # is being asked when the process dies
        crawl = crawl.crashed(tmp_path / "second")
    async with crawl.opened(rest_after_crash_s=1.0) as frontier:
        began = await began_s(frontier, 10.0)
    assert began[0][1] == 20.0 + 10.0
    assert gaps_s(began) == [10.0] * 3


# prerequisites


def begin_prerequisite(frontier: QueueFrontier, out: Lease, to: str, *, address: str | None = None) -> bool:
    return frontier.begin_fetch(out, address=address, prerequisite=f"test,{to}")


@in_virtual_time
async def test_a_prerequisite_waits_for_the_host_that_is_asked_and_makes_it_rest(crawl: Crawl) -> None:
    async with crawl.opened() as frontier:
        await frontier.add([page("b", "1"), page("b", "2")])
        busy = await lease(frontier)
        await frontier.add([page("a", "1"), page("a", "2")])
        out = await lease(frontier)
        assert not begin_prerequisite(frontier, out, "b")
        assert await none_for(frontier, 60.0)
        await done(frontier, busy, 4.0)
        at = now()
        out = await lease(frontier)  # who has waited longer goes first
        assert (out.url.queue_key, now() - at) == ("test,a", 4.0)
        assert begin_prerequisite(frontier, out, "b")
        assert await none_for(frontier, 60.0)
        at = now()
        frontier.release(out, group_cooldown_s=7.0, asked=True)
        first, second = await lease(frontier), await lease(frontier)
        assert (first.url.queue_key, second.url.queue_key, now() - at) == ("test,a", "test,b", 7.0)


@in_virtual_time
async def test_a_host_without_a_queue_rests_after_being_a_prerequisite_also_after_a_restart(crawl: Crawl) -> None:
    async with crawl.opened() as frontier:
        await frontier.add([page("a", "1"), page("a", "2")])
        out = await lease(frontier)
        assert begin_prerequisite(frontier, out, "b")
        frontier.release(out, group_cooldown_s=20.0, asked=True)
        await done(frontier, await lease(frontier), 1.0)
    await asyncio.sleep(1)
    async with crawl.opened() as frontier:
        await frontier.add([page("b"), page("c")])
        assert {(await lease(frontier)).url.queue_key for _ in range(2)} == {"test,a", "test,c"}
        assert (await lease(frontier)).url.queue_key == "test,b"
        assert now() - START == 20.0
    if crawl.kind == "leveldb":
        await check(crawl.directory)


@in_virtual_time
async def test_a_prerequisite_to_a_host_that_does_not_answer_waits_until_that_is_tried_again(crawl: Crawl) -> None:
    async with crawl.opened() as frontier:
        await frontier.add([page("b")])
        await frontier.retry(await lease(frontier), after_s=None, cooldown_s=90.0, group_cooldown_s=1.0, reason="dns")
        await frontier.add([page("a")])
        began = {}
        async for out in frontier:
            key = out.url.queue_key
            if key == "test,b" or "prerequisite" in began:
                began[key] = now() - START
                await done(frontier, out, 1.0)
            elif begin_prerequisite(frontier, out, "b"):
                began["prerequisite"] = now() - START
                frontier.release(out, group_cooldown_s=1.0, asked=True)
    assert min(began["prerequisite"], began["test,b"]) == 90.0
    assert abs(began["prerequisite"] - began["test,b"]) >= 1.0


@in_virtual_time
async def test_two_hosts_that_need_each_other_both_get_their_answers(crawl: Crawl) -> None:
    async with crawl.opened() as frontier:
        await frontier.add([page("a"), page("b")])
        asked: list[tuple[str, float]] = []
        known: set[str] = set()
        async for out in frontier:
            key = out.url.queue_key
            other = "b" if key == "test,a" else "a"
            if key in known:
                asked.append((key, now() - START))
                await done(frontier, out, 1.0)
            elif begin_prerequisite(frontier, out, other):
                asked.append((f"test,{other}", now() - START))
                known.add(key)
                await turns()
                frontier.release(out, group_cooldown_s=1.0, asked=True)
    for host in ("test,a", "test,b"):
        assert min(gaps_s([each for each in asked if each[0] == host])) >= 1.0
    assert len(asked) == 4


@in_virtual_time
async def test_a_prerequisite_keeps_the_pace_of_the_address_that_is_asked(crawl: Crawl) -> None:
    crawl.settings = by_name(ip=GroupLimit(at_once=1, rest_s=5.0))
    async with crawl.opened() as frontier:
        await frontier.add([page("a", "1"), page("a", "2"), page("c")])
        first, second = await lease(frontier), await lease(frontier)
        assert frontier.begin_fetch(second, address="192.0.2.2")
        assert not begin_prerequisite(frontier, first, "b", address="192.0.2.2")
        await done(frontier, second)
        out = await lease(frontier)
        assert now() - START == 5.0
        assert begin_prerequisite(frontier, out, "b", address="192.0.2.2")
        frontier.release(out, asked=True)
        # Its own host is elsewhere, and needs no rest for what others were asked.
        out = await lease(frontier)
        assert frontier.begin_fetch(out, address="192.0.2.1")
        assert now() - START == 5.0


@in_virtual_time
async def test_a_prerequisite_that_is_not_needed_any_more_holds_nobody(crawl: Crawl) -> None:
    async with crawl.opened() as frontier:
        await frontier.add([page("a"), page("b")])
        first, second = await lease(frontier), await lease(frontier)
        assert not begin_prerequisite(frontier, first, "b")
        await done(frontier, second, 3.0)
        again = await lease(frontier)
        assert frontier.begin_fetch(again, address=None)
        await frontier.add([page("b", "2")])
        assert (await lease(frontier)).url.queue_key == "test,b"

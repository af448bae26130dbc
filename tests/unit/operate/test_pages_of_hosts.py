"""Hosts of a crawl, page by page."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from crawler.control.replies import CrawlStatus, HostForm, HostList
from crawler.control.requests import HostState, Retire, Top
from crawler.disk.layout import read_layout
from crawler.operate.answers import answer
from crawler.operate.parts.answers import answer_by_parts
from crawler.operate.reach_stored import open_parts
from crawler.operate.stored import StoredCrawl, open_stored_crawl
from frontier import ActiveQueue, Health
from tests.unit.operate.stored_crawls import HOSTS, PARTS, make, queue_of

SERVED: dict[str, HostState] = {HOSTS[6]: "snoozed", HOSTS[0]: "ready", HOSTS[3]: "in-process", HOSTS[8]: "snoozed"}


class Serving:
    """A frontier that serves some of the queues."""

    def active_queues(self) -> Iterator[ActiveQueue]:
        for number, (host, state) in enumerate(SERVED.items()):
            yield ActiveQueue(
                key=queue_of(host),
                state=state,  # type: ignore[arg-type]
                size=4,
                spent=3,
                leased=int(state == "in-process"),
                wake_at=4e9 - number if state == "snoozed" else 0.0,
                rest_reason=None,
                health=Health(error_streak=number),
            )


class Running:
    """A stored crawl that looks as if it ran."""

    def __init__(self, crawl: StoredCrawl) -> None:
        self._crawl = crawl
        self.controls = Serving()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._crawl, name)

    def status(self) -> CrawlStatus:
        status = self._crawl.status()
        frontier = msgspec.structs.replace(
            status.frontier,
            in_process_queues=1,
            ready_queues=1,
            snoozed_queues=2,
            inactive_queues=status.frontier.inactive_queues - len(SERVED),
        )
        return msgspec.structs.replace(status, running=True, frontier=frontier)


async def hosts(crawl: Any, request: Top) -> HostList:
    reply = await answer(crawl, request)
    assert isinstance(reply, HostList), reply
    return reply


async def test_hosts_that_are_served_come_first_and_the_others_by_key(tmp_path: Path) -> None:
    await asyncio.to_thread(make, tmp_path / "crawl")
    async with open_stored_crawl(tmp_path / "crawl", to_change=False) as stored:
        crawl = Running(stored)
        shown: list[HostForm] = []
        page = await hosts(crawl, Top(limit=2))
        assert page.left == len(HOSTS) - 2
        while True:
            shown += page.hosts
            if page.after is None:
                break
            page = await hosts(crawl, Top(limit=2, after=page.after))
            assert page.left is None
        others = [host for host in HOSTS if host not in SERVED]
        assert [each.host for each in shown] == [HOSTS[3], HOSTS[0], HOSTS[8], HOSTS[6], *others]
        assert [each.error_streak for each in shown[:4]] == [2, 1, 3, 0]
        assert [each.host for each in (await hosts(crawl, Top(state="snoozed"))).hosts] == [HOSTS[8], HOSTS[6]]
        snoozed = await hosts(crawl, Top(state="snoozed", limit=1))
        assert (snoozed.left, [each.host for each in snoozed.hosts]) == (1, [HOSTS[8]])
        assert [each.host for each in (await hosts(crawl, Top(state="inactive"))).hosts] == others
        inactive = await hosts(crawl, Top(state="inactive", limit=1))
        assert (inactive.left, len(inactive.hosts)) == (len(others) - 1, 1)
        matching = await hosts(crawl, Top(match="host-", limit=3))
        assert (matching.left, len(matching.hosts)) == (len(HOSTS) - 3, 3)


@pytest.mark.parametrize("parts", [1, PARTS])
async def test_pages_of_a_crawl_that_does_not_run_have_each_host_once(tmp_path: Path, parts: int) -> None:
    path = tmp_path / "crawl"
    await asyncio.to_thread(make, path, parts=parts)

    async def ask_all(ask: Any) -> None:
        retired = await ask(Retire(host=HOSTS[4]))
        assert len(retired.queues) == 1
        found: list[HostForm] = []
        page = await ask(Top(limit=2))
        assert page.left == len(HOSTS) - 2
        while True:
            assert len(page.hosts) <= 2
            found += page.hosts
            if page.after is None:
                break
            page = await ask(Top(limit=2, after=page.after))
        assert [each.host for each in found] == HOSTS
        assert [each.host for each in found if each.state == "retired"] == [HOSTS[4]]
        assert [each.host for each in (await ask(Top(state="retired"))).hosts] == [HOSTS[4]]
        assert (await ask(Top(state="ready"))).hosts == []

    if parts == 1:
        async with open_stored_crawl(path, to_change=True) as crawl:
            await ask_all(lambda request: answer(crawl, request))
        return
    layout = read_layout(path)
    assert layout is not None
    async with open_parts(path, layout, to_change=True) as whole:
        await ask_all(lambda request: answer_by_parts(whole, request))

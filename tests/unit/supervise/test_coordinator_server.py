"""The coordinator's side of its lines to agents."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from crawler.control.replies import Reconfigured, Refusal
from crawler.disk.directory import CrawlDirectory
from crawler.disk.layout import Layout
from crawler.supervise.cluster.coordinator_server import CoordinatorServer
from crawler.supervise.cluster.messages import Change, Hello
from crawler.supervise.coordination.coordinator import RunState
from crawler.supervise.preparing import Plan
from crawler.testing.loops import in_virtual_time
from crawler.wiring.configuration import load


class Connection:
    """An agent asks for a change of the settings, and waits."""

    def __init__(self) -> None:
        self._said: list[Hello | Change] = [
            Hello(agent="a", after="", run=RunState()),
            Change(ticket=1, settings=[], dry_run=False),
        ]

    async def receive(self) -> Hello | Change | None:
        if not self._said:
            await asyncio.Event().wait()
        return self._said.pop(0)

    async def send(self, _message: object) -> None: ...

    def close(self) -> None: ...


class Exchange:
    """One agent connects."""

    def __init__(self) -> None:
        self._connections = [Connection()]

    async def accept(self) -> Connection | None:
        if not self._connections:
            await asyncio.Event().wait()
        return self._connections.pop()


@in_virtual_time
async def test_a_machine_that_decides_no_more_changes_nothing_any_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded = load(None, options={"crawl.seeds": ("a test", ["http://a.test/"])}, environ={})
    plan = Plan(loaded=loaded, directory=CrawlDirectory(tmp_path), layout=Layout.begin(2))
    joined = cast(Any, SimpleNamespace(plan=plan, register=None, version=1))

    async def end(_: object) -> bool:
        return True

    server = CoordinatorServer(joined, cast(Any, Exchange()), run=RunState(), after="", end=end)
    changes: list[str] = []

    async def change(_settings: Sequence[str], *, dry_run: bool) -> Reconfigured | Refusal:
        changes.append("begun")
        await asyncio.sleep(1)
        changes.append("made")
        return Reconfigured(running=True, dry_run=dry_run, file=None, changes=[])

    monkeypatch.setattr(server._settings, "change", change)
    running = asyncio.create_task(server.run())
    await asyncio.sleep(0.5)
    running.cancel()
    await asyncio.wait({running})
    await asyncio.sleep(2)
    assert changes == ["begun"]

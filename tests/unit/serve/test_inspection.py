"""How a daemon looks at crawls."""

import asyncio
from pathlib import Path

import pytest

from crawler.serve import inspection
from crawler.serve.inspection import MOST_PROCESSES, Commands
from crawler.testing.loops import in_event_loop


@in_event_loop
async def test_few_crawls_are_looked_into_at_once_and_who_pauses_one_does_not_wait_for_that(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    going_on: list[str] = []
    may_end = asyncio.Event()

    async def run(command: str, *_: str) -> tuple[int, bytes, str]:
        going_on.append(command)
        if command == "status":
            await may_end.wait()
        return 0, b"", ""

    monkeypatch.setattr(inspection, "run_command", run)
    commands = Commands()
    async with asyncio.TaskGroup() as group:
        for number in range(10):
            group.create_task(commands.look_into(Path(f"crawl-{number}")))
        await asyncio.sleep(0)
        await commands.operate("pause", "crawl-11")
        assert sorted(going_on) == ["pause", *["status"] * MOST_PROCESSES]
        may_end.set()
    assert going_on.count("status") == 10

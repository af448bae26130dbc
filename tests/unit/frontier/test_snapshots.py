"""Snapshots of the visited set that are saved while a crawl goes on."""

import asyncio
from pathlib import Path

import pytest

from crawler.testing.loops import in_virtual_time
from frontier.snapshots.saving import Copy, Snapshots
from tests.unit.frontier.crawls import Crawl, check, page, pages

EVERY = 10


@in_virtual_time
async def test_tasks_that_wait_for_a_snapshot_do_not_save_one_more_each(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    saved: list[int] = []
    save = Snapshots.save

    async def save_slowly(snapshots: Snapshots, copy: Copy, store: object) -> None:
        saved.append(copy.journal_end)
        await asyncio.sleep(1)
        await save(snapshots, copy, store)  # type: ignore[arg-type]

    monkeypatch.setattr(Snapshots, "save", save_slowly)
    async with Crawl(tmp_path).opened(every=EVERY) as frontier:
        await frontier.add([page("z", f"{number}") for number in range(EVERY - 1)])
        adding = [asyncio.create_task(frontier.add(pages(1, 1)))]
        adding += [asyncio.create_task(frontier.add([page(f"h{number}", "1")])) for number in range(5)]
        await asyncio.sleep(0.5)
        await frontier.add([page("late", "1")])  # so that each snapshot would differ from the one before
        await asyncio.gather(*adding)
        assert len(saved) == 1
    await check(tmp_path)

"""With every visited set, 1,000 URLs are forgotten and found again, also after a restart."""

import asyncio
from pathlib import Path

import pytest

from config import Loaded, load
from crawler.disk.directory import CrawlDirectory
from crawler.wiring.storage import open_state, visited_set
from frontier import CrawlUrl, Outcome, UrlState
from visited.backends import BACKENDS

FORGOTTEN = 1000
KEPT = 200
URLS = [
    CrawlUrl(
        url=f"http://h{number % 40}.test/{number}",
        canonical=f"http://h{number % 40}.test/{number}",
        queue_key=f"test,h{number % 40}",
    )
    for number in range(FORGOTTEN + KEPT)
]
CASES = [(name, False) for name in BACKENDS] + [("dsbf", True), ("counting", True)]


async def settle_all(loaded: Loaded, directory: CrawlDirectory, expected: int) -> None:
    """Add all URLs, and settle those that are new."""
    state = open_state(loaded.config, directory)
    visited = visited_set(loaded.config, directory, state.knows_many)
    frontier = await state.open_frontier(visited)
    try:
        assert await frontier.add(URLS) == expected
        assert await frontier.add(URLS) == 0
        for _ in range(expected):
            await frontier.done(
                await anext(frontier), cooldown_s=0, outcome=Outcome(state=UrlState.DONE, status=200, fetched_at=1.0)
            )
        assert frontier.describe().done == len(visited) == len(URLS)
    finally:
        await frontier.aclose()
        await visited.aclose()


async def forget(loaded: Loaded, directory: CrawlDirectory) -> None:
    state = open_state(loaded.config, directory)
    visited = visited_set(loaded.config, directory, state.knows_many)
    frontier = await state.open_frontier(visited)
    try:
        names = [url.canonical for url in URLS[:FORGOTTEN]]
        assert await frontier.forget(names) == FORGOTTEN
        assert await frontier.forget(names) == 0
        assert len(visited) == KEPT
    finally:
        await frontier.aclose()
        await visited.aclose()


@pytest.mark.parametrize(("name", "verify"), CASES)
def test_forgotten_urls_are_found_again(name: str, verify: bool, tmp_path: Path) -> None:
    settings = [f"visited.backend={name}", f"visited.verify={'true' if verify else 'false'}", "visited.capacity=20000"]
    loaded = load(None, overrides=[*settings, "visited.error_rate=1e-9"], environ={}, require_seeds=False)
    with CrawlDirectory(tmp_path / "crawl") as directory:
        asyncio.run(settle_all(loaded, directory, len(URLS)))
        asyncio.run(forget(loaded, directory))
        asyncio.run(settle_all(loaded, directory, FORGOTTEN))

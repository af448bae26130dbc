"""Snapshots of the visited set keep the journal short for as long as a crawl goes on, and no longer than that takes."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest

from crawler.testing.frontier.crawls import drain, now, page, pages
from crawler.testing.loops import in_virtual_time
from frontier.shell import QueueFrontier
from frontier.snapshots.saving import Copy, Snapshots
from tests.unit.frontier.crawls import Crawl, check, leveldb, snapshots
from visited.filters.bloom import BloomSet
from visited.wrappers.verified import VerifiedSet

EVERY = 10


def journal_length(frontier: QueueFrontier) -> int:
    """How many URLs a crash would leave in the journal."""
    journal = frontier._store.journal
    return sum(len(entry.admitted) + len(entry.forgotten) for entry in journal.entries(journal.snapshot_at or 0))


@in_virtual_time
async def test_the_journal_stays_short_while_the_same_urls_are_visited_again_and_again(tmp_path: Path) -> None:
    urls = [page("a", f"{number}") for number in range(4)]
    async with Crawl(tmp_path).opened(every=EVERY) as frontier:
        await frontier.add(urls)
        for _ in range(20):
            await drain(frontier)
            assert await frontier.readmit(urls) == len(urls)
            assert journal_length(frontier) < EVERY + len(urls)
    await check(tmp_path)


@in_virtual_time
async def test_the_journal_stays_short_while_urls_are_forgotten_and_found_again(tmp_path: Path) -> None:
    urls = [page("a", f"{number}") for number in range(4)]
    async with Crawl(tmp_path).opened(every=EVERY) as frontier:
        for _ in range(20):
            assert await frontier.add(urls) == len(urls)
            assert journal_length(frontier) < 2 * (EVERY + len(urls))
            await drain(frontier)
            assert await frontier.forget([url.canonical for url in urls]) == len(urls)
    await check(tmp_path)


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


async def open_verified(directory: Path) -> tuple[QueueFrontier, VerifiedSet]:
    store = leveldb(directory)
    visited = VerifiedSet(BloomSet(capacity=1_000, error_rate=1e-6), store.reads.knows_many)
    return await QueueFrontier.open(store, visited, snapshots=snapshots(directory), now=now), visited


@in_virtual_time
async def test_a_verified_filter_counts_what_the_ledger_has_after_a_crash_too(tmp_path: Path) -> None:
    crawl, url = Crawl(tmp_path / "crawl"), page("a", "1")
    frontier, visited = await open_verified(crawl.directory)
    for forgotten_before in range(3):
        for _ in range(2):
            await frontier.add([url])
            await drain(frontier)
            assert await frontier.forget([url.canonical]) == 1
        await frontier.add([url])
        await drain(frontier)
        crashed = crawl.crashed(tmp_path / f"crashed{forgotten_before}")
        await frontier.aclose()
        crawl = crashed
        frontier, visited = await open_verified(crawl.directory)
        assert visited.describe().count == frontier.describe().admitted == 1
        assert await frontier.forget([url.canonical]) == 1
        assert visited.describe().count == 0
    await frontier.aclose()


async def test_a_verified_filter_never_counts_fewer_than_none() -> None:
    """A set that is filled from the ledger can't tell which of its URLs are false positives."""
    ledger: set[str] = {f"http://h.test/{number}" for number in range(500)}

    def known(urls: Sequence[str]) -> Sequence[bool]:
        return [url in ledger for url in urls]

    visited = VerifiedSet(BloomSet(capacity=1, error_rate=0.5), known)
    urls = list(ledger)
    await visited.add_many(urls)
    assert await visited.forget_many(urls) == len(urls)
    assert visited.describe().count == len(visited) == 0


async def test_no_snapshot_is_written_into_a_directory_that_has_taken_the_place_of_the_crawls(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    place = tmp_path / "crawl"
    place.mkdir()
    async with Crawl(place).opened(every=EVERY) as frontier:
        await frontier.add(pages(2, 2))
        place.rename(tmp_path / "moved")
        (place / "visited").mkdir(parents=True)
        of_another = place / "visited" / "snapshot-7"
        of_another.write_bytes(b"of another crawl")
    assert list((place / "visited").iterdir()) == [of_another]
    assert "was deleted, moved or replaced" in caplog.text
    await check(tmp_path / "moved")

"""Rows that are written at the same time share a transaction."""

import asyncio
from collections.abc import Sequence

import pytest

from crawler.write.database.batches import MAX_ROWS, Batches
from crawler.write.database.rows import Row


def row(number: int, *, size_bytes: int = 1) -> Row:
    return Row(number, (), None, size_bytes)


class Store:
    """Stores a batch when it is let, and knows all of them."""

    def __init__(self) -> None:
        self.batches: list[list[int]] = []
        self.may_store = asyncio.Event()
        self.error: Exception | None = None
        self.has_stored = False

    async def __call__(self, rows: Sequence[Row]) -> None:
        self.batches.append([row.number for row in rows])
        await self.may_store.wait()
        if self.error is not None:
            raise self.error
        self.has_stored = True


async def turn() -> None:
    """Let everything run that can."""
    for _ in range(5):
        await asyncio.sleep(0)


async def test_what_comes_while_a_batch_is_stored_makes_up_the_next() -> None:
    store = Store()
    batches = Batches(store)
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(batches.add(row(0)))
        await turn()
        later = [tasks.create_task(batches.add(row(number))) for number in range(1, 50)]
        await turn()
        assert store.batches == [[0]]
        assert not any(task.done() for task in later)
        store.may_store.set()
    assert store.batches == [[0], list(range(1, 50))]


async def test_a_batch_has_no_more_rows_and_bytes_than_it_may() -> None:
    store = Store()
    store.may_store.set()
    batches = Batches(store)
    await asyncio.gather(*(batches.add(row(number)) for number in range(2 * MAX_ROWS + 1)))
    assert [len(batch) for batch in store.batches] == [MAX_ROWS, MAX_ROWS, 1]
    store.batches.clear()
    await asyncio.gather(*(batches.add(row(number, size_bytes=9_000_000)) for number in range(3)))
    assert store.batches == [[0], [1], [2]]


async def test_a_number_is_once_in_a_batch_and_the_last_row_is_stored_last() -> None:
    store = Store()
    store.may_store.set()
    batches = Batches(store)
    await asyncio.gather(*(batches.add(row(number)) for number in (1, 2, 1, 3)))
    assert store.batches == [[1, 2], [1, 3]]


async def test_each_writer_of_a_batch_gets_its_error_and_may_try_again() -> None:
    store = Store()
    store.may_store.set()
    store.error = OSError(28, "No space left on device")
    batches = Batches(store)
    results = await asyncio.gather(*(batches.add(row(number)) for number in range(3)), return_exceptions=True)
    assert [type(result) for result in results] == [OSError] * 3
    store.error = None
    await batches.add(row(1))
    assert store.batches == [[0, 1, 2], [1]]


async def test_a_writer_that_is_cancelled_takes_its_row_back_or_does_not_disturb_the_others() -> None:
    store = Store()
    batches = Batches(store)
    tasks = [asyncio.create_task(batches.add(row(number))) for number in range(2)]
    await turn()
    tasks += [asyncio.create_task(batches.add(row(number))) for number in range(2, 5)]
    await turn()
    for number in (0, 3):
        tasks[number].cancel()
    store.may_store.set()
    await asyncio.wait(tasks)
    assert store.batches == [[0, 1], [2, 4]]
    assert [task.cancelled() for task in tasks] == [True, False, False, True, False]


async def test_closing_waits_for_what_was_added() -> None:
    store = Store()
    batches = Batches(store)
    writing = asyncio.create_task(batches.add(row(1)))
    await turn()
    closing = asyncio.create_task(batches.aclose())
    await turn()
    assert not closing.done()
    store.may_store.set()
    await closing
    assert writing.done()
    await batches.aclose()


@pytest.mark.parametrize("waits", [True, False])
async def test_closing_cancels_only_what_no_writer_waits_for(waits: bool) -> None:
    store = Store()
    batches = Batches(store)
    writing = [asyncio.create_task(batches.add(row(number))) for number in range(3)]
    await turn()
    for task in writing[waits:]:
        task.cancel()
    await turn()
    closing = asyncio.create_task(batches.aclose(cancels=True))
    await turn()
    assert closing.done() is not waits
    store.may_store.set()
    await asyncio.wait([closing, *writing])
    assert [task.cancelled() for task in writing] == [not waits, True, True]
    assert store.has_stored is waits


async def test_an_error_that_nobody_expects_reaches_the_writer() -> None:
    store = Store()
    store.may_store.set()
    store.error = KeyError("shelf")
    with pytest.raises(KeyError, match="shelf"):
        await Batches(store).add(row(1))

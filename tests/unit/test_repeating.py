"""What is done again and again while a crawl runs."""

import asyncio

import pytest

from crawler.background import Repeating


async def test_an_error_of_the_crawl_comes_out_as_it_is_after_the_call_that_has_begun() -> None:
    begun, ended = asyncio.Event(), []

    async def job() -> float:
        begun.set()
        await asyncio.sleep(0)
        ended.append(True)
        return 1000.0

    async def crawl() -> None:
        async with Repeating(job).running():
            await begun.wait()
            raise ValueError("the crawl")

    with pytest.raises(ValueError, match="the crawl"):
        await crawl()
    assert ended == [True]


async def test_an_error_of_the_job_ends_the_crawl() -> None:
    async def job() -> float:
        raise OSError("the disk")

    with pytest.raises(ExceptionGroup):
        async with Repeating(job).running():
            await asyncio.Event().wait()


async def test_cancelled_it_ends() -> None:
    async def job() -> float:
        return 1000.0

    async def crawl() -> None:
        async with Repeating(job).running():
            await asyncio.Event().wait()

    task = asyncio.create_task(crawl())
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

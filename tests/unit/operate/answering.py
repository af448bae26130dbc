"""Crawls that answer on sockets, as running ones do, from an event loop in a thread of its own."""

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from functools import partial
from pathlib import Path

from crawler.control import address
from crawler.control.server import Answer, ControlServer
from crawler.disk.directory import CrawlDirectory
from crawler.disk.layout import part_directories
from crawler.operate.answers import answer
from crawler.operate.opening import stored_configuration
from crawler.operate.parts.crawl import CrawlInParts
from crawler.operate.parts.members import Parts, RunningPart
from crawler.operate.parts.together import answer_together
from crawler.operate.stored import open_crawl

SUPERVISOR = 4711


@contextmanager
def answering(directory: Path, parts: Sequence[int], *, together: bool = False) -> Iterator[None]:
    """These parts of a crawl answer, each on its own socket; `together`, also the crawl on its."""
    loop = asyncio.new_event_loop()
    ready, end = threading.Event(), asyncio.Event()
    failed: list[BaseException] = []

    async def serve() -> None:
        try:
            async with AsyncExitStack() as stack:
                for number in parts:
                    part = part_directories(directory)[number]
                    crawl = await stack.enter_async_context(open_crawl(part, to_change=True))
                    await stack.enter_async_context(_listening(part, partial(answer, crawl)))
                if together:
                    running = Parts(
                        {number: RunningPart(place) for number, place in enumerate(part_directories(directory))}
                    )
                    whole = CrawlInParts(directory, stored_configuration(directory), running, pid=SUPERVISOR)
                    stack.enter_context(CrawlDirectory(directory))
                    await stack.enter_async_context(_listening(directory, partial(answer_together, whole)))
                ready.set()
                await end.wait()
        except BaseException as error:
            failed.append(error)
            ready.set()
            raise

    thread = threading.Thread(target=lambda: loop.run_until_complete(serve()))
    thread.start()
    try:
        ready.wait()
        if failed:
            raise failed[0]
        yield
    finally:
        if not loop.is_closed():
            loop.call_soon_threadsafe(end.set)
        thread.join()
        loop.close()


@asynccontextmanager
async def _listening(directory: Path, answers: Answer) -> AsyncIterator[None]:
    listening = address.listen(directory)
    server = asyncio.create_task(ControlServer(listening, answers).run())
    try:
        yield
    finally:
        server.cancel()
        await asyncio.wait({server})
        address.remove(directory)

"""Crawls that answer on sockets, as running ones do, from an event loop in a thread of its own."""

import asyncio
import os
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from functools import partial
from pathlib import Path

import msgspec

from crawler.control import address
from crawler.control.replies import CrawlStatus, Stopping
from crawler.control.requests import AnyRequest
from crawler.control.server import Answer, ControlServer
from crawler.disk.directory import CrawlDirectory
from crawler.disk.layout import part_directories
from crawler.operate.answers import answer
from crawler.operate.opening import stored_configuration
from crawler.operate.parts.answers import answer_by_parts
from crawler.operate.parts.crawl import CrawlInParts, Parts, RunningPart
from crawler.operate.stored import StoredCrawl, open_stored_crawl

SUPERVISOR = 4711
TURNS = 100
"""Turns of the event loop that are enough to send a reply."""


@contextmanager
def answering(directory: Path, parts: Sequence[int], *, together: bool = False) -> Iterator[None]:
    """These parts of a crawl answer, each on its own socket; `together`, also the crawl on its."""
    loop = asyncio.new_event_loop()
    ready, end, stopping = threading.Event(), asyncio.Event(), asyncio.Event()
    running = set(parts)

    def stop(number: int) -> None:
        running.discard(number)
        if not running:
            stopping.set()

    failed: list[BaseException] = []

    async def serve() -> None:
        try:
            async with AsyncExitStack() as stack:
                for number in parts:
                    part = part_directories(directory)[number]
                    crawl = await stack.enter_async_context(open_stored_crawl(part, to_change=True))
                    await stack.enter_async_context(
                        listening(part, partial(_answer_as_running, crawl, partial(stop, number)))
                    )
                if together:
                    asked = {number: RunningPart(place) for number, place in enumerate(part_directories(directory))}
                    whole = CrawlInParts(directory, stored_configuration(directory), Parts(asked), pid=SUPERVISOR)
                    stack.enter_context(CrawlDirectory(directory))
                    await stack.enter_async_context(listening(directory, partial(answer_by_parts, whole)))
                ready.set()
                ends = [asyncio.create_task(each.wait()) for each in (end, stopping)]
                await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
                for each in ends:
                    each.cancel()
                for _ in range(TURNS):
                    await asyncio.sleep(0)
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


async def _answer_as_running(crawl: StoredCrawl, stop: Callable[[], None], request: AnyRequest) -> msgspec.Struct:
    """The answer of a stored crawl, as if this process ran it."""
    reply = await answer(crawl, request)
    if isinstance(reply, CrawlStatus):
        return msgspec.structs.replace(reply, running=True, pid=os.getpid())
    if isinstance(reply, Stopping):
        stop()
        return Stopping(was_running=True, in_flight=1)
    return reply


@asynccontextmanager
async def listening(directory: Path, answers: Answer) -> AsyncIterator[None]:
    """It answers on the socket in a directory."""
    listening = address.listen(directory)
    server = asyncio.create_task(ControlServer(listening, answers).run())
    try:
        yield
    finally:
        server.cancel()
        await asyncio.wait({server})
        address.remove(directory)

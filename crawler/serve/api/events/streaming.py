"""Sends events to clients, and asks crawls how fast they go."""

import asyncio
from collections.abc import Mapping
from http import HTTPStatus
from pathlib import Path
from typing import Final

from aiohttp import web

from crawler.control.replies import CrawlStatus
from crawler.serve.api.actions import Actions
from crawler.serve.api.events.hub import MAX_CLIENTS, Events, TooMany
from crawler.serve.api.gate.traffic import STREAM
from crawler.serve.api.problems import Refused
from crawler.serve.inspection import ask_status
from crawler.serve.keeper import Keeper

EVENT_STREAM: Final = "text/event-stream"
HEARTBEAT_S: Final = 15.0
READING_S: Final = 30.0
"""How long a client may take to read."""
RATE_S: Final = 2.0
_HEADERS: Final = {"Content-Type": EVENT_STREAM, "Cache-Control": "no-store", "X-Accel-Buffering": "no"}


async def stream_events(actions: Actions, request: web.Request) -> web.StreamResponse:
    """What happens, as server-sent events; goes on until the client closes it.

    It also ends if the client reads too slowly.
    """
    if request.method == "HEAD":
        return web.Response(headers=_HEADERS)
    try:
        client = actions.events.join(request.headers.get("Last-Event-ID"))
    except TooMany as error:
        detail = f"{MAX_CLIENTS} clients read events already; close one of them, or try again"
        raise Refused(HTTPStatus.SERVICE_UNAVAILABLE, detail) from error
    request[STREAM] = True
    response = web.StreamResponse(headers=_HEADERS)
    try:
        await response.prepare(request)
        while not client.is_dropped:
            try:
                async with asyncio.timeout(HEARTBEAT_S):
                    events = await client.read()
            except TimeoutError:
                events = b": alive\n\n"
            async with asyncio.timeout(READING_S):
                await response.write(events)
    except (ConnectionError, TimeoutError):
        # The client is gone, or does not read. What is still to be sent must not wait for it.
        if request.transport is not None:
            request.transport.abort()
    finally:
        actions.events.leave(client)
    return response


async def tell_rates(events: Events, keepers: Mapping[str, Keeper]) -> None:
    """Tell how fast crawls go, while somebody reads that."""
    while True:
        await events.has_clients.wait()
        running = {name: each for name, keeper in keepers.items() if (each := keeper.facts.crawl_process) is not None}
        statuses = await asyncio.gather(*(_status(Path(process.directory)) for process in running.values()))
        events.tell_rates({name: each for name, each in zip(running, statuses, strict=True) if each is not None})
        await asyncio.sleep(RATE_S)


async def _status(directory: Path) -> CrawlStatus | None:
    """None if the crawl does not answer soon: the others must not wait for it."""
    try:
        async with asyncio.timeout(RATE_S):
            return await ask_status(directory)
    except TimeoutError:
        return None

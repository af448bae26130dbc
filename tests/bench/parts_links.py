"""Two parts in one event loop, and pages whose links stay in the part or cross to the other."""

import asyncio
from pathlib import Path

from crawler.parts.exchange.carrier import Carrier
from crawler.parts.exchange.local import LocalExchange
from frontier import CrawlUrl, Part
from frontier.leveldb.store import LevelDBStore
from frontier.shell import QueueFrontier
from frontier.terms import Terms
from visited.digests.exact import ExactSet

LINKS = 40
_LOOK_S = 0.01


async def cost_of_links(
    folder: Path, pages: int, *, crosses: bool, links: int = LINKS, pause_s: float = 0.0, sync_s: float = 0.2
) -> None:
    """Add the links of some pages to the first part, and wait until all of them are in the part that they belong to,
    and no longer on their way. Pauses between pages."""
    directories = [folder / "0", folder / "1"]
    frontiers = [await _open(directories[number], number) for number in range(2)]
    exchanges = [LocalExchange(each, directories.__getitem__) for each in directories]
    carriers = [
        Carrier(frontier.part_links, exchange, frontier.pauses, agreement={}, sync_s=sync_s)
        for frontier, exchange in zip(frontiers, exchanges, strict=True)
        if frontier.part_links is not None
    ]
    running = [asyncio.create_task(carrier.run()) for carrier in carriers]
    first, other = frontiers
    assert first.part_links is not None
    for page in range(pages):
        await first.add([_link(page, number, owner=int(crosses)) for number in range(links)])
        await asyncio.sleep(pause_s)
    receiver = other if crosses else first
    while first.part_links.waiting(1) or receiver.describe().admitted < pages * links:  # noqa: ASYNC110 - nothing tells
        await asyncio.sleep(_LOOK_S)
    for task in running:
        task.cancel()
    await asyncio.wait(running)
    for exchange, frontier in zip(exchanges, frontiers, strict=True):
        await exchange.aclose()
        await frontier.aclose()


async def _open(directory: Path, number: int) -> QueueFrontier:
    directory.mkdir()
    terms = Terms(identity={}, part=Part(number=number, parts=2, lineage=number + 1))
    store = LevelDBStore(directory / "frontier", terms)
    return await QueueFrontier.open(store, ExactSet(), owner=lambda key: int(key[-1]))


def _link(page: int, number: int, *, owner: int) -> CrawlUrl:
    url = f"http://h{number:02}-{owner}.test/page/{page}/of/the/site?number={number}"
    return CrawlUrl(
        url=url, canonical=url, queue_key=f"test,h{number:02}-{owner}", via=f"http://a.test/{page}", depth=1
    )

"""retire, unretire, budget; the list of queues, and of what comes next in them"""

from collections.abc import Awaitable, Callable
from pathlib import Path

from crawler.control.replies import Changed, NextList, NextUrl, QueueForm, QueueList
from crawler.control.requests import InspectQueues, QueueOrder
from crawler.operate.actions.forms import queue_form
from crawler.operate.actions.slices import First, in_slices
from crawler.operate.refused import Refused
from crawler.operate.target import OperatedCrawl, queue_control, queue_reads
from crawler.status import host_of
from crawler.url.hosts import in_ascii
from frontier import CrawlUrl, QueueStatus

_ORDERS: dict[QueueOrder, Callable[[QueueStatus], tuple[float, str]]] = {
    "size": lambda queue: (-queue.size, queue.key),
    "wake": lambda queue: (queue.wake_at, queue.key),
    "errors": lambda queue: (-queue.health.error_streak, queue.key),
    "key": lambda queue: (0.0, queue.key),
}


async def retire(crawl: OperatedCrawl, host: str) -> Changed:
    return await _change_queues(crawl, host, queue_control(crawl).retire)


async def unretire(crawl: OperatedCrawl, host: str) -> Changed:
    return await _change_queues(crawl, host, queue_control(crawl).unretire)


async def set_budget(crawl: OperatedCrawl, host: str, cost: int | None) -> Changed:
    control = queue_control(crawl)
    return await _change_queues(crawl, host, lambda key: control.set_budget(key, cost))


async def _change_queues(crawl: OperatedCrawl, host: str, change: Callable[[str], Awaitable[None]]) -> Changed:
    """Change the queues of a host, which has several with frontier.parallel_queues. Queues that need no change are
    skipped; if none needs one, that is refused."""
    reads, path = queue_reads(crawl), crawl.directory.path
    keys = [queue.key for queue in await _queues_of(crawl, host)]
    changed: list[QueueForm] = []
    refusal = None
    for key in keys:
        try:
            await change(key)
        except ValueError as error:
            refusal = error
        else:
            queue = reads.queue(key)
            changed += [] if queue is None else [queue_form(queue)]
    if not changed:
        raise Refused(f"{path}: {refusal}; nothing was changed")
    return Changed(queues=changed)


async def _queues_of(crawl: OperatedCrawl, host: str) -> list[QueueStatus]:
    """The queues of a host. Raises `Refused` if there is none."""
    found = [queue async for queue in in_slices(queue_reads(crawl).queues()) if _is_of(host, queue.key)]
    if not found:
        raise Refused(no_queue(crawl.directory.path, host))
    return found


def no_queue(directory: Path, host: str) -> str:
    """The message that a crawl does not know a host."""
    return f"{directory} {_has_no_queue(host)} `onceover inspect {directory} queues` lists them"


def is_unknown(message: str, host: str) -> bool:
    """Whether a message is that of `no_queue`."""
    return _has_no_queue(host) in message


def _has_no_queue(host: str) -> str:
    return f"has no queue of {host};"


def _is_of(host: str, key: str) -> bool:
    """Whether HOST, as people or `inspect queues` write it, is the host of the queue."""
    return host == key or in_ascii(host).lower() in (shown := host_of(key), shown.partition("#")[0])


async def list_queues(crawl: OperatedCrawl, request: InspectQueues) -> QueueList:
    order, wanted = _ORDERS[request.sort], request.offset + request.limit
    best = First(wanted, order)
    async for queue in in_slices(queue_reads(crawl).queues()):
        if not queue.size or request.match not in host_of(queue.key) or (request.retired and queue.served):
            continue
        if request.after is None or order(queue) > request.after:
            best.add(queue)
    shown = best.items()[request.offset :]
    left = max(0, best.count - request.offset - len(shown))
    return QueueList(
        queues=[queue_form(queue) for queue in shown], ranks=[order(queue)[0] for queue in shown], left=left
    )


async def list_next(crawl: OperatedCrawl, host: str, limit: int) -> NextList:
    reads, queues = queue_reads(crawl), await _queues_of(crawl, host)
    urls: list[CrawlUrl] = []
    for queue in queues:
        urls += reads.next_urls(queue.key, limit=limit - len(urls)) if len(urls) < limit else []
    return NextList(urls=[_next_url(url) for url in urls], left=max(0, sum(each.size for each in queues) - len(urls)))


def _next_url(url: CrawlUrl) -> NextUrl:
    return NextUrl(
        url=url.url,
        canonical=url.canonical,
        queue=url.queue_key,
        precedence=url.precedence,
        depth=url.depth,
        attempt=url.attempt,
        via=url.via,
        kind=url.kind,
    )

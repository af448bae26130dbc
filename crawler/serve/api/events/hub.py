"""The events of a daemon, and who reads them."""

import asyncio
import secrets
import time
from collections import deque
from collections.abc import Callable, Mapping
from typing import Final

import msgspec

from crawler.control.replies import CrawlStatus
from crawler.page import rfc3339
from crawler.serve.api.forms import CrawlForm, CrawlList

MAX_CLIENTS: Final = 32
MAX_WAITING: Final = 256
"""Events that a client has not read."""
MAX_KEPT: Final = 1000
"""Changes of state for clients that come again."""

_encode = msgspec.json.Encoder().encode


class RemovedForm(msgspec.Struct, frozen=True, kw_only=True):
    """A crawl that is no longer on the list."""

    name: str


class RateForm(msgspec.Struct, frozen=True, kw_only=True):
    """How fast a crawl goes."""

    name: str
    at: str
    """When, in RFC 3339."""
    pages: int
    """Pages of this run."""
    pages_per_s: float
    """The rate of the last few seconds."""
    bytes_received: int
    """Bytes of this run."""
    discovered: int
    """URLs ever admitted, as all that follow."""
    queued: int
    finished: int
    """Done, failed or excluded."""
    failed: int
    in_process: int
    waiting: str | None
    """Why nothing happens; null while something does."""


class TooMany(Exception):
    """There are as many clients as there may be."""


class Client:
    """A client that reads events."""

    def __init__(self, first: bytes) -> None:
        self._waiting: deque[bytes] = deque([first])
        self._woken = asyncio.Event()
        self.is_dropped = False

    async def read(self) -> bytes:
        """The events that wait; empty at the end."""
        while not self._waiting and not self.is_dropped:
            self._woken.clear()
            await self._woken.wait()
        events = b"".join(self._waiting)
        self._waiting.clear()
        return events

    def tell(self, event: bytes) -> None:
        """Add an event. A client that leaves too many unread is dropped."""
        if len(self._waiting) >= MAX_WAITING:
            self.drop()
        elif not self.is_dropped:
            self._waiting.append(event)
            self._woken.set()

    def drop(self) -> None:
        """Tell it nothing more, not even what waits."""
        self.is_dropped = True
        self._waiting.clear()
        self._woken.set()


class Events:
    """The events of a daemon, and the clients that read them."""

    def __init__(self, list_crawls: Callable[[], CrawlList]) -> None:
        self._list_crawls = list_crawls
        # The ids of an earlier daemon mean nothing to this one.
        self._origin = secrets.token_hex(4)
        self._number = 0
        self._kept: deque[tuple[int, bytes]] = deque(maxlen=MAX_KEPT)
        self._known: dict[str, CrawlForm] = {}
        self._clients: set[Client] = set()
        self.has_clients = asyncio.Event()
        """Set while somebody reads."""
        self._is_closed = False

    def join(self, last_id: str | None) -> Client:
        """A new client. It first hears what has changed since an event that it has met, or else how all crawls are.
        Raises `TooMany`."""
        if self._is_closed or len(self._clients) >= MAX_CLIENTS:
            raise TooMany
        client = Client(self._since(last_id))
        self._clients.add(client)
        self.has_clients.set()
        return client

    def leave(self, client: Client) -> None:
        self._clients.discard(client)
        if not self._clients:
            self.has_clients.clear()

    def close(self) -> None:
        """Drop all clients."""
        self._is_closed = True
        for client in self._clients:
            client.drop()

    def notice(self, name: str, crawl: CrawlForm | None) -> None:
        """How a crawl is now; None if it is gone."""
        known = self._known.get(name)
        if crawl is None:
            if self._known.pop(name, None) is not None:
                self._tell_change("removed", RemovedForm(name=name))
            return
        self._known[name] = crawl
        if known is None or _state(known) != _state(crawl):
            self._tell_change("state", crawl)

    def tell_rates(self, statuses: Mapping[str, CrawlStatus]) -> None:
        """How fast crawls go that run."""
        for name, status in statuses.items():
            if (rate := rate_form(name, status)) is not None:
                self._tell(_event("rate", rate))

    def _tell_change(self, kind: str, form: msgspec.Struct) -> None:
        self._number += 1
        event = _event(kind, form, self._id())
        self._kept.append((self._number, event))
        self._tell(event)

    def _tell(self, event: bytes) -> None:
        for client in self._clients:
            client.tell(event)

    def _since(self, last_id: str | None) -> bytes:
        origin, _, number = (last_id or "").partition("-")
        oldest = self._kept[0][0] if self._kept else self._number + 1
        is_known = origin == self._origin and number.isascii() and number.isdecimal() and len(number) < 20
        if is_known and oldest - 1 <= int(number) <= self._number:
            return b"".join(event for each, event in self._kept if each > int(number))
        return _event("crawls", self._list_crawls(), self._id())

    def _id(self) -> str:
        return f"{self._origin}-{self._number}"


def _state(crawl: CrawlForm) -> tuple[object, ...]:
    """What is told when it changes. Why a running crawl waits changes too often."""
    reason = None if crawl.state == "running" else crawl.reason
    return crawl.state, reason, crawl.until, crawl.directory, crawl.pid, crawl.lines


def rate_form(name: str, status: CrawlStatus) -> RateForm | None:
    """How fast a crawl goes; None if it does not run."""
    run, frontier = status.run, status.frontier
    if run is None:
        return None
    return RateForm(
        name=name,
        at=rfc3339(time.time()),
        pages=run.pages,
        pages_per_s=run.recent_pages_per_s,
        bytes_received=run.bytes_received,
        discovered=frontier.admitted,
        queued=frontier.queued,
        finished=frontier.settled,
        failed=frontier.failed,
        in_process=frontier.in_process,
        waiting=run.waiting,
    )


def _event(kind: str, form: msgspec.Struct, number: str | None = None) -> bytes:
    head = b"" if number is None else b"id: %s\n" % number.encode()
    return b"%sevent: %s\ndata: %s\n\n" % (head, kind.encode(), _encode(form))

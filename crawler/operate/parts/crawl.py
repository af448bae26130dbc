"""A crawl in parts, as requests see it: its parts, and which of them a URL or a host belongs to.

A part is asked by its socket if it runs, else in its directory.
"""

import asyncio
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Protocol, TypeVar

import msgspec

from config import Loaded
from crawler.codes.exit_codes import FAILED, USAGE
from crawler.control.address import SocketRefused
from crawler.control.asking import open_channel
from crawler.control.client import ConnectionLost, NoAnswer
from crawler.control.process import LOOK_AGAIN_S, WAIT_S, why_stopped
from crawler.control.replies import Refusal
from crawler.control.requests import AnyRequest, Request, reply_type
from crawler.operate.actions.queues import is_unknown, no_queue
from crawler.operate.answers import answer
from crawler.operate.refused import Refused, reply_or_raise
from crawler.operate.stored import StoredCrawl
from crawler.parts.ownership import Ownership
from crawler.status import name_parts
from crawler.url.hosts import split_port, surt_host
from crawler.url.seeds import read_seed
from crawler.wiring.components import discovering

_Reply = TypeVar("_Reply", bound=msgspec.Struct)


class Member(Protocol):
    @property
    def directory(self) -> Path: ...

    @property
    def is_running(self) -> bool: ...

    async def ask(self, request: Request[_Reply], /, *, wait_s: float) -> _Reply | Refusal:
        """Wait for up to `wait_s` for a part that is being opened."""
        ...


class RunningPart:
    """A part that a process runs. Each request has a connection of its own, so the process may be another one by
    then."""

    is_running = True

    def __init__(self, directory: Path, pid: Callable[[], int | None] = lambda: None) -> None:
        """`pid` returns its process, if that is known."""
        self.directory = directory
        self._pid = pid

    async def ask(self, request: Request[_Reply], /, *, wait_s: float) -> _Reply | Refusal:
        give_up_at = time.monotonic() + wait_s
        while (reply := await self._ask(request)) is None:
            if (stopped := why_stopped(self._pid())) is not None:
                return Refusal(stopped, FAILED)
            if time.monotonic() >= give_up_at:
                return Refusal("it is being opened, or does not run at the moment; try again", FAILED)
            await asyncio.sleep(LOOK_AGAIN_S)
        return reply

    async def _ask(self, request: Request[_Reply]) -> _Reply | Refusal | None:
        """None if nobody listens."""
        try:
            async with open_channel(self.directory) as channel:
                return None if channel is None else await channel.ask(request)
        except ConnectionLost:
            return Refusal("it ended before it answered; try again", FAILED)
        except (NoAnswer, SocketRefused) as error:
            return Refusal(str(error), FAILED)
        except ValueError as error:
            return Refusal(f"this can't be sent to it: {error}")


class StoredPart:
    """A part that does not run, opened from its directory."""

    is_running = False

    def __init__(self, crawl: StoredCrawl) -> None:
        self._crawl = crawl
        self.directory = crawl.named

    async def ask(self, request: Request[_Reply], /, *, wait_s: float) -> _Reply | Refusal:
        expected = reply_type(request)
        assert isinstance(request, AnyRequest)
        reply = await answer(self._crawl, request)
        assert isinstance(reply, (expected, Refusal))
        return reply


class BrokenPart:
    is_running = False

    def __init__(self, directory: Path, why: str, exit_code: int) -> None:
        self.directory = directory
        self._refusal = Refusal(why, exit_code)

    async def ask(self, _request: Request[_Reply], /, *, wait_s: float) -> _Reply | Refusal:
        return self._refusal


class Parts:
    """All parts of a crawl, by number."""

    def __init__(self, parts: Mapping[int, Member]) -> None:
        self._parts = parts

    @property
    def numbers(self) -> list[int]:
        return list(self._parts)

    @property
    def is_running(self) -> bool:
        return bool(self.running)

    @property
    def running(self) -> list[Path]:
        """The directories of the parts that run."""
        return [part.directory for part in self._parts.values() if part.is_running]

    def directory(self, number: int) -> Path:
        return self._parts[number].directory

    async def try_one(self, number: int, request: Request[_Reply], *, wait_s: float = WAIT_S) -> _Reply | Refusal:
        """The reply of a part; a refusal names it. One that is being opened is waited for."""
        part = self._parts.get(number)
        if part is None:
            return Refusal(f"part {number} is on another machine: run this command there", FAILED)
        reply = await part.ask(request, wait_s=wait_s)
        if not isinstance(reply, Refusal):
            return reply
        place = "" if str(part.directory) in reply.message else f" ({part.directory})"
        return Refusal(f"part {number}{place}: {reply.message}", reply.exit_code)

    async def one(self, number: int, request: Request[_Reply]) -> _Reply:
        """The reply of a part. Raises `Refused`."""
        return reply_or_raise(await self.try_one(number, request))

    async def each(
        self, request: Request[_Reply], *, of: Iterable[int] | None = None, wait_s: float = WAIT_S
    ) -> dict[int, _Reply | Refusal]:
        """The replies of all parts, or of some, which are asked at the same time."""
        numbers = self.numbers if of is None else list(of)
        asked = (self.try_one(number, request, wait_s=wait_s) for number in numbers)
        return dict(zip(numbers, await asyncio.gather(*asked), strict=True))

    async def any(self, request: Request[_Reply]) -> dict[int, _Reply | Refusal]:
        """The replies of all parts. Waits only if none can tell. Raises `Refused` if none can in time."""
        replies = await self.each(request, wait_s=0.0)
        if not divide_replies(replies)[0]:
            replies = await self.each(request)
            if not divide_replies(replies)[0]:
                reply_or_raise(next(iter(replies.values())))
        return replies

    async def all(self, request: Request[_Reply]) -> dict[int, _Reply]:
        """The replies of all parts. Raises `Refused` if one of them refuses."""
        return {number: reply_or_raise(reply) for number, reply in (await self.each(request)).items()}


def divide_replies(replies: Mapping[int, _Reply | Refusal]) -> tuple[dict[int, _Reply], dict[int, Refusal]]:
    refusals = {number: reply for number, reply in replies.items() if isinstance(reply, Refusal)}
    return {number: reply for number, reply in replies.items() if not isinstance(reply, Refusal)}, refusals


class CrawlInParts:
    """All parts of a crawl. `pid` is the process that runs all of them, if any does. Of a crawl on many machines, these
    are the parts on this machine, and `division` is the number of all.

    To find an owner, it needs no version of the canonical rules: none of them changes the domain of a URL, in a crawl
    in parts."""

    def __init__(
        self, directory: Path, loaded: Loaded, parts: Parts, *, pid: int | None = None, division: int | None = None
    ) -> None:
        self.directory = directory
        self.loaded = loaded
        self.parts = parts
        self.pid = pid
        self._ownership = Ownership(len(parts.numbers) if division is None else division)
        self._urls = discovering.url_reader(loaded, max_length=discovering.ANY_LENGTH)
        self._has_prefixes = discovering.queue_prefixes(loaded.config) is not None

    def part_of(self, url: str) -> int:
        """The part of a URL as a person wrote it. Raises `ValueError` for one that can't be read."""
        return self._ownership.owner(read_seed(self._urls, url, called="URL")[0].queue_key)

    def parts_of_host(self, host: str) -> Sequence[int]:
        """The parts that may have queues of a host, as people or `inspect queues` write it: one, or all if queues are
        named by other places than hosts."""
        if self._has_prefixes:
            return range(self._ownership.parts)
        name, port = split_port(host.lower())
        return [self._ownership.owner((name if "," in name else surt_host(name)) + port)]


async def ask_of_host(crawl: CrawlInParts, host: str, request: Request[_Reply]) -> dict[int, _Reply]:
    """The replies of the parts that have queues of a host: of its owner, or of several if its queues are spread over
    them. Raises `Refused` if there is none, or one of them fails."""
    replies = await crawl.parts.each(request, of=crawl.parts_of_host(host))
    found, refusals = divide_replies(replies)
    if not found:
        if all(is_unknown(refusal.message, host) for refusal in refusals.values()):
            raise Refused(no_queue(crawl.directory, host))
        reply_or_raise(next(iter(refusals.values())))
    # Parts that have no queue of this host refuse, too.
    failed = [refusal.message for refusal in refusals.values() if refusal.exit_code != USAGE]
    if failed:
        raise Refused(f"{name_parts(found)} took this, but not all: {'; '.join(failed)}. Try again", FAILED)
    return found

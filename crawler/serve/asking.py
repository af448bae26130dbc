"""Asks a crawl, whether it runs or not, and never holds up the event loop.

A running crawl answers on its socket. For another one a process of its own opens the directory, because that takes
time and memory. Its replies are kept until somebody takes the lock of the crawl, without which nobody changes it.
"""

import asyncio
import time
from collections import OrderedDict
from pathlib import Path
from typing import Final, TypeVar
from weakref import WeakValueDictionary

import msgspec

from crawler.control.address import SocketRefused
from crawler.control.asking import open_channel
from crawler.control.client import ConnectionLost, NoAnswer
from crawler.control.replies import Refusal
from crawler.control.reply_types import READS
from crawler.control.requests import AnyRequest
from crawler.control.wire import encode_request
from crawler.disk.directory import CrawlDirectory, DirectoryRefused
from crawler.disk.layout import lock_changes
from crawler.serve.inspection import SILENCE_S, run_command

MOST_PROCESSES: Final = 2
MAX_KEPT: Final = 64
MAX_KEPT_BYTES: Final = 1 << 18
KEPT_S: Final = 60.0
"""How long a reply is kept: some say how long something lasts from now on."""
REFUSED: Final = 5
_FAILED: Final = 1

_Reply = TypeVar("_Reply", bound=msgspec.Struct)
_Locks = tuple[int | None, ...]


class Unanswered(Exception):
    """A request to a crawl was not carried out. The message says why, and what to do."""

    def __init__(self, message: str, exit_code: int | None) -> None:
        """`exit_code` is that of a command which asks the same; None if the crawl does not answer."""
        super().__init__(message)
        self.exit_code = exit_code


class _Kept(msgspec.Struct, frozen=True):
    """A reply of a crawl that does not run."""

    reply: msgspec.Struct
    locks: _Locks
    until: float


class Asker:
    """Asks crawls."""

    def __init__(self) -> None:
        self._processes = asyncio.Semaphore(MOST_PROCESSES)
        self._turns: WeakValueDictionary[Path, asyncio.Lock] = WeakValueDictionary()
        self._kept: OrderedDict[tuple[Path, bytes], _Kept] = OrderedDict()

    async def ask(self, directory: Path, request: AnyRequest, expected: type[_Reply]) -> _Reply:
        """The reply of the crawl in a directory. Raises `Unanswered`."""
        try:
            line = encode_request(request)
            reply = await self._ask_running(directory, request, expected)
            if reply is None:
                reply = await self._ask_stored(directory, request, line, expected)
        except (NoAnswer, SocketRefused) as error:
            raise Unanswered(str(error), None) from error
        except ConnectionLost as error:
            raise Unanswered("the crawl ended before it answered; try again", _FAILED) from error
        except (DirectoryRefused, ValueError) as error:
            raise Unanswered(str(error), REFUSED) from error
        if isinstance(reply, Refusal):
            raise Unanswered(reply.message, reply.exit_code)
        return reply

    async def _ask_running(
        self, directory: Path, request: AnyRequest, expected: type[_Reply]
    ) -> _Reply | Refusal | None:
        async with open_channel(directory, silence_s=SILENCE_S) as channel:
            return None if channel is None else await channel.ask(request, expected)

    async def _ask_stored(self, directory: Path, request: AnyRequest, line: bytes, expected: type[_Reply]) -> _Reply:
        """The reply of a crawl that does not run. Commands that open one directory would wait for each other."""
        if not CrawlDirectory(directory).lock.exists():
            raise Unanswered(f"the crawl in {directory} has not begun yet", REFUSED)
        turn = self._turns.setdefault(directory, asyncio.Lock())
        async with turn:
            kept = self._kept.get((directory, line))
            if kept is not None and kept.until > time.monotonic() and kept.locks == lock_changes(directory):
                assert isinstance(kept.reply, expected)
                return kept.reply
            async with self._processes:
                code, printed, complaint = await run_command("ask", str(directory), given=line)
        if code is None:
            raise Unanswered(f"the crawl in {directory} was not opened in time; try again", None)
        if code != 0:
            raise Unanswered(complaint or "the command failed", code)
        return self._keep(directory, request, line, printed, expected)

    def _keep(
        self, directory: Path, request: AnyRequest, line: bytes, printed: bytes, expected: type[_Reply]
    ) -> _Reply:
        replied, _, told = printed.partition(b"\n")
        reply = msgspec.json.decode(replied, type=expected)
        locks = msgspec.json.decode(told, type=_Locks | None)
        if locks is not None and isinstance(request, READS) and len(replied) <= MAX_KEPT_BYTES:
            self._kept.pop((directory, line), None)
            self._kept[directory, line] = _Kept(reply, locks, time.monotonic() + KEPT_S)
            while len(self._kept) > MAX_KEPT:
                self._kept.popitem(last=False)
        return reply

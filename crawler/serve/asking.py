"""Asks a crawl, whether it runs or not, and never holds up the event loop.

A running crawl answers on its socket. For another one a process of its own opens the directory, because that takes
time and memory. Its replies are kept until somebody takes the lock of the crawl to change it.

Some requests look at every queue. A running crawl answers them in slices, and goes on meanwhile, but at 100,000 hosts
each takes a third of a second of its processor. So if such a reply took long, it is kept for ten times as long: whoever
asks for it again and again, however many they are, takes a tenth of a processor at most.

A crawl makes a change later if it waits, as while its disk is full. Whoever asks for the change is then told so.
"""

import asyncio
import time
from collections import Counter, OrderedDict
from pathlib import Path
from typing import Final, TypeVar
from weakref import WeakValueDictionary

import msgspec

from crawler.codes.exit_codes import FAILED, REFUSED
from crawler.control.address import SocketRefused
from crawler.control.asking import open_channel
from crawler.control.client import ConnectionLost, NoAnswer
from crawler.control.replies import Refusal
from crawler.control.requests import InspectQueues, Query, Request, Top, reply_type
from crawler.control.wire import encode_request
from crawler.disk.directory import DirectoryRefused
from crawler.disk.unlocking import lock_changes
from crawler.serve.inspection import MOST_PROCESSES, run_command, unless_it_waits, why_not_begun

MAX_KEPT: Final = 64
MAX_KEPT_BYTES: Final = 1 << 18
KEPT_S: Final = 60.0
"""How long a reply is kept: some say how long something lasts from now on."""
SLOW_S: Final = 0.05
"""A reply of a running crawl that took longer is kept."""
KEPT_TIMES: Final = 10
MAX_KEPT_RUNNING_S: Final = 5.0

_Reply = TypeVar("_Reply", bound=msgspec.Struct)
_Locks = tuple[int | None, ...]


class Unanswered(Exception):
    """A request to a crawl was not carried out. The message says why, and what to do."""

    def __init__(self, message: str, exit_code: int | None) -> None:
        """`exit_code` is that of a command which asks the same; None if the crawl does not answer."""
        super().__init__(message)
        self.exit_code = exit_code


def check_begun(directory: Path) -> None:
    """Raise `Unanswered` if no process has ever run the crawl in a directory."""
    if (why := why_not_begun(directory)) is not None:
        raise Unanswered(why, REFUSED)


class _Kept(msgspec.Struct, frozen=True):
    """A reply that may be given again."""

    reply: msgspec.Struct
    locks: _Locks | None
    """For which it holds, of a crawl that does not run; None if the crawl runs."""
    until: float


def _looks_at_every_queue(request: Request[msgspec.Struct]) -> bool:
    match request:
        case InspectQueues():
            return True
        case Top(match=match, state=state):
            return bool(match or state)
    return False


class Asker:
    """Asks crawls."""

    def __init__(self) -> None:
        self._processes = asyncio.Semaphore(MOST_PROCESSES)
        self._turns: WeakValueDictionary[tuple[Path, bytes], asyncio.Lock] = WeakValueDictionary()
        self._changes: Counter[Path] = Counter()
        """How often each crawl was asked to change something."""
        self._kept: OrderedDict[tuple[Path, bytes], _Kept] = OrderedDict()

    async def ask(self, directory: Path, request: Request[_Reply]) -> _Reply:
        """The reply of the crawl in a directory. Raises `Unanswered`."""
        try:
            line = encode_request(request)
            reply = await self._ask(directory, request, line)
        except NoAnswer as error:
            raise Unanswered(str(error), None) from error
        except SocketRefused as error:
            raise Unanswered(str(error), FAILED) from error
        except ConnectionLost as error:
            raise Unanswered("the crawl ended before it answered; try again", FAILED) from error
        except (DirectoryRefused, ValueError) as error:
            raise Unanswered(str(error), REFUSED) from error
        if isinstance(reply, Refusal):
            raise Unanswered(reply.message, reply.exit_code)
        return reply

    async def _ask(self, directory: Path, request: Request[_Reply], line: bytes) -> _Reply | Refusal:
        expected = reply_type(request)
        if not isinstance(request, Query):
            try:
                return await self._ask_anew(directory, request, line)
            finally:
                self._changes[directory] += 1
                for key in [key for key, kept in self._kept.items() if key[0] == directory and kept.locks is None]:
                    del self._kept[key]
        if not _looks_at_every_queue(request):
            return await self._ask_anew(directory, request, line)
        # Who asks for the same at the same time gets the same reply.
        async with self._turns.setdefault((directory, line), asyncio.Lock()):
            kept = self._kept.get((directory, line))
            if kept is not None and kept.locks is None and kept.until > time.monotonic():
                assert isinstance(kept.reply, expected)
                return kept.reply
            return await self._ask_anew(directory, request, line)

    async def _ask_anew(self, directory: Path, request: Request[_Reply], line: bytes) -> _Reply | Refusal:
        began, changes = time.monotonic(), self._changes[directory]
        async with open_channel(directory) as channel:
            if channel is not None:
                reply = await channel.ask(request, on_working=unless_it_waits(directory, request))
                took_s = time.monotonic() - began
                is_newest = changes == self._changes[directory] and not isinstance(reply, Refusal)
                if is_newest and took_s > SLOW_S and _looks_at_every_queue(request):
                    until = time.monotonic() + min(KEPT_TIMES * took_s, MAX_KEPT_RUNNING_S)
                    self._keep((directory, line), _Kept(reply, None, until))
                return reply
        return await self._ask_stored(directory, request, line)

    async def _ask_stored(self, directory: Path, request: Request[_Reply], line: bytes) -> _Reply:
        """The reply of a crawl that does not run. Commands that open one directory would wait for each other."""
        check_begun(directory)
        async with self._turns.setdefault((directory, b""), asyncio.Lock()):
            kept = self._kept.get((directory, line))
            if kept is not None and kept.until > time.monotonic() and kept.locks == lock_changes(directory):
                assert isinstance(kept.reply, reply_type(request))
                return kept.reply
            async with self._processes:
                code, printed, complaint = await run_command("ask", str(directory), given=line)
        if code is None:
            raise Unanswered(f"the crawl in {directory} was not opened in time; try again", None)
        if code != 0:
            raise Unanswered(complaint, code)
        replied, _, told = printed.partition(b"\n")
        reply = msgspec.json.decode(replied, type=reply_type(request))
        locks = msgspec.json.decode(told, type=_Locks | None)
        if locks is not None and isinstance(request, Query) and len(replied) <= MAX_KEPT_BYTES:
            self._keep((directory, line), _Kept(reply, locks, time.monotonic() + KEPT_S))
        return reply

    def _keep(self, key: tuple[Path, bytes], kept: _Kept) -> None:
        self._kept.pop(key, None)
        self._kept[key] = kept
        while len(self._kept) > MAX_KEPT:
            self._kept.popitem(last=False)

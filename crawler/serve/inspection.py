"""Looks at a crawl: who runs it, what it says, and whether there is anything to do."""

import asyncio
import logging
import signal
import time
from collections.abc import Awaitable, Callable, Iterable
from pathlib import Path
from typing import Final

import msgspec

from crawler.codes.unreadable import UNREADABLE
from crawler.control.address import SocketRefused
from crawler.control.asking import open_channel
from crawler.control.client import ConnectionLost, NoAnswer
from crawler.control.replies import CrawlStatus, Reconfigured, Refusal
from crawler.control.requests import GetStatus, Pause, Query, Reload, Request, Resume
from crawler.disk.directory import CrawlDirectory
from crawler.disk.unlocking import lock_change
from crawler.serve.life.changes import Looked
from crawler.serve.life.endings import GONE, RUNS_GONE
from crawler.serve.life.facts import Facts
from crawler.serve.life.turns import Turns
from crawler.serve.process import command, environment, lock_holder
from crawler.wiring.parts import cores

log = logging.getLogger(__name__)

MOST_PROCESSES: Final = 2
"""The most processes of one kind at once."""
MOST_DELETIONS: Final = 2
"""The most old runs that are deleted at once: fewer than the threads that all crawls of a daemon need for the rest."""
MOST_STARTS: Final = 8
"""The most crawls that start at once, for each processor. The daemon notices within seconds that one has started."""
_LOOKING_S: Final = 120.0
"""A frontier that was not closed in order takes a while to open."""
WAITING_S: Final = 10.0
"""For so long a change may take in a crawl that waits."""
_AGAIN_S: Final = 5.0
_TRACEBACK: Final = "Traceback (most recent call last)"


class NotDone(Exception):
    """What was asked of a crawl was not done. The message says why."""


class CrawlWaits(NoAnswer):
    """A crawl waits, as while its disk is full, and makes a change when it goes on."""


def why_not_begun(directory: Path) -> str | None:
    """Why nothing can be asked of the crawl in a directory: no process has ever run it there, as far as the directory
    shows. One that was made of a copy has no lock."""
    crawl = CrawlDirectory(directory)
    has_begun = crawl.lock.exists() or crawl.configuration.exists()
    if has_begun:
        return None
    return f"there is no crawl in {directory}: it has not begun yet, or its directory was deleted"


def why_gone(facts: Facts, directory: str, *, runs: Iterable[Path]) -> str | None:
    """Why no crawl may begin in a directory, whose disk may not be mounted: the one that had begun there is gone, or
    all earlier `runs` of its schedule are, which were beside it. None if it may."""
    if (begun_in := facts.record.begun_in) is None:
        return None
    if directory == begun_in:
        return None if why_not_begun(Path(directory)) is None else GONE
    if facts.plan is None or facts.plan.next_tick is None or Path(begun_in).parent != Path(directory).parent:
        return None
    return None if any(why_not_begun(run) is None for run in runs) else RUNS_GONE


async def ask_status(directory: Path) -> CrawlStatus | None:
    """What the crawl in a directory says of itself; None if it does not run, or does not answer. Its `pid` is what the
    system says of the connection: the crawl may count its processes in a container of its own."""
    try:
        async with open_channel(directory) as channel:
            if channel is None or channel.pid is None:
                return None
            status = await channel.ask(GetStatus())
            return msgspec.structs.replace(status, pid=channel.pid) if isinstance(status, CrawlStatus) else None
    except (SocketRefused, NoAnswer, ConnectionLost, OSError):
        return None


def unless_it_waits(directory: Path, request: Request[msgspec.Struct]) -> Callable[[], Awaitable[None]]:
    """What to do each time that a crawl says that it works on a request. If it waits, and has worked on a change for
    long, this raises `CrawlWaits`: it may not end for days."""
    give_up_at = time.monotonic() + WAITING_S

    async def look() -> None:
        if isinstance(request, Query) or time.monotonic() < give_up_at:
            return
        status = await ask_status(directory)
        if status is not None and (why := status.waits) is not None:
            raise CrawlWaits(f"the crawl waits: {why}; it carries out the change when it goes on")

    return look


async def reload_settings(directory: Path) -> Reconfigured | Refusal | None:
    """Let the crawl in a directory read its configuration again; None if it does not run, or does not answer."""
    request = Reload()
    try:
        async with open_channel(directory) as channel:
            if channel is None:
                return None
            return await channel.ask(request, on_working=unless_it_waits(directory, request))
    except CrawlWaits as error:
        return Refusal(str(error))
    except (SocketRefused, NoAnswer, ConnectionLost, OSError):
        return None


async def _change_running(directory: Path, request: Request[msgspec.Struct]) -> bool:
    """Let the crawl in a directory make a change. Returns False if it does not run. Raises `NotDone`, and
    `CrawlWaits`."""
    try:
        async with open_channel(directory) as channel:
            if channel is None:
                return False
            reply = await channel.ask(request, on_working=unless_it_waits(directory, request))
    except CrawlWaits:
        raise
    except ConnectionLost as error:
        raise NotDone("the crawl ended before it answered; try again") from error
    except (SocketRefused, NoAnswer) as error:
        raise NotDone(str(error)) from error
    if isinstance(reply, Refusal):
        raise NotDone(reply.message)
    return True


async def find_process(directory: Path) -> tuple[int, bool, CrawlStatus | None] | None:
    """The process that runs the crawl in a directory, or works on it, whether it is surely a command, and what it says;
    None if there is none. A crawl that is being opened has the lock, but does not listen yet."""
    status = await ask_status(directory)
    if status is not None and status.pid is not None:
        return status.pid, False, status
    holder = lock_holder(directory)
    return None if holder is None else (*holder, None)


class _Frontier(msgspec.Struct):
    pending: int
    retrying: int


class _Status(msgspec.Struct):
    """What `onceover status --json` prints, as far as it is of interest."""

    paused: str | None
    frontier: _Frontier


class Commands:
    """Runs commands for the crawls of a daemon, few at once, because each takes the memory of a process. Those that
    people wait for do not wait for looks."""

    def __init__(self) -> None:
        self._looks = asyncio.Semaphore(MOST_PROCESSES)
        self._operations = asyncio.Semaphore(MOST_PROCESSES)
        self.deletions = asyncio.Semaphore(MOST_DELETIONS)
        self.starts = Turns(MOST_STARTS * cores())

    async def look_into(self, directory: Path) -> Looked:
        """What is stored of a crawl that does not run. Another process looks, because opening a frontier takes memory
        and may hold up the daemon. If the system can start none now, it is tried again."""
        while True:
            try:
                async with self._looks:
                    _, printed, _ = await run_command("status", str(directory), "--json")
                status = msgspec.json.decode(printed, type=_Status)
            except OSError as error:
                log.warning("no process can look into %s now: %s", directory, error)
                await asyncio.sleep(_AGAIN_S)
            except UNREADABLE:
                return Looked()
            else:
                return Looked(paused=status.paused, waiting_urls=status.frontier.pending + status.frontier.retrying)

    async def operate(self, directory: Path, request: Pause | Resume) -> None:
        """Pause a crawl or end its pause, whether it runs or not. Raises `NotDone`, and `CrawlWaits`."""
        if await _change_running(directory, request):
            return
        if (why := why_not_begun(directory)) is not None:
            raise NotDone(why)
        command = ("pause", f"--reason={request.reason}") if isinstance(request, Pause) else ("resume",)
        async with self._operations:
            code, _, complaint = await run_command(*command, str(directory))
        if code != 0:
            raise NotDone(complaint)


async def run_command(
    *arguments: str, given: bytes = b"", within_s: float = _LOOKING_S
) -> tuple[int | None, bytes, str]:
    """Run a command that reads what is `given`: its exit code, what it prints, and why it failed. None as its exit code
    if it took too long; negative for a signal."""
    process = await asyncio.create_subprocess_exec(
        *command(*arguments),
        env=environment(),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        start_new_session=True,
    )
    try:
        async with asyncio.timeout(within_s):
            printed, complaint = await process.communicate(given)
    except TimeoutError:
        return None, b"", f"`onceover {arguments[0]}` took longer than {within_s:.0f} s"
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    assert process.returncode is not None
    return process.returncode, printed, _why(arguments, process.returncode, complaint)


def _why(arguments: tuple[str, ...], code: int, complaint: bytes) -> str:
    """Why a command failed, in a line: what it complains of, unless it has crashed."""
    text = complaint.decode("utf-8", "replace").strip()
    if code >= 0 and text and _TRACEBACK not in text:
        return text.removeprefix("onceover: ")
    if code == 0:
        return ""
    how = f"exit code {code}" if code >= 0 else f"signal {-code}, {signal.strsignal(-code)}"
    log.error("`onceover %s` ended with %s: %s", " ".join(arguments), how, text or "it said nothing")
    return f"`onceover {arguments[0]}` ended with {how}; the log of the daemon says more"


def last_change(directory: Path, *, upto_ns: int | None = None) -> int | None:
    """Changes whenever a process takes or leaves the lock of a crawl directory, to change the crawl. With `upto_ns`,
    None if one has done so later than at that time."""
    changed_ns = lock_change(directory)
    return None if changed_ns is None or (upto_ns is not None and changed_ns > upto_ns) else changed_ns

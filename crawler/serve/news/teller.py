"""Notices changes of the states of crawls, and has a program told of them."""

import asyncio
import logging
import time
from collections import deque
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

import msgspec

from crawler.codes.unreadable import UNREADABLE
from crawler.files.replacing import replace_file
from crawler.serve.daemon import Daemon
from crawler.serve.keeper import Keeper
from crawler.serve.life.news import News, is_news, lasting_state, news_of
from crawler.serve.life.summary import State
from crawler.serve.news.program import Program

log = logging.getLogger(__name__)

MAX_WAITING: Final = 16
"""Events of a crawl that the program was not yet told of."""
_MAX_RUNNING: Final = 8
"""Programs for different crawls."""
CLOSING_S: Final = 5.0
"""For so long the end of the daemon waits for programs."""

_encode = msgspec.json.encode


class Teller:
    """Tells the program of each change of state: of one crawl in order, one at a time."""

    def __init__(self, program: Program, keepers: Mapping[str, Keeper], stored: Path, group: asyncio.TaskGroup) -> None:
        """`stored`: the file that says what was told last of each crawl."""
        self._program, self._keepers, self._stored, self._group = program, keepers, stored, group
        self._told = _load(stored)
        self._known = dict(self._told)
        """The last state of each crawl that was told or will be."""
        self._waiting: dict[str, deque[News]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._turns = asyncio.Semaphore(_MAX_RUNNING)
        self._storing = asyncio.Lock()

    def notice(self, name: str) -> None:
        """A crawl may have changed."""
        keeper = self._keepers.get(name)
        if keeper is None:
            self._known.pop(name, None)
            return
        old_state = self._known.get(name)
        state = lasting_state(keeper.facts, old_state)
        if state is None:
            return
        self._known[name] = state
        if is_news(state, old_state):
            self._add(news_of(name, keeper.facts, old_state, time.time()))

    def _add(self, news: News) -> None:
        waiting = self._waiting.get(news.crawl)
        if waiting is None:
            waiting = self._waiting[news.crawl] = deque()
            task = self._group.create_task(self._tell_all(news.crawl, waiting))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        if len(waiting) >= MAX_WAITING:
            dropped = waiting.popleft()
            _warn(news.crawl, f"{MAX_WAITING} events wait for {self._program.path}; {dropped.state} is not told")
        waiting.append(news)

    async def _tell_all(self, name: str, waiting: deque[News]) -> None:
        while waiting:
            async with self._turns:
                news = waiting.popleft()
                await self._tell(news)
            await self._store(name, news.state)
        del self._waiting[name]

    async def _tell(self, news: News) -> None:
        try:
            failure = await self._program.run(_encode(news) + b"\n")
        except OSError as error:
            failure = f"can't be started: {error.strerror or error}"
        if failure is not None:
            _warn(news.crawl, f"for its state {news.state}, {self._program.path} {failure}")

    async def _store(self, name: str, state: State) -> None:
        async with self._storing:
            self._told = {each: told for each, told in self._told.items() if each in self._keepers} | {name: state}
            try:
                await asyncio.to_thread(replace_file, self._stored, msgspec.json.format(_encode(self._told)))
            except OSError as error:
                _warn(name, f"that {state} was told can't be stored now: {error.strerror or error}")

    async def close(self, within_s: float) -> None:
        """Let what waits be told, but not for longer."""
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=within_s)
        for name in self._waiting:
            _warn(name, f"the daemon ends and waits no longer for {self._program.path}; the next one tells again")
        for task in self._tasks:
            task.cancel()


def _load(stored: Path) -> dict[str, State]:
    try:
        return msgspec.json.decode(stored.read_bytes(), type=dict[str, State])
    except FileNotFoundError:
        return {}
    except (OSError, *UNREADABLE) as error:
        log.warning("%s can't be read, so some states of crawls may be told again: %s", stored, error)
        return {}


def _warn(name: str, text: str) -> None:
    log.warning("%s: %s", name, text, extra={"crawl": name})


@asynccontextmanager
async def telling_operator(
    daemon: Daemon, stored: Path, program: Path | None, *, closing_s: float = CLOSING_S
) -> AsyncIterator[None]:
    """Tell the program at this absolute path, if there is one, what becomes of the crawls while the context lasts."""
    if program is None:
        yield
        return
    async with asyncio.TaskGroup() as group:
        teller = Teller(Program(path=program, folder=daemon.home), daemon.keepers, stored, group)
        daemon.watchers.append(teller.notice)
        try:
            yield
        finally:
            daemon.watchers.remove(teller.notice)
            await teller.close(closing_s)

"""Changes that are made as soon as the store takes them, and what ends a crawl.

A change is first written, then made in memory. A store that has no room takes nothing of it: the change waits, is
worked out anew when there is room, and nothing else is leased meanwhile.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TypeVar

from frontier.store import Store
from frontier.transitions.active_queues import ActiveQueues
from frontier.transitions.uncancellable import Failing
from frontier.values import StoreFailed, StoreFull
from visited import DiskFull

log = logging.getLogger(__name__)

_Result = TypeVar("_Result")

LOOK_FOR_ROOM_S = 2.0
"""Between two looks at a disk that was full. Nothing tells when there is room again."""


class Commit:
    """Whether changes can be made, and how they wait for it."""

    def __init__(self, store: Store, serving: ActiveQueues) -> None:
        self._store = store
        self._serving = serving
        self._room: asyncio.Event | None = None
        self._lacks = False
        """Whether it was told what is missing."""
        self._is_asking = False
        """The visited set, again and again, until it has room to answer."""
        self._stopping = asyncio.Event()
        self.stopped = False
        self.closed = False
        self.failure: BaseException | None = None
        self.failing = Failing(self.fail)

    async def made(self, change: Callable[[], _Result], *, must: bool = False) -> _Result:
        """Make a change, as soon as the store has room for it. One that `must` be made ends the crawl if it is not."""
        while True:
            self.check_failure()
            try:
                return change()
            except StoreFull as error:
                try:
                    await self.wait_for_room(error)
                except StoreFull as given_up:
                    if must:
                        self.fail(given_up)
                    raise
            except BaseException as error:
                self.failing.ended_by(error)
                raise

    async def answered(self, ask: Callable[[], Awaitable[_Result]]) -> _Result:
        """What the visited set answers, as soon as it has the room to. Raises `StoreFull` if the crawl is stopped
        meanwhile; the set has not changed then."""
        try:
            return await ask()
        except DiskFull as error:
            full = StoreFull(str(error))
        log.error("%s; the crawl waits for room", full)
        self._serving.hold(f"no room on the disk: {full}", by="visited set")
        self._is_asking = True
        try:
            while True:
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._stopping.wait(), LOOK_FOR_ROOM_S)
                if self.stopped:
                    raise full
                with suppress(DiskFull):
                    answer = await ask()
                    log.warning("there is room for the visited set again; the crawl goes on")
                    return answer
        finally:
            self._is_asking = False
            self._serving.let_go(by="visited set")

    async def wait_for_room(self, error: StoreFull) -> None:
        """Raises the error if the crawl is stopped meanwhile."""
        room = self.find_room(error)
        if not self.stopped:
            await room.wait()
        if self.stopped:
            raise error

    def find_room(self, error: StoreFull) -> asyncio.Event:
        if self._room is None:
            log.error("%s; the crawl waits for room", error)
            self._room = asyncio.Event()
            self._lacks = False
            self._serving.hold(f"no room on the disk: {error}", by="disk")
            asyncio.get_running_loop().call_later(LOOK_FOR_ROOM_S, self._look_for_room)
        return self._room

    def give_up_room(self) -> None:
        """Somebody does not wait any longer for what must be made whole: if it waits for room, the crawl ends."""
        if self._room is not None or self._is_asking:
            self.fail(StoreFull("a change was given up while it waited for room on the disk"))

    def _look_for_room(self) -> None:
        if self._room is None or self.closed:
            return
        try:
            with self.failing:
                self._store.mend()
        except StoreFull as error:
            if not self._lacks:
                log.warning("%s", error)
            self._lacks = True
            self._serving.hold(f"no room on the disk: {error}", by="disk")  # there may be some, but too little
            asyncio.get_running_loop().call_later(LOOK_FOR_ROOM_S, self._look_for_room)
            return
        except StoreFailed:
            pass  # has ended the crawl
        else:
            log.warning("there is room on the disk again; the crawl goes on")
        self._room.set()
        self._room = None
        self._serving.let_go(by="disk")

    async def synced(self) -> None:
        """Returns when all changes so far are as safe as they are to be; waits for room if it takes some."""
        while True:
            try:
                return await self._store.synced()
            except StoreFull as error:
                try:
                    await self.wait_for_room(error)
                except StoreFull as given_up:
                    self.fail(given_up)
                    raise
            except StoreFailed as error:
                self.fail(error)
                raise

    def stop(self) -> None:
        self.stopped = True
        self._stopping.set()
        if self._room is not None:
            self._room.set()
        self._serving.waiters.wake_all()

    def fail(self, error: BaseException) -> None:
        self.failure = self.failure or error
        self.stop()

    def check(self) -> None:
        self.check_failure()
        if self.closed:
            raise StoreFailed("the frontier is closed")

    def check_failure(self) -> None:
        if self.failure is not None:
            raise StoreFailed(
                "the frontier stopped because an earlier change failed; nothing that was settled is lost: "
                f"mend the cause and start the crawl again. The cause: {self.failure}"
            ) from self.failure

"""Commits changes as soon as the store accepts them, and ends the crawl when the store fails.

A change is first written to the store, then made in memory. When the disk is full, the store accepts nothing: the
change waits and is computed again when there is space. Nothing is leased meanwhile.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from typing import NoReturn, TypeVar

from frontier.pauses import Pauses
from frontier.store import Store
from frontier.transitions.active.waiters import Waiters
from frontier.transitions.uncancellable import FailOnError
from frontier.values import StoreFailed, StoreFull
from visited import DiskFull

log = logging.getLogger(__name__)

_Result = TypeVar("_Result")

SPACE_CHECK_S = 2.0
"""Between two looks at a full disk. The system does not report when there is space again."""


class Commit:
    """Whether changes can be made, and how they wait for disk space."""

    def __init__(self, store: Store, pauses: Pauses, waiters: Waiters) -> None:
        self._store = store
        self.needs_sync = store.needs_sync
        """Whether `sync` has anything to do: each page would pay for two calls that do nothing."""
        self._pauses = pauses
        self._waiters = waiters
        self._space: asyncio.Event | None = None
        """Set when there is space again; None while there is."""
        self._has_warned = False
        """Whether the log says how much space is needed."""
        self._is_asking_visited = False
        """Whether the visited set is being asked again and again, until it answers."""
        self._stopping = asyncio.Event()
        self.stopped = False
        self.closed = False
        self.failure: BaseException | None = None
        """Why no change can be made any more; None while changes can be made."""
        self.fail_on_error = FailOnError(self.fail)

    async def run(self, change: Callable[[], _Result], *, is_required: bool = False) -> _Result:
        """Make a change as soon as the disk has space for it. If a required change is given up, the crawl ends."""
        while True:
            if self.failure is not None:
                self.raise_failure()
            try:
                return change()
            except StoreFull as error:
                try:
                    await self.wait_for_space(error)
                except StoreFull as given_up:
                    if is_required:
                        self.fail(given_up)
                    raise
            except BaseException as error:
                self.fail_on_error.handle(error)
                raise

    async def ask_visited(self, ask: Callable[[], Awaitable[_Result]]) -> _Result:
        """The visited set's answer, as soon as it has the disk space to answer. Raises `StoreFull` if the crawl is
        stopped meanwhile; then the set has not changed.

        Any other error ends the crawl. The visited set may then have URLs that the ledger lacks, so it must not be
        asked again. The next opening rebuilds it from what is durable.
        """
        self.check()
        try:
            return await ask()
        except DiskFull as error:
            full = StoreFull(str(error))
        except BaseException as error:
            self.fail_on_error.handle(error)
            raise
        with self.fail_on_error:
            return await self._ask_again(ask, full)

    async def _ask_again(self, ask: Callable[[], Awaitable[_Result]], full: StoreFull) -> _Result:
        """Ask the visited set until it has the disk space to answer."""
        with self.waiting_for_visited() as wait:
            while True:
                await wait(f"the disk is full: {full}", SPACE_CHECK_S)
                with suppress(DiskFull):
                    return await ask()

    @contextmanager
    def waiting_for_visited(self) -> Iterator[Callable[[str, float], Awaitable[None]]]:
        """Gives what waits for so many seconds, because of a reason. The crawl pauses from the first wait to the end
        of the block. Waiting raises `StoreFull` if the crawl is stopped."""

        async def wait(reason: str, seconds: float) -> None:
            if not self._is_asking_visited:
                log.error("%s; the crawl waits", reason)
            self._pauses.pause(reason, by="visited set")
            self._is_asking_visited = True
            with suppress(TimeoutError):
                await asyncio.wait_for(self._stopping.wait(), seconds)
            if self.stopped:
                raise StoreFull(reason)

        has_answered = False
        try:
            yield wait
            has_answered = True
        finally:
            if self._is_asking_visited:
                self._is_asking_visited = False
                self._pauses.resume(by="visited set")
                if has_answered and not self.stopped:
                    log.warning("the visited set answers again; the crawl goes on")

    async def wait_for_space(self, error: StoreFull) -> None:
        """Wait until there is space again. Raises the error if the crawl is stopped meanwhile."""
        space = self.watch_space(error)
        if not self.stopped:
            await space.wait()
        if self.stopped:
            raise error

    def watch_space(self, error: StoreFull) -> asyncio.Event:
        """Pause the crawl until there is space again. Returns the event that is set then."""
        if self._space is None:
            log.error("%s; the crawl waits for disk space", error)
            self._space = asyncio.Event()
            self._has_warned = False
            self._pause_for_space(error)
        return self._space

    def _pause_for_space(self, error: StoreFull) -> None:
        self._pauses.pause(f"the disk is full: {error}", by="disk")
        asyncio.get_running_loop().call_later(SPACE_CHECK_S, self._check_space)

    def give_up_waiting(self) -> None:
        """A caller of a required change was cancelled. If the change waits, the crawl ends."""
        if self._space is not None or self._is_asking_visited:
            self.give_up()

    def give_up(self) -> None:
        """A required change was cancelled while it waited, and is left half done: the crawl ends."""
        self.fail(StoreFull("a change was cancelled while it waited"))

    def _check_space(self) -> None:
        if self._space is None or self.closed:
            return
        try:
            with self.fail_on_error:
                self._store.resume()
        except StoreFull as error:
            if not self._has_warned:
                log.warning("%s", error)
            self._has_warned = True
            self._pause_for_space(error)  # anew, because some space may be free, but too little
            return
        except StoreFailed:
            pass  # has ended the crawl
        else:
            log.warning("there is disk space again; the crawl goes on")
        self._space.set()
        self._space = None
        self._pauses.resume(by="disk")

    async def sync(self, *, whatever_durability: bool = False) -> None:
        """Wait until all changes so far are as safe as the store was asked to make them; or on the disk,
        `whatever_durability` it has."""
        while True:
            try:
                return await (self._store.make_safe() if whatever_durability else self._store.sync())
            except StoreFull as error:
                try:
                    await self.wait_for_space(error)
                except StoreFull as given_up:
                    self.fail(given_up)
                    raise
            except StoreFailed as error:
                self.fail(error)
                raise

    def stop(self) -> None:
        self.stopped = True
        self._stopping.set()
        if self._space is not None:
            self._space.set()
        self._waiters.wake_all()

    def fail(self, error: BaseException) -> None:
        """End the crawl because of an error."""
        self.failure = self.failure or error
        self.stop()

    def check(self) -> None:
        """Raise `StoreFailed` if no change can be made any more."""
        if self.failure is not None:
            self.raise_failure()
        if self.closed:
            raise StoreFailed("the frontier is closed")

    def raise_failure(self) -> NoReturn:
        """Raise `StoreFailed` because of the `failure`, of which there is one."""
        cause = str(self.failure) or type(self.failure).__name__
        raise StoreFailed(
            "the frontier stopped because an earlier change failed; everything settled before is safe: "
            f"remove the cause and start the crawl again. The cause: {cause}"
        ) from self.failure

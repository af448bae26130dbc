"""Event loops for tests: one as usual, and one in which waiting takes no time.

A test that is a coroutine runs in a loop of its own. So the suites need no plug-in of pytest for asyncio, and run under
any of them, in any mode.
"""

import asyncio
import functools
import selectors
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Executor
from typing import Any, ParamSpec, TypeVar

_Given = ParamSpec("_Given")
_Result = TypeVar("_Result")
_Event = tuple[selectors.SelectorKey, int]
_Test = Callable[_Given, Coroutine[None, None, None]]

DEADLOCK_S = 30.0
"""Real seconds without any event or timer, after which nothing is going to happen any more."""
LAST_TURNS = 10
"""Turns of the loop in which a task may end that was cancelled, or whose transport was closed."""


class _Selector(selectors.DefaultSelector):
    def __init__(self) -> None:
        super().__init__()
        self.time_s = 0.0
        self.threads = 0
        """Jobs in threads, for which time can't be skipped."""
        self._other_threads = set(threading.enumerate())

    def select(self, timeout: float | None = None) -> list[_Event]:
        events = super().select(0)
        if events or (timeout is not None and timeout <= 0):
            return events
        if timeout is not None and self.threads == 0:
            self.time_s += timeout
            return []
        events = super().select(DEADLOCK_S if self._may_be_woken() else 0)
        assert events, "every task waits for something that will not happen"
        return events

    def _may_be_woken(self) -> bool:
        """Whether a thread or a socket may end the wait. The loop's own socket is always there."""
        return len(self.get_map()) > 1 or not self._other_threads.issuperset(threading.enumerate())


class VirtualTimeLoop(asyncio.SelectorEventLoop):
    """An event loop that begins at 0 seconds. When no task can run, its clock goes to the next timer at once.

    It lets a thread take its time if the thread was started by `run_in_executor` or `asyncio.to_thread`.
    """

    def __init__(self) -> None:
        self._time = _Selector()
        super().__init__(self._time)

    def time(self) -> float:
        return self._time.time_s

    def run_in_executor(  # type: ignore[override]
        self, executor: Executor | None, func: Callable[..., Any], *args: Any
    ) -> asyncio.Future[Any]:
        future = super().run_in_executor(executor, func, *args)
        self._time.threads += 1
        future.add_done_callback(self._end_thread)
        return future

    async def shutdown_default_executor(self, timeout: float | None = None) -> None:  # noqa: ASYNC109
        """Threads end in their own time: from Python 3.12 on, a limit would have passed at once."""
        await super().shutdown_default_executor()

    def _end_thread(self, _: object) -> None:
        self._time.threads -= 1


def in_virtual_time(test: _Test[_Given]) -> Callable[_Given, None]:
    """Make a test of a coroutine. Waiting takes no time in it, and it must leave no task."""
    return _run_in(VirtualTimeLoop, test)


def in_event_loop(test: _Test[_Given]) -> Callable[_Given, None]:
    """Make a test of a coroutine, which must leave no task."""
    return _run_in(None, test)


def run_in_virtual_time(work: Coroutine[None, None, _Result]) -> _Result:
    """The result of a coroutine, in which waiting takes no time."""
    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        return runner.run(_run_alone(work))


def _run_in(
    loop_factory: Callable[[], asyncio.AbstractEventLoop] | None, test: _Test[_Given]
) -> Callable[_Given, None]:
    @functools.wraps(test)
    def run(*args: _Given.args, **kwargs: _Given.kwargs) -> None:
        with asyncio.Runner(loop_factory=loop_factory) as runner:
            runner.run(_run_alone(test(*args, **kwargs)))

    return run


async def _run_alone(work: Coroutine[None, None, _Result]) -> _Result:
    result = await work
    for _ in range(LAST_TURNS):
        if len(asyncio.all_tasks()) == 1:
            return result
        await asyncio.sleep(0)
    tasks = asyncio.all_tasks() - {asyncio.current_task()}
    assert not tasks, f"tasks left behind: {sorted(str(task.get_coro()) for task in tasks)}"
    return result

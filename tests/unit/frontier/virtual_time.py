"""An event loop in which waiting takes no time: where nothing is ready, its clock goes to the next timer at once."""

import asyncio
import functools
import selectors
from collections.abc import Callable, Coroutine
from concurrent.futures import Executor
from typing import Any, ParamSpec

_Given = ParamSpec("_Given")
_Event = tuple[selectors.SelectorKey, int]

DEADLOCK_S = 30.0
"""Real seconds without any event or timer, after which nothing is going to happen any more."""


class _Selector(selectors.DefaultSelector):
    def __init__(self) -> None:
        super().__init__()
        self.passed_s = 0.0
        self.threads = 0
        """Jobs in threads, for which time can't be skipped."""

    def select(self, timeout: float | None = None) -> list[_Event]:
        events = super().select(0)
        if events or (timeout is not None and timeout <= 0):
            return events
        if timeout is not None and self.threads == 0:
            self.passed_s += timeout
            return []
        events = super().select(DEADLOCK_S)
        assert events, "every task waits for something that will not happen"
        return events


class VirtualTimeLoop(asyncio.SelectorEventLoop):
    """Begins at 0 seconds."""

    def __init__(self) -> None:
        self._passing = _Selector()
        super().__init__(self._passing)

    def time(self) -> float:
        return self._passing.passed_s

    def run_in_executor(  # type: ignore[override]
        self, executor: Executor | None, func: Callable[..., Any], *args: Any
    ) -> asyncio.Future[Any]:
        future = super().run_in_executor(executor, func, *args)
        self._passing.threads += 1
        future.add_done_callback(self._thread_ended)
        return future

    async def shutdown_default_executor(self, timeout: float | None = None) -> None:  # noqa: ASYNC109
        """Threads end in their own time: from Python 3.12 on, a limit would have passed at once."""
        await super().shutdown_default_executor()

    def _thread_ended(self, _: object) -> None:
        self._passing.threads -= 1


def in_virtual_time(test: Callable[_Given, Coroutine[None, None, None]]) -> Callable[_Given, None]:
    """Make a test of a coroutine, which must leave no task."""

    @functools.wraps(test)
    def run(*args: _Given.args, **kwargs: _Given.kwargs) -> None:
        async def alone() -> None:
            await test(*args, **kwargs)
            left = asyncio.all_tasks() - {asyncio.current_task()}
            assert not left, f"tasks left behind: {left}"

        with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
            runner.run(alone())

    return run

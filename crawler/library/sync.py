"""A crawl for programs without an event loop."""

import asyncio
import atexit
import threading
from collections.abc import Callable, Coroutine, Iterable, Iterator
from concurrent.futures import Future
from contextlib import suppress
from functools import wraps
from pathlib import Path
from types import TracebackType
from typing import Any, Final, ParamSpec, Self, TypeVar

from config import Config
from crawler.library.crawl import Crawl
from crawler.library.handout import ASKER
from crawler.library.page import CrawledPage
from crawler.library.result import CrawlResult
from crawler.status import Status

_Parameters = ParamSpec("_Parameters")
_Result = TypeVar("_Result")

_NOT_OPEN: Final = "the crawl is not open: use it within `with`"


class SyncCrawl:
    """A `Crawl` whose event loop runs in a thread of its own, so fetching goes on while the program works.

        for page in crawl_sync("site.toml"):
            print(page.url, page.title)

    or, to steer the crawl and to see how it ended, as a context:

        with crawl_sync("site.toml") as crawl:
            for page in crawl:
                crawl.add(...)
        print(crawl.result.ending)

    Turns are those of `Crawl`. Several threads may iterate at once. Ctrl-C raises `KeyboardInterrupt` in the main
    thread as usual; leaving the loop or the context then stops the crawl in order, and another Ctrl-C stops it at once.
    A program that ends while the crawl is open leaves it as a crash does.
    """

    def __init__(self, crawl: Crawl) -> None:
        self._crawl = crawl
        self._loop: _LoopThread | None = None

    def __enter__(self) -> Self:
        loop = _LoopThread()
        try:
            loop.run(self._crawl.open())
        except BaseException:
            loop.end()
            raise
        self._loop = loop
        atexit.register(self._halt)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        loop, self._loop = self._loop, None
        if loop is None:
            return
        atexit.unregister(self._halt)
        if loop.is_here:
            # The garbage collector frees an iterator in any thread. This one can't wait for itself.
            threading.Thread(target=self._close, args=(loop, kind, error, trace), name="onceover-end").start()
        else:
            self._close(loop, kind, error, trace)

    def _close(
        self,
        loop: "_LoopThread",
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            loop.run(self._crawl.__aexit__(kind, error, trace))
        finally:
            loop.end()

    def _halt(self) -> None:
        """The program ends, and has not closed the crawl."""
        loop, self._loop = self._loop, None
        if loop is not None:
            loop.halt()

    def __iter__(self) -> Iterator[CrawledPage]:
        if self._loop is None:
            with self:
                yield from self._pages(self._running)
        else:
            yield from self._pages(self._loop)

    def _pages(self, loop: "_LoopThread") -> Iterator[CrawledPage]:
        pages = loop.call(self._crawl.__aiter__)
        while not loop.has_ended and (page := loop.run(_next(pages, threading.current_thread()))) is not None:
            yield page

    def run(self) -> CrawlResult:
        """Crawl to the end without handing out pages."""
        if self._loop is not None:
            return self._loop.run(self._crawl.run())
        with self:
            return self._running.run(self._crawl.run())

    def add(self, urls: str | Iterable[str], *, force: bool = False) -> int:
        """As `Crawl.add`."""
        return self._running.run(self._crawl.add(urls, force=force))

    def pause(self, reason: str = "by the program") -> None:
        """As `Crawl.pause`."""
        self._running.call(lambda: self._crawl.pause(reason))

    def resume(self) -> None:
        """As `Crawl.resume`."""
        self._running.call(self._crawl.resume)

    def stop(self, *, at_once: bool = False) -> None:
        """As `Crawl.stop`."""
        self._running.call(lambda: self._crawl.stop(at_once=at_once))

    def status(self) -> Status:
        """As `Crawl.status`."""
        return self._crawl.status() if self._loop is None else self._loop.call(self._crawl.status)

    @property
    def result(self) -> CrawlResult:
        """As `Crawl.result`."""
        return self._crawl.result

    @property
    def config(self) -> Config:
        return self._crawl.config

    @property
    def directory(self) -> Path:
        """Where state and output are."""
        return self._crawl.directory

    @property
    def _running(self) -> "_LoopThread":
        if self._loop is None:
            raise RuntimeError(_NOT_OPEN)
        return self._loop


def _sync(make: Callable[_Parameters, Crawl]) -> Callable[_Parameters, SyncCrawl]:
    @wraps(Crawl, assigned=(), updated=())
    def crawl_sync(*args: _Parameters.args, **options: _Parameters.kwargs) -> SyncCrawl:
        """A crawl for programs without an event loop. It takes what `Crawl` takes."""
        return SyncCrawl(make(*args, **options))

    return crawl_sync


crawl_sync = _sync(Crawl)


async def _next(pages: Any, thread: threading.Thread) -> CrawledPage | None:
    ASKER.set(thread)
    page: CrawledPage | None = await anext(pages, None)
    return page


class _LoopThread:
    """An event loop in a thread of its own. Making it raises `OSError` if no more files can be opened."""

    def __init__(self) -> None:
        _refuse_in_event_loop()
        self._runner = asyncio.Runner(loop_factory=asyncio.new_event_loop)
        # Here, because nobody would hear of an error in the thread.
        self._loop = self._runner.get_loop()
        self._stopped = asyncio.Event()
        self._lock = threading.Lock()
        """Lets nothing begin after the end, which nobody would run."""
        self.has_ended = False
        self._thread = threading.Thread(target=self._serve, name="onceover", daemon=True)
        try:
            self._thread.start()
        except BaseException:
            self._runner.close()
            raise

    @property
    def is_here(self) -> bool:
        return threading.current_thread() is self._thread

    def _serve(self) -> None:
        with self._runner as runner:
            while not self._stopped.is_set():
                # What `exit` raises in a task stops the loop as well. The program hears of it from the task.
                with suppress(SystemExit, KeyboardInterrupt):
                    runner.run(self._stopped.wait())

    def run(self, work: Coroutine[Any, Any, _Result], /) -> _Result:
        """Run a coroutine and wait for its result. An interrupt cancels it, and is raised when it has ended."""
        done: Future[_Result] = Future()
        task: asyncio.Task[_Result] | None = None

        def start() -> None:
            nonlocal task
            task = asyncio.ensure_future(work)
            task.add_done_callback(lambda task: _copy_outcome(task, done))

        def cancel() -> None:
            if task is not None:
                task.cancel()

        with self._lock:
            if self.has_ended:
                work.close()
                raise RuntimeError(_NOT_OPEN)
            self._loop.call_soon_threadsafe(start)
        interrupt: KeyboardInterrupt | None = None
        while not done.done():
            try:
                done.exception()
            except KeyboardInterrupt as error:
                interrupt = error
                self._loop.call_soon_threadsafe(cancel)
        if interrupt is not None:
            raise interrupt
        return done.result()

    def call(self, function: Callable[[], _Result], /) -> _Result:
        async def call() -> _Result:
            return function()

        return self.run(call())

    def halt(self) -> None:
        """Let the thread do nothing more, because the interpreter ends, and a thread that runs then may crash it. It is
        too late to close the crawl: the interpreter starts no more threads."""
        is_halted = threading.Event()

        def halt() -> None:
            is_halted.set()
            threading.Event().wait()

        self._loop.call_soon_threadsafe(halt)
        is_halted.wait()

    def end(self) -> None:
        with self._lock:
            self.has_ended = True
            self._loop.call_soon_threadsafe(self._stopped.set)
        self._thread.join()


def _copy_outcome(task: "asyncio.Task[_Result]", done: "Future[_Result]") -> None:
    if task.cancelled():
        done.set_exception(asyncio.CancelledError())
    elif (error := task.exception()) is not None:
        done.set_exception(error)
    else:
        done.set_result(task.result())


def _refuse_in_event_loop() -> None:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return
    raise RuntimeError(
        "crawl_sync is for programs without an event loop, and one runs in this thread, as in a notebook: use "
        "`async with Crawl(...)`"
    )

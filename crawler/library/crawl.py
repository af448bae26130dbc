"""A crawl as a program runs it."""

import asyncio
import logging
import os
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Self

from config import Config
from crawler.control.requests import Add, checked_reason
from crawler.library.configuration import checked_urls, read_configuration
from crawler.library.crawl_log import log_rebuild
from crawler.library.handout import Consumer, Handout, Turn
from crawler.library.opening import changed_settings, lock_crawl_in_loop, open_run
from crawler.library.page import CrawledPage
from crawler.library.result import CrawlResult
from crawler.library.running import EngineTask
from crawler.seams import Begins, LinkExtractor, Sink
from crawler.status import Status, when_done
from crawler.wiring.additions import Additions
from crawler.wiring.plugins.checks import Method, find_misfit, missing_methods
from crawler.wiring.plugins.guarded import GuardedExtractor
from crawler.wiring.plugins.kinds import EXTRACTOR, SINK, VISITED, Kind
from visited import LocalSet, VisitedSet

log = logging.getLogger(__name__)

_PROGRAM = "the program"


class Crawl:
    """A crawl that a program runs: a context, and an iterator over its pages.

        async with Crawl("site.toml") as crawl:
            async for page in crawl:
                print(page.url, page.title)

    Opening it begins the crawl in its directory, or resumes the one that is there. A page's *turn* ends when the loop
    asks for the next page. Only then is the page settled: its record is written, and its links are followed. A page
    whose turn does not end (`break`, an exception, cancellation, a crash) is not settled, and comes again, in another
    loop or when the crawl is opened again. So each page comes at least once, and few come twice.

    Fetching goes on while the loop works; if `fetch.concurrency` pages wait for the loop, it pauses. Several tasks may
    iterate at once, each in a loop of its own; each page comes to one of them. A loop within another one of the same
    task is refused: it would wait for ever, because the page of the outer one is not settled meanwhile.

    Leaving the context stops the crawl in order, as SIGTERM stops the command: the URLs in flight are finished. If it
    is cancelled meanwhile, it stops at once. A `Crawl` is opened once, and belongs to one event loop; to continue the
    crawl, make another.
    """

    def __init__(  # noqa: PLR0913 - as the command, which takes each of its options
        self,
        config: str | os.PathLike[str] | Config | None = None,
        *,
        seeds: Iterable[str] | None = None,
        directory: str | os.PathLike[str] | None = None,
        set: Mapping[str, object] | None = None,  # noqa: A002 - as the command calls it
        preset: str | None = None,
        fresh: bool = False,
        rebuild: bool = False,
        sinks: Sequence[Sink] = (),
        extractor: LinkExtractor | None = None,
        visited: VisitedSet | None = None,
        all_urls: bool = False,
    ) -> None:
        """Reads the configuration, as `onceover crawl` does, and opens nothing yet. Raises `ConfigError`.

        config: a TOML file or a `Config`. Without it and without seeds, that of the last run in `directory`.
        seeds: URLs to start from. They replace those of the configuration.
        directory: for state and output. The default is `crawls/NAME`, where NAME is that of the file or, without a
            file, the host of the first seed.
        set: other values, such as `{"limits.pages": 100}`. They override file and environment. Limits in it apply to
            this run only.
        preset: the name of a preset to use instead of the defaults.
        fresh: first delete the state and output of the crawl in the directory.
        rebuild: rebuild the stored URLs after a change of `urls.rules` or `frontier.queue_by`.
        sinks: these also get each page, before it is in the output of the crawl. The crawl closes them.
        extractor: reads pages instead of that of the configuration.
        visited: an empty visited set, instead of that of the configuration.
        all_urls: iterate over each URL that ends: also redirects, errors, sitemaps, and URLs that a rule excludes.
            Otherwise only over pages: URLs with a 2xx status or 304, without sitemaps.
        """
        _check("sinks", sinks, SINK)
        _check("extractor", [] if extractor is None else [extractor], EXTRACTOR)
        _check("visited", [] if visited is None else [visited], VISITED, may_lack=[LocalSet.has_many])
        self._loaded = read_configuration(config, seeds=seeds, directory=directory, values=set or {}, preset=preset)
        self._fresh = fresh
        self._rebuild = rebuild
        self._sinks = tuple(sinks)
        self._handout = handout = Handout(all_urls=all_urls, limit=self._loaded.config.fetch.concurrency)
        own = None if extractor is None else GuardedExtractor(extractor, f'the extractor "{type(extractor).__name__}"')
        self._additions = Additions(
            sinks=(handout, *sinks),
            extractor=lambda configured: handout.keep_extracts_of(own or configured),
            visited=visited,
        )
        self._was_opened = False
        self._loop: asyncio.AbstractEventLoop | None = None
        """In which it was opened."""
        self._stack = AsyncExitStack()
        self._engine: EngineTask | None = None
        """None while the crawl is not open."""
        self._result: CrawlResult | None = None

    # open and close

    async def open(self) -> Self:
        """The same as entering the context, for a crawl that several cells of a notebook use; `aclose` ends it.

        Raises `ConfigError`, `DirectoryRefused`, `StoreRefused` and `StoreFailed`, with what to do, and what `begin` of
        a sink raises.
        """
        if self._was_opened:
            raise RuntimeError("a Crawl is opened once: make another one to continue the crawl")
        self._was_opened = True
        self._loop = asyncio.get_running_loop()
        loaded = self._loaded
        async with AsyncExitStack() as stack:
            for sink in self._sinks:
                stack.push_async_callback(sink.aclose)
            locking = lock_crawl_in_loop(loaded, fresh=self._fresh, additions=self._additions, begin=self._begin_sinks)
            directory = await stack.enter_async_context(locking)
            changed = changed_settings(loaded)
            opening = open_run(
                loaded, directory, rebuild=self._rebuild, on_rebuild=log_rebuild(), additions=self._additions
            )
            run = await stack.enter_async_context(opening)
            for line in changed:
                log.info("changed: %s", line)
            if run.choice is not None:
                log.info("%s", run.choice)
            pauses = run.crawl.frontier.pauses
            self._handout.pause = partial(pauses.pause, by="the iteration")
            self._handout.resume = partial(pauses.resume, by="the iteration")
            self._engine = EngineTask(run, on_start=self._handout.begin, on_end=self._handout.end)
            self._stack = stack.pop_all()
        return self

    async def _begin_sinks(self) -> None:
        for sink in self._sinks:
            if isinstance(sink, Begins):
                await sink.begin()

    async def aclose(self) -> None:
        """Stop the crawl in order, and close it. Closing twice is harmless.

        If this is cancelled, the crawl stops at once; what is stored is whole nevertheless. Raises what has ended the
        crawl, unless an iterator has raised it.
        """
        engine, self._engine = self._engine, None
        if engine is None:
            return
        async with self._stack.pop_all():
            try:
                engine.stop()
                self._handout.close()  # pages that no loop takes are handed back
                await engine.finish()
            finally:
                self._result = engine.result
        engine.raise_failure()

    async def __aenter__(self) -> Self:
        return await self.open()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(error, asyncio.CancelledError | KeyboardInterrupt) and self._engine is not None:
            log.warning("stopping %s; interrupt again to stop at once", when_done(self._engine.in_flight))
        await self.aclose()

    # iterate or run

    def __aiter__(self) -> AsyncIterator[CrawledPage]:
        """Iterate over pages, in the order in which they arrive, until the crawl ends.

        Raises what ends the crawl, such as `StoreFailed`.
        """
        if self._opened_here.was_started and not self._handout.is_used:
            raise RuntimeError("this crawl is run by `run`, which hands out no pages")
        self._handout.is_used = True
        return Consumer(self._take_turn)

    async def run(self) -> CrawlResult:
        """Crawl to the end without handing out pages, for a program that only needs output or sinks."""
        if self._handout.is_used:
            raise RuntimeError("this crawl hands out its pages: iterate over it, or `run` it, not both")
        await self._opened_here.wait()
        return self.result

    async def _take_turn(self) -> Turn | None:
        engine = self._engine
        if engine is None:
            return None
        engine.start()
        turn = await self._handout.take()
        if turn is None:
            if self._handout.is_closed:
                await engine.finish()
            engine.raise_failure()
        return turn

    # steer

    async def add(self, urls: str | Iterable[str], *, force: bool = False) -> int:
        """Add URLs as seeds, and return how many are new. The scope does not refuse them, and includes their hosts, as
        for other seeds. With `force`, settled URLs are fetched again, and sent whole.

        Raises `TypeError` for what is no text, `ValueError`, with all URLs that can't be crawled, and `OSError` if they
        can't be noted for a rebuild of the frontier; then none is added.
        """
        engine, texts = self._opened, checked_urls(urls)
        return await engine.add(engine.crawl.read_seeds(texts), Add(urls=texts, force=force))

    def pause(self, reason: str = "by the program") -> None:
        """Begin no further URL until `resume`. Pages in flight still come. The pause ends with this process.

        Raises `ValueError` for a reason that is empty, very long or has control characters, as terminals show it, and
        `TypeError` for one that is no text."""
        self._opened.crawl.frontier.pauses.pause(checked_reason(reason), by=_PROGRAM)

    def resume(self) -> None:
        """End the pause."""
        self._opened.crawl.frontier.pauses.resume(by=_PROGRAM)

    def stop(self, *, at_once: bool = False) -> None:
        """Begin no further URL. The pages in flight still come, then iteration ends. With `at_once`, it ends now, and
        they come when the crawl is opened again."""
        self._opened.stop(at_once=at_once)
        if at_once:
            self._handout.close()

    # ask

    def status(self) -> Status:
        """What the crawl has done and what it waits for, now; after its end, what it was then."""
        return self._opened.crawl.gauge.status() if self._result is None else self._result.status

    @property
    def result(self) -> CrawlResult:
        """How the crawl ended. Raises `RuntimeError` before its end."""
        result = self._result if self._engine is None else self._engine.result
        if result is None:
            raise RuntimeError("the crawl has not ended")
        return result

    @property
    def config(self) -> Config:
        return self._loaded.config

    @property
    def directory(self) -> Path:
        """Where state and output are."""
        return Path(self._loaded.config.crawl.directory)

    @property
    def _opened(self) -> EngineTask:
        if self._engine is None:
            raise RuntimeError("the crawl is not open: use it within `async with`")
        return self._engine

    @property
    def _opened_here(self) -> EngineTask:
        engine = self._opened
        if self._loop is not asyncio.get_running_loop():
            raise RuntimeError(
                "this crawl was opened in another event loop: open, use and close it in one, such as within one "
                "`asyncio.run`"
            )
        return engine


def _check(name: str, given: object, kind: Kind, *, may_lack: Sequence[Method] = ()) -> None:
    """Raises `TypeError` for objects that are no components of this kind."""
    if not isinstance(given, Iterable):
        raise TypeError(f"{name}: expected a list of {kind.noun}s, found {given!r}")
    methods = [each for each in kind.methods if each not in may_lack]
    for each in given:
        if isinstance(each, type):
            raise TypeError(f"{name}: expected an object, found the class {each.__name__}: write {each.__name__}(…)")
        if missing_methods(each, methods):
            names = ", ".join(method.__name__ for method in methods)
            raise TypeError(f"{name}: expected objects with the methods {names}, found {each!r}")
        if misfit := find_misfit(each, (*methods, *kind.optional)):
            raise TypeError(f"{name}: {misfit}")

"""What the process of a part does: it opens the part, crawls, and does what the supervisor says."""

import asyncio
import logging
import signal
from collections.abc import Callable
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path
from typing import Final

import msgspec

from config import Loaded
from crawler import __version__
from crawler.cluster.guard import LeaseGuard
from crawler.cluster.shared_lease import SharedLease
from crawler.disk.directory import CrawlDirectory, DirectoryRefused
from crawler.disk.layout import Layout, read_layout
from crawler.engine import Ending
from crawler.library.crawl_log import at_most_every, log_into, log_progress
from crawler.library.log_form import log_form
from crawler.library.log_handlers import FirstWarnings
from crawler.library.opening import Run, lock_crawl_in_loop, open_run
from crawler.parts.ending import Answer
from crawler.parts.exchange.carrier import Carrier
from crawler.parts.line.line import Line
from crawler.parts.line.messages import (
    Answered,
    Ask,
    Begin,
    Connect,
    Connected,
    Disconnect,
    End,
    Ended,
    FromPart,
    Opened,
    Progress,
    Rebuilding,
    Stop,
    ToPart,
    ToService,
    Warned,
)
from crawler.parts.line.services import PartServices
from crawler.parts.sharing.configuration_taker import ConfigurationTaker
from crawler.supervise.part_answers import PartAnswers, PartSettings
from crawler.supervise.preparing import wait_until_free
from crawler.wiring.additions import Additions
from crawler.wiring.components.exchanging import open_exchange
from crawler.wiring.configuration import load
from crawler.wiring.parts import CONFIGURATION, agreement, use_suffixes_of
from crawler.wiring.plugins.blame import plugins_of
from crawler.wiring.plugins.loading import NamedBackend
from frontier import PartLinks

log = logging.getLogger(__name__)

PROGRESS_S: Final = 0.25
GOODBYE_S: Final = 25.0
"""How long URLs in flight may take once the supervisor is gone. Closing the part takes a moment, too."""
REBUILD_S: Final = 0.5

PartLine = Line[ToPart, FromPart]


async def run_part(line: PartLine, plugins: list[NamedBackend]) -> None:
    """Run the part that the supervisor names, until it says that the crawl has ended, or is gone. Appends the plug-ins
    that it runs with. Raises whatever keeps a crawl from starting or continuing."""
    begin = await line.receive()
    if not isinstance(begin, Begin):
        return
    if begin.version != __version__:
        raise DirectoryRefused(
            f"the supervisor runs version {begin.version} of onceover, and this is version "
            f"{__version__}: stop the crawl, and start it again"
        )
    place = CrawlDirectory(Path(begin.directories[begin.number]))
    loaded = _load(begin, begin.configuration)
    plugins += plugins_of(loaded.config)
    form = log_form(loaded.config.log.format, crawl=loaded.config.crawl.name, part=begin.number)
    with log_into(place.log, form, warning_by(line.send)):
        await _RunningPart(line, begin, loaded).run()


def warning_by(send: Callable[[Warned], None]) -> FirstWarnings:
    """Sends the supervisor the first few warnings of each kind."""
    return FirstWarnings(lambda kind, text: send(Warned(kind=kind, text=text)))


def _load(begin: Begin, configuration: str) -> Loaded:
    values = msgspec.json.decode(configuration)
    options: dict[str, tuple[str, object]] = {key: ("this machine", value) for key, value in begin.options.items()}
    options["crawl.directory"] = "the supervisor", begin.directories[begin.number]
    return load(None, tables=[("the crawl", values)], options=options, environ={})


class _OpenPart(msgspec.Struct, frozen=True):
    """What a part has while it is open."""

    run: Run
    carrier: Carrier
    answers: PartAnswers
    services: PartServices


class _RunningPart:
    """A part, from its opening to its end."""

    def __init__(self, line: PartLine, begin: Begin, loaded: Loaded) -> None:
        self._line = line
        self._begin = begin
        self._loaded = loaded
        self._directories = [Path(each) for each in begin.directories]
        self._guard = None if begin.lease is None else LeaseGuard(SharedLease(begin.lease).until)
        self._open: _OpenPart | None = None
        self._work: asyncio.Task[Ended] | None = None
        self._crawling: asyncio.Task[Ending] | None = None

    async def run(self) -> None:
        use_suffixes_of(CrawlDirectory(self._directory.parent))
        loop = asyncio.get_running_loop()
        self._work = loop.create_task(self._open_and_crawl(self._loaded))
        loop.add_signal_handler(signal.SIGTERM, self._stop, False)
        listening = loop.create_task(self._listen())
        watching = [] if self._guard is None else [loop.create_task(self._guard.watch())]
        try:
            await asyncio.wait({self._work, listening}, return_when=asyncio.FIRST_COMPLETED)
            if not self._work.done():
                listening.result()
                log.warning("the supervisor is gone: stopping when the URLs in flight are done")
                self._stop(now=False)
                await asyncio.wait({self._work}, timeout=GOODBYE_S)
                self._stop(now=True)
                await asyncio.wait({self._work})
            if not self._work.cancelled():
                self._line.send(self._work.result())
        finally:
            loop.remove_signal_handler(signal.SIGTERM)
            for task in (listening, self._work, *watching):
                task.cancel()
                await asyncio.wait({task})

    @property
    def _directory(self) -> Path:
        return self._directories[self._begin.number]

    # what the supervisor says

    async def _listen(self) -> None:
        while (message := await self._line.receive()) is not None:
            match message:
                case Ask():
                    self._answer(message)
                case End():
                    self._end()
                case Stop(now=now):
                    self._stop(now)
                case Connect(number=number):
                    self._connect(number)
                case Disconnect() if self._open is not None:
                    self._open.services.disconnect()
                case ToService() if self._open is not None:
                    self._open.services.receive(message)

    def _connect(self, number: int) -> None:
        if self._open is not None:
            self._open.answers.forget()
            self._line.send(Connected(number))
            self._open.services.connect()

    def _answer(self, ask: Ask) -> None:
        if self._open is None:
            self._line.send(Answered(wave=ask.wave, answer=Answer(report=None)))
        else:
            self._open.answers.ask(ask)

    def _end(self) -> None:
        if self._open is not None:
            self._open.carrier.gate.end()
            self._open.run.crawl.engine.stop(Ending.COMPLETE)

    def _stop(self, now: bool) -> None:
        if self._crawling is None and self._work is not None:
            self._work.cancel()
        elif self._crawling is not None and now:
            self._crawling.cancel()
        elif self._open is not None:
            self._open.run.crawl.engine.stop(Ending.STOPPED)

    # what the part does

    async def _open_and_crawl(self, loaded: Loaded) -> Ended:
        await wait_until_free(self._begin)
        async with lock_crawl_in_loop(loaded, as_part=True) as place:
            opening = open_run(
                loaded,
                place,
                rebuild=self._begin.rebuild,
                on_rebuild=at_most_every(
                    REBUILD_S, lambda what, urls: self._line.send(Rebuilding(what=what, urls=urls))
                ),
                additions=Additions(check=None if self._guard is None else self._guard.check),
                may_be_paused=self._begin.again,
            )
            async with (
                opening as run,
                AsyncExitStack() as stack,
            ):
                links = run.crawl.leasing.links
                if links is None:
                    raise DirectoryRefused(f"{place.path} is no part of a crawl")
                exchange = await open_exchange(
                    loaded.config,
                    number=self._begin.number,
                    directories=self._directories,
                    generation=self._layout.generation,
                )
                stack.push_async_callback(exchange.aclose)
                agreement = self._agreement(run, self._begin.configuration)
                # On many machines, a part may miss a change of the settings; its agent gives it another process then.
                passing = () if self._begin.lease is None else (CONFIGURATION,)
                carrier = Carrier(
                    links,
                    exchange,
                    run.crawl.frontier.pauses,
                    agreement=agreement,
                    passing=passing,
                    on_new=run.crawl.engine.counters.count_new,
                )
                taker = ConfigurationTaker(self._settings(run, carrier), carrier.gate)
                services = PartServices((*run.crawl.leasing.services, taker), self._line.send)
                opened = self._open = _OpenPart(run, carrier, PartAnswers(carrier, self._line.send), services)
                self._begin_run(opened)
                try:
                    ending = await self._crawl(opened, links, taker)
                finally:
                    self._open = None
                    services.disconnect()
                result = run.result(ending)
        return Ended(ending=ending, status=result.status, has_page=not result.has_no_page)

    def _settings(self, run: Run, carrier: Carrier) -> PartSettings:
        return PartSettings(
            run.crawl.live, carrier.agreement, load=partial(_load, self._begin), agree=partial(self._agreement, run)
        )

    def _agreement(self, run: Run, configuration: str) -> dict[str, str]:
        whole = CrawlDirectory(self._directory.parent)
        return agreement(run.crawl.state.identity, whole, self._layout, configuration)

    @property
    def _layout(self) -> Layout:
        layout = read_layout(self._directory.parent)
        assert layout is not None  # else the directory would be no part
        return layout

    def _begin_run(self, opened: _OpenPart) -> None:
        run = opened.run
        run.crawl.gauge.links_wait = opened.carrier.trouble
        self._line.send(
            Opened(
                new_seeds=run.crawl.new_seeds,
                resumed=run.resumed,
                choice=run.choice,
                status=run.crawl.gauge.status(),
                lacks=run.crawl.live.lacks,
            )
        )
        # On many machines, `Connect` comes when it is known who decides for the crawl.
        if self._begin.lease is None:
            opened.services.connect()

    async def _crawl(self, opened: _OpenPart, links: PartLinks, taker: ConfigurationTaker) -> Ending:
        run = opened.run
        async with asyncio.TaskGroup() as group:
            self._crawling = crawling = group.create_task(run.crawl.engine.run())
            beside = [
                group.create_task(opened.carrier.run()),
                group.create_task(opened.answers.run()),
                group.create_task(taker.run()),
                group.create_task(self._tell_progress(run, links)),
                group.create_task(log_progress(run.crawl.gauge.status)),
                group.create_task(run.course.keep()),
                group.create_task(run.answer_operator(stop=self._stop, gate=opened.carrier.gate)),
            ]
            crawling.add_done_callback(lambda _: [each.cancel() for each in beside])
        return Ending.STOPPED if crawling.cancelled() else crawling.result()

    async def _tell_progress(self, run: Run, links: PartLinks) -> None:
        while True:
            await asyncio.sleep(PROGRESS_S)
            if self._line.is_calm:
                status = run.crawl.gauge.status()
                self._line.send(Progress(status=status, is_idle=links.is_idle, paused=run.paused))

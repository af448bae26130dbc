"""The daemon: keeps all crawls of a folder."""

import asyncio
import logging
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import msgspec

from config import Loaded
from crawler.background import in_background
from crawler.serve.folder import SUFFIX, Found, clear_remains, read_folder, set_aside
from crawler.serve.inspection import Commands, reload_settings
from crawler.serve.keeper import Keeper
from crawler.serve.life import changes as life
from crawler.serve.life.facts import KeeperOptions
from crawler.serve.logs import telling
from crawler.serve.machine import Limits, Taken, measure, used_system_files
from crawler.serve.machine_limits import check_excess, check_shortage
from crawler.serve.measure.recorder import Recorder
from crawler.serve.notify import Supervisor
from crawler.serve.records import Home
from crawler.serve.reloading import ChangeForm, changed_crawl, tell, with_answer
from crawler.status import number_of

log = logging.getLogger(__name__)


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """How a daemon runs."""

    limits: Limits = Limits()
    keeper: KeeperOptions = KeeperOptions()
    leave_crawls: bool = False
    """Whether its crawls go on when it ends."""
    watch_s: float = 5.0
    """How often it looks at its crawls."""


class CrawlRuns(Exception):
    """A crawl that runs can't be deleted."""


class Daemon:
    """Keeps the crawls of a locked folder. `run` returns when all has ended in order."""

    def __init__(self, home: Home, options: Options, supervisor: Supervisor) -> None:
        self._home = home
        self.home = home.path
        self.folder = home.folder
        """Where the daemon's own files are."""
        self._options = options
        self._supervisor = supervisor
        self.loaded: dict[str, Loaded] = {}
        """The configurations that can be used."""
        self._commands = Commands()
        self._closing = asyncio.Event()
        self._group: asyncio.TaskGroup | None = None
        self._reload_wanted = asyncio.Event()
        self.folder_turn = asyncio.Lock()
        """Held while the folder is read and acted on, or changed."""
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self.keepers: dict[str, Keeper] = {}
        self.knows_crawls = asyncio.Event()
        self.watchers: list[Callable[[str], None]] = []
        """Called with the name of a crawl when it may have changed."""
        self.recorder = Recorder(home.history)
        self.also_reload: list[Callable[[], None]] = []
        """What is read again with the folder."""

    async def run(self) -> None:
        """Raises `OSError` if the folder can't be read at the start."""
        with self._signals():
            async with asyncio.TaskGroup() as crawls:
                async with self.folder_turn:
                    names = await self._begin(crawls)
                log.info("serves %s: %s", self.home, number_of(len(names), "crawl"))
                self._supervisor.tell("READY=1", f"STATUS={number_of(len(names), 'crawl')}")
                async with in_background(self._watch(), self._live(), self._reload_when_wanted()) as beside:
                    await self._wait_for_end(beside)
        log.info("ends")

    async def _begin(self, crawls: asyncio.TaskGroup) -> list[str]:
        """Begin to keep all crawls. Returns their names."""
        await self._finish_deletions()
        found = await asyncio.to_thread(read_folder, self.home)
        names = sorted(found.keys() | set(self._home.remembered()))
        await self.recorder.open(names)
        if self._closing.is_set():
            return []
        self._group = crawls
        for name in names:
            self._keep(name, found.get(name))
        self.knows_crawls.set()
        return names

    async def _wait_for_end(self, beside: list[asyncio.Task[None]]) -> None:
        closing = asyncio.create_task(self._closing.wait())
        try:
            done, _ = await asyncio.wait({closing, *beside}, return_when=asyncio.FIRST_COMPLETED)
            for task in done - {closing}:
                await task  # raises what has ended it
        finally:
            closing.cancel()

    def close(self, why: str) -> None:
        """End the daemon in order; when called again, at once."""
        self._supervisor.tell("STOPPING=1")
        again = self._closing.is_set()
        self._closing.set()
        if self._options.leave_crawls:
            log.info("%s: the daemon ends, and leaves its crawls alone", why)
        else:
            how = (
                "tells its crawls to end at once" if again else "waits until its crawls have finished what is in flight"
            )
            log.info("%s: the daemon ends, and %s; the next one goes on with them", why, how)
        for keeper in self.keepers.values():
            if self._options.leave_crawls:
                keeper.leave()
            else:
                keeper.close()

    async def reload(self) -> list[ChangeForm]:
        """Read the folder again. Raises `OSError` if it can't be read; nothing has changed then."""
        async with self.folder_turn:
            return await self._reload()

    async def _reload(self) -> list[ChangeForm]:
        self._supervisor.reloading()
        try:
            for each in self.also_reload:
                each()
            self._check_there()
            found = await asyncio.to_thread(read_folder, self.home)
            self._check_there()  # else files that went away with the folder would count as removed
            if self._closing.is_set():
                return []
            told = [changed for name in found for changed in self._take(name, found[name])]
            gone = [name for name in self.keepers if name not in found and not self.keepers[name].facts.is_removed]
            told += [self._remove(name) for name in gone]
            told = [await self._pass_on(change) for change in told]
        finally:
            self._supervisor.tell("READY=1", f"STATUS={number_of(len(self.keepers), 'crawl')}")
        for changed in told:
            keeper = self.keepers.get(changed.name)
            tell(changed, is_running=keeper is not None and keeper.facts.crawl_process is not None)
        log.info("has read the folder again: %s", f"{len(told)} changed" if told else "nothing has changed")
        return told

    def _check_there(self) -> None:
        if (away := self._home.why_away()) is not None:
            raise FileNotFoundError(away)

    def _keep(self, name: str, found: Found | None) -> None:
        assert self._group is not None
        told = partial(self._tell_watchers, name)
        keeper = Keeper(name, self._home, self._options.keeper, commands=self._commands, told=told)
        self.keepers[name] = keeper
        self._give(keeper, found)
        # Before it starts, not only when all crawls are watched.
        check_shortage(keeper, self._options.limits, used_system_files())
        self._tasks[name] = self._group.create_task(keeper.run(), name=f"keeps {name}")

    async def delete(self, name: str) -> None:
        """Remove a crawl from the list, with its configuration, unless it runs. Its directory is kept. Raises
        `CrawlRuns` and `OSError`."""
        async with self.folder_turn:
            if (keeper := self.keepers.get(name)) is not None:  # else somebody has deleted it meanwhile
                await self._delete(name, keeper)

    async def _delete(self, name: str, keeper: Keeper) -> None:
        if keeper.facts.crawl_process is not None:
            raise CrawlRuns
        aside = set_aside(self.home, name)  # first: where that can't be done, nothing changes
        keeper.change(life.removed)
        keeper.leave()
        await asyncio.wait({self._tasks[name]})
        for known in (self.keepers, self._tasks, self.loaded):
            known.pop(name, None)
        await self.recorder.forget(name)
        await keeper.memory.forget()
        aside.unlink(missing_ok=True)  # last: the next daemon finishes what this one does not
        self._tell_watchers(name)

    async def _finish_deletions(self) -> None:
        for name, aside in (await asyncio.to_thread(clear_remains, self.home)).items():
            with telling(log, f"the deletion of {name} can't be finished now"):
                if not (self.home / f"{name}{SUFFIX}").exists():  # else somebody has created it again
                    await self.recorder.forget(name)
                    self._home.forget(name)
                aside.unlink()

    def _tell_watchers(self, name: str) -> None:
        for watcher in self.watchers:
            watcher(name)

    def _give(self, keeper: Keeper, found: Found | None) -> None:
        """Give a crawl its configuration."""
        keeper.remember()
        if found is None:
            keeper.change(life.removed)
            return
        plan, problems = found.plan, found.problems
        if plan is None:
            keeper.change(lambda facts: life.broke(facts, problems))
            return
        keeper.change(lambda facts: life.configured(facts, plan))
        if found.loaded is not None:
            self.loaded[keeper.name] = found.loaded

    def _take(self, name: str, found: Found) -> Iterator[ChangeForm]:
        """Take what was found of a crawl when the folder was read again."""
        keeper = self.keepers.get(name)
        if keeper is None:
            self._keep(name, found)
            yield ChangeForm(name=name, how="added", at_once=found.problems, at_next_start=())
            return
        before, facts = self.loaded.get(name), keeper.facts
        self._give(keeper, found)
        if found.loaded is None:
            if found.problems != facts.broken:
                yield ChangeForm(name=name, how="broken", at_once=found.problems, at_next_start=())
        elif facts.is_removed:
            yield ChangeForm(name=name, how="added", at_once=(), at_next_start=())
        elif before is None or facts.broken or facts.plan is None or facts.plan.digest != keeper.facts.record.digest:
            yield changed_crawl(name, before, found.loaded, is_running=facts.crawl_process is not None)

    async def _pass_on(self, change: ChangeForm) -> ChangeForm:
        """Let a running crawl read its changed configuration, so that what can hold at once does."""
        process = self.keepers[change.name].facts.crawl_process
        if process is None or not change.at_next_start:
            return change
        return with_answer(change, await reload_settings(Path(process.directory)))

    def _remove(self, name: str) -> ChangeForm:
        keeper = self.keepers[name]
        keeper.change(life.removed)
        self.loaded.pop(name, None)
        ends = "" if keeper.facts.crawl_process is None else "its process ends; "
        return ChangeForm(name=name, how="removed", at_once=(f"{ends}its directory is kept",), at_next_start=())

    async def _watch(self) -> None:
        """Look at all crawls and at the machine, again and again."""
        while True:
            await asyncio.sleep(self._options.watch_s)
            with telling(log, "crawls and machine can't be looked at now"):  # as when no more files can be opened
                await self.look()

    async def look(self) -> None:
        """Look at all crawls and at the machine. Crawls may be deleted meanwhile."""
        keepers = list(self.keepers.values())
        pids = {keeper.name: each.pid for keeper in keepers if (each := keeper.facts.crawl_process) is not None}
        taken_by_pid = await asyncio.to_thread(measure, pids.values())
        taken = {name: taken_by_pid[pid] for name, pid in pids.items()}
        told = await asyncio.gather(*(keeper.watch(taken.get(keeper.name, Taken())) for keeper in keepers))
        known = [(keeper, each) for keeper, each in zip(keepers, told, strict=True) if self._keeps(keeper)]
        await self.recorder.take({keeper.name: each for keeper, each in known if each is not None}, taken)
        system_files = used_system_files()
        for keeper in keepers:
            check_shortage(keeper, self._options.limits, system_files)
        left = {keeper.name: keeper for keeper in keepers if self._keeps(keeper)}
        check_excess(left, self._options.limits, {name: each for name, each in taken.items() if name in left})

    def _keeps(self, keeper: Keeper) -> bool:
        """Whether the crawl was not deleted."""
        return self.keepers.get(keeper.name) is keeper

    async def _live(self) -> None:
        """Tell the supervisor that the event loop turns."""
        interval_s = self._supervisor.watchdog_s
        while interval_s is not None:
            self._supervisor.tell("WATCHDOG=1")
            await asyncio.sleep(interval_s / 3)
        await asyncio.Event().wait()

    async def _reload_when_wanted(self) -> None:
        while True:
            await self._reload_wanted.wait()
            self._reload_wanted.clear()
            with telling(log, "the folder can't be read, and nothing has changed"):
                await self.reload()

    @contextmanager
    def _signals(self) -> Iterator[None]:
        loop = asyncio.get_running_loop()
        ends = (signal.SIGTERM, signal.SIGINT)
        for number in ends:
            loop.add_signal_handler(number, self.close, number.name)
        loop.add_signal_handler(signal.SIGHUP, self._reload_wanted.set)
        try:
            yield
        finally:
            # The rest takes a moment; a signal in it must not end the process with an error.
            for number in (*ends, signal.SIGHUP):
                loop.remove_signal_handler(number)
                signal.signal(number, signal.SIG_IGN)

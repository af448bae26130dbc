"""Keeps one crawl as it should be: does what `life` decides, and tells it what happened."""

import asyncio
import logging
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from crawler.background import in_background
from crawler.control.replies import CrawlStatus
from crawler.control.requests import Pause, Resume
from crawler.serve.inspection import Commands, NotDone, ask_status, find_process, last_change, why_gone
from crawler.serve.life import changes
from crawler.serve.life.endings import how_text
from crawler.serve.life.facts import Facts, KeeperOptions, Process, Wish
from crawler.serve.life.settling import closed, settle
from crawler.serve.life.steps import End, Look, Start, Step, Wait, next_step
from crawler.serve.life.summary import Summary, summarize
from crawler.serve.machine import Taken
from crawler.serve.old_runs import OldRuns, runs_in
from crawler.serve.process import CrawlProcess, Output, how_it_ended, last_answer, start
from crawler.serve.records import Home, Memory

log = logging.getLogger(__name__)

_LONGEST_WAIT_S: Final = 60.0
"""The clock may be set meanwhile."""
_SAVE_AGAIN_S: Final = 5.0


class Keeper:
    """Keeps a crawl. `facts` may be replaced at any time by `change`."""

    def __init__(
        self,
        name: str,
        home: Home,
        options: KeeperOptions,
        *,
        commands: Commands,
        told: Callable[[], None] = lambda: None,
    ) -> None:
        """`told` is called when the crawl may have changed."""
        self.name = name
        self.facts = Facts(unread="it was not read yet")
        self._home, self._options, self._commands = home, options, commands
        self.memory = Memory(home, name)
        self._told = told
        self._output = Output(home.output, name)
        self._old_runs = OldRuns(home.pace, turns=commands.deletions, told=self._tell_deletion)
        self._process: CrawlProcess | None = None
        self._woken = asyncio.Event()
        self._is_left = self._has_adopted = False
        self._looking: asyncio.Timeout | None = None
        self._seen_change: int | None = None
        self._last_answer: CrawlStatus | None = None
        self._reported: Summary | None = None
        self.remember()

    @property
    def summary(self) -> Summary:
        return summarize(self.facts, waits_for_turn=self._commands.starts.has_waiting(self.name))

    def change(self, how: Callable[[Facts], Facts]) -> None:
        """Something has happened to the crawl."""
        self.facts = how(self.facts)
        self._woken.set()

    def remember(self) -> None:
        """Read what is remembered of the crawl, unless that was read before."""
        if self.facts.unread is not None:
            record, unread = self.memory.recall()
            self.facts = msgspec.structs.replace(self.facts, record=record, unread=unread)

    async def wish(self, wish: Wish) -> None:
        """Let the crawl run or stop, from now on. The next daemon knows that, too, unless it can't be stored."""
        self.change(lambda facts: changes.wished(facts, wish, time.time()))
        await self._save()

    async def pause(self, reason: str) -> None:
        """Let the crawl fetch nothing until `resume`, whether it runs or not. Raises `NotDone`, and `CrawlWaits`."""
        await self._operate(Pause(reason=reason))
        self.change(lambda facts: changes.was_paused(facts, reason, time.time()))

    async def resume(self) -> None:
        """End a pause. Raises `NotDone`, and `CrawlWaits`."""
        await self._operate(Resume())
        self.change(lambda facts: changes.was_paused(facts, None, time.time()))

    async def _operate(self, request: Pause | Resume) -> None:
        if (directory := self.facts.directory_now) is None:
            raise NotDone(f"{self.name} has no directory yet: {self.summary.reason}")
        await self._commands.operate(Path(directory), request)

    def close(self) -> None:
        """End its process in order, and then `run`. If called again, the process drops what is in flight."""
        again = self.facts.is_closing
        self._look_no_more()
        self.change(lambda facts: msgspec.structs.replace(closed(facts, time.time()), is_closing=True))
        if again and self.facts.crawl_process is not None:
            self._tell_to_end(End(reason="the daemon ends at once", force=1, is_fall=False))

    def leave(self) -> None:
        """End `run`, and leave the process alone."""
        self._is_left = True
        self._look_no_more()
        self.change(lambda facts: closed(facts, time.time()))

    async def run(self) -> None:
        """Keep the crawl until `close` or `leave`."""
        async with in_background(self._old_runs.delete_when_due()):
            await self._run()

    async def _run(self) -> None:
        try:
            while True:
                self._woken.clear()
                if not self._has_adopted and self.facts.unread is None:
                    await self._adopt()
                self._notice_end()
                self.facts, notes = settle(self.facts, time.time())
                for note in notes:
                    self._log(logging.INFO, note)
                await self._save()
                step = next_step(self.facts, now := time.time(), timeouts=self._options.timeouts)
                step = self._commands.starts.in_turn(self.name, self.facts, step, now, wake=self._woken.set)
                self._tell()
                self._told()
                if self._is_left or (self.facts.is_closing and self.facts.crawl_process is None):
                    return
                await self._do(step)
        finally:
            self._commands.starts.leave(self.name)
            if self._process is not None:
                self._process.close()

    async def _do(self, step: Step) -> None:
        match step:
            case Start(directory):
                self._start(directory)
            case End() as end:
                self._tell_to_end(end)
            case Look(directory, inside):
                await self._look(Path(directory), inside=inside)
            case Wait(until):
                await self._wait(until, _LONGEST_WAIT_S if self.memory.unsaved is None else _SAVE_AGAIN_S)

    async def _wait(self, until: float | None, longest_s: float) -> None:
        wait_s = longest_s if until is None else min(max(until - time.time(), 0.0), longest_s)
        with suppress(TimeoutError):
            async with asyncio.timeout(wait_s):
                await self._woken.wait()

    async def _adopt(self) -> None:
        """Find the process that an earlier daemon, or somebody else, has started."""
        self._has_adopted = True
        directories = (self.facts.directory, *(run.directory for run in self.facts.record.runs[-1:]))
        for directory in sorted({each for each in directories if each is not None}):
            if (found := await find_process(Path(directory))) is not None and self._hold(*found, directory):
                return
        report = self._output.report()
        self.facts = changes.missed_end(self.facts, None if report is None else report.ended(), time.time())

    def _hold(self, pid: int, is_command: bool, status: CrawlStatus | None, directory: str) -> bool:
        """Take over a process, which says that of itself. False if it has just ended, or can't be held now."""
        try:
            self._watch_process(CrawlProcess(pid, is_command=is_command))
        except OSError:
            return False
        known = next((run for run in self.facts.record.runs if run.pid == pid and run.how is None), None)
        process = Process(
            pid=pid,
            directory=directory,
            began_at=time.time() if known is None else known.began_at,
            is_foreign=known is None,
            may_be_command=known is None and status is None,
            has_answered=status is not None,
            paused=None if status is None else status.paused,
        )
        self.facts = changes.started(self.facts, process)
        if self.facts.crawl_process is not None:
            self._log(logging.INFO, f"runs already, in process {pid}")
        return True

    def _watch_process(self, process: CrawlProcess) -> None:
        self._process = process
        process.ended.add_done_callback(lambda _: self._woken.set())

    def _start(self, directory: str) -> None:
        now = time.time()
        try:
            runs = runs_in(Path(directory).parent)
            if (gone := self._home.why_away() or why_gone(self.facts, directory, runs=runs)) is not None:
                self.facts = changes.gone(self.facts, now, gone)
                return
            held = start(self._home.path, f"{self.name}.toml", directory, self._output, pace=self._home.pace)
            self._watch_process(held)
        except OSError as error:
            self.facts = changes.not_started(self.facts, error, now, restarts=self._options.restarts)
            return
        self.facts = changes.started(self.facts, Process(pid=held.pid, directory=directory, began_at=now))
        self._log(logging.INFO, f"started in process {held.pid}, in {directory}")

    def _tell_to_end(self, end: End) -> None:
        assert self._process is not None
        self._process.tell_to_end(end.force)
        how = ("finishes what is in flight and ends", "is told to end at once", "is killed")[end.force]
        self._log(logging.INFO, f"process {self._process.pid} {how}: {end.reason}")
        self.facts = changes.told_to_end(self.facts, end.reason, force=end.force, is_fall=end.is_fall, now=time.time())

    def _notice_end(self) -> None:
        process, facts = self._process, self.facts.process
        if process is None or facts is None or not process.ended.done():
            return
        how = how_it_ended(process, self._output, facts.directory, is_foreign=facts.is_foreign)
        self._last_answer = last_answer(facts, self._output)
        process.close()
        self._process = None
        self._output.trim()
        self._seen_change = last_change(Path(facts.directory), upto_ns=self._output.printed_at_ns())
        if not facts.may_be_command:
            self._log(logging.INFO, f"process {facts.pid} has ended: {how_text(how, facts)}")
        self.facts = changes.ended(self.facts, how, time.time(), restarts=self._options.restarts)

    async def _look(self, directory: Path, *, inside: bool) -> None:
        try:
            async with asyncio.timeout(None) as self._looking:
                if (holder := await find_process(directory)) is not None and self._hold(*holder, str(directory)):
                    return
                if not inside:
                    self.facts = changes.found_nobody(self.facts)
                    return
                before = last_change(directory)  # what changes during the look, or after it, needs another one
                found = await self._commands.look_into(directory)
                self._seen_change = before
                self.facts = changes.looked(self.facts, found, time.time())
        except TimeoutError:
            return  # the keeper ends
        finally:
            self._looking = None

    def _look_no_more(self) -> None:
        """End a look, which may wait for those into hundreds of crawls."""
        if self._looking is not None and not self._looking.expired():
            self._looking.reschedule(asyncio.get_running_loop().time())

    async def _save(self) -> None:
        """Store what has to outlast the daemon."""
        if self.facts.unread is None and (unsaved := await self.memory.save(self.facts.record)) is not None:
            self._log(logging.WARNING, unsaved)

    async def watch(self, taken: Taken) -> CrawlStatus | None:
        """Look what the crawl says, and return it; if it does not run, look whether somebody has worked on it. What its
        process said at its end is returned once."""
        self._old_runs.look(self.facts)
        process = self.facts.process
        if process is None:
            changed = None if (directory := self.facts.directory) is None else last_change(Path(directory))
            if changed is not None and changed != self._seen_change:
                self._seen_change = changed
                self.change(changes.touched)
            said, self._last_answer = self._last_answer, None
            return said
        self._output.trim()
        status = await ask_status(Path(process.directory))
        run = None if status is None else status.run
        usage = changes.Usage(
            answers=status is not None,
            paused=process.paused if status is None else status.paused,
            waiting=self._output.why_silent() if run is None else run.waiting,
            pages=process.pages if run is None else run.pages,
            memory_bytes=taken.memory_bytes,
            open_files=taken.open_files,
        )
        self.change(lambda facts: changes.used(facts, process.pid, usage))
        return status

    def _tell(self) -> None:
        """Log how the crawl stands, if that has changed."""
        now = self.summary
        before, self._reported = self._reported, now
        if before is not None and before.state == now.state and (now.state == "running" or before == now):
            return
        if self.facts.is_closing or now.state in ("starting", "ending") or (now.state == "running" and not now.lines):
            return
        level = logging.WARNING if now.state in ("broken", "held", "crashed", "short") else logging.INFO
        until = "" if now.until is None else f"; until {now.until}"
        lines = "".join(f"\n    {line}" for line in now.lines)
        self._log(level, f"{now.state}: {now.reason}{until}{lines}")

    def _tell_deletion(self, path: Path) -> None:
        self._log(logging.INFO, f"deleted an old run: {path}")

    def _log(self, level: int, text: str) -> None:
        log.log(level, "%s: %s", self.name, text, extra={"crawl": self.name})

"""set, reload: the settings of a crawl in parts that runs. All its parts change, or none does."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Final

from config import Config, Loaded
from crawler.codes.exit_codes import FAILED, USAGE
from crawler.control.process import why_silent, why_stopped
from crawler.control.replies import Reconfigured, Refusal, SettingChange
from crawler.control.requests import Reload, Set
from crawler.disk.layout import Layout
from crawler.operate.answers import reply_or_refusal
from crawler.operate.refused import Refused
from crawler.operate.settings.changing import Prepared, Read, change_settings, write
from crawler.operate.settings.plan import Plan, make_plan, next_settings
from crawler.operate.settings.start import Start
from crawler.parts.sharing.configuration_giver import ANSWER_S, Answers
from crawler.parts.sharing.configuration_taker import Judged
from crawler.status import name_parts
from crawler.supervise.coordination.coordinator import Coordinator
from crawler.supervise.coordination.given import counts_pages
from crawler.supervise.coordination.watched_part import lacks_of_all
from crawler.supervise.preparing import configuration_for_parts
from crawler.wiring.crawl import check_configuration

log = logging.getLogger(__name__)

_COUNTED_TOGETHER: Final = "its parts count pages together from their start, or not at all"


class SettingsOfParts:
    """A `CrawlSettings`."""

    def __init__(
        self,
        coordinator: Coordinator,
        *,
        store: Callable[[Loaded], Awaitable[None]] | None = None,
        on_adopted: Callable[[int], object] = lambda _: None,
    ) -> None:
        """`store` keeps the configuration for later, by default in the directory of the crawl; it raises `OSError`
        or `Refused`.
        `on_adopted` hears of each part that has taken over a changed one."""
        self._coordinator = coordinator
        self._store = self._write if store is None else store
        self._on_adopted = on_adopted
        self._given = coordinator.given
        self._recorded = coordinator.plan.loaded
        self.next_settings: list[SettingChange] = []
        """What was changed, and holds from the next start."""

    @property
    def start(self) -> Start | None:
        return self._given.plan.start

    @property
    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """No part is opened while this lasts: it would begin with the old settings. Raises `Refused` if a part takes
        too long to open: none that dies is started again while this waits."""
        async with AsyncExitStack() as stack:
            try:
                async with asyncio.timeout(ANSWER_S):
                    await self._coordinator.all_open.wait()
                    await stack.enter_async_context(self._given.openings.held())
            except TimeoutError as error:
                raise Refused(f"nothing was changed: {self._why_not_alone()}", FAILED) from error
            try:
                yield
            finally:
                self._given.giver.drop()

    def _why_not_alone(self) -> str:
        closed = [(number, part.pid) for number, part in enumerate(self._coordinator.parts) if not part.is_open]
        if not closed:
            return "another change of the settings has not ended yet; try again"
        stopped = [f"part {number}: {why}" for number, pid in closed if (why := why_stopped(pid)) is not None]
        if stopped:
            return "; ".join(stopped)
        names = name_parts([number for number, _ in closed])
        return f"{names} of the crawl {'is' if len(closed) == 1 else 'are'} still being opened; try again later"

    async def prepare(self, read: Read) -> Prepared:
        if self._coordinator.is_stopping:
            raise Refused("the crawl ends now; repeat the command when it does not run", FAILED)
        # Files are read and patterns compiled beside the event loop: lists of places may be long.
        plan = await asyncio.to_thread(self._plan, read)
        log.info("asking all parts whether they can take over a changed configuration")
        self._check(await self._given.giver.judge(configuration_for_parts(plan.running.config)))
        return Prepared(plan=plan)

    def _plan(self, read: Read) -> Plan:
        new = read(self._recorded)
        running = self._given.plan.loaded
        plan = make_plan(self._recorded, running, new, lacks=self._lacks(running.config, new.config))
        check_configuration(new)
        if self._given.plan.layout.cluster is not None:
            _check_holds_now(plan)
        return plan

    def _lacks(self, running: Config, new: Config) -> Mapping[str, str]:
        lacks = lacks_of_all(self._coordinator.parts)
        if counts_pages(running) != counts_pages(new):
            lacks["limits.pages"] = _COUNTED_TOGETHER
        return lacks

    def _check(self, answers: Answers[Judged]) -> None:
        """Raises `Refused` unless all parts that run accept the settings."""
        reasons = {part: answer.refusal for part, answer in answers.given.items() if answer.refusal is not None}
        silent = {part: why_silent(self._coordinator.parts[part].pid, ANSWER_S) for part in answers.silent}
        if not reasons and not silent:
            return
        plan, parts = self._given.plan, self._coordinator.parts
        told = [
            f"part {part} ({place_of(part, plan.layout, plan.directory.path, parts[part].agent)}): {reason}"
            for part, reason in sorted({**reasons, **silent}.items())
        ]
        raise Refused(f"nothing was changed: {'; '.join(told)}", USAGE if reasons else FAILED)

    async def commit(self, prepared: Prepared) -> int:
        plan = prepared.plan
        await self._store(plan.recorded)
        self._recorded = plan.recorded
        self.next_settings = next_settings(plan.running, plan.recorded)
        self._given.replace(plan.running)
        answers = await self._given.giver.adopt(self._on_adopted)
        for part in answers.silent:
            log.warning("part %d has not answered yet: it takes over the settings when it goes on", part)
        return sum(each.new_seeds for each in answers.given.values())

    async def _write(self, recorded: Loaded) -> None:
        write(self._given.plan.directory, recorded)


def _check_holds_now(plan: Plan) -> None:
    """Raise `Refused` for what would hold from the next start. On many machines, each process that starts begins with
    the newest settings, and parts with different ones do not take links from each other."""
    for each in plan.changes:
        if each.holds == "restart":
            raise Refused(
                f"nothing was changed: {each.key} can't change while machines run the crawl, because {each.reason}. "
                "`onceover cluster stop` ends the run on all machines; then repeat the command, and start them again"
            )


def place_of(part: int, layout: Layout, path: Path, agent: str | None) -> str:
    """Where a part is of the crawl in a directory, for people. It may be on another machine, that of `agent`."""
    here = layout.directories_here(path)
    return str(here[part]) if part in here else f"on {agent or 'another machine'}"


async def reconfigure(
    coordinator: Coordinator, settings: SettingsOfParts, request: Set | Reload
) -> Reconfigured | Refusal:
    """Change all that a request asks for in all parts, or nothing."""
    changing = change_settings(settings, coordinator.plan.directory, request, is_running=True)
    return await reply_or_refusal(changing)

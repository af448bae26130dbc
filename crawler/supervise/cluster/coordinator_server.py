"""The coordinator's side of the lines to agents."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable
from functools import partial
from typing import Any, Final

from crawler.control.replies import Refusal
from crawler.engine import Ending
from crawler.parts.exchange.protocol import ExchangeBroken
from crawler.parts.exchange.redis import RedisExchange
from crawler.parts.exchange.redis_connection import RedisConnection
from crawler.parts.line.messages import End, Stop, ToPart
from crawler.supervise.cluster.joining import Joined
from crawler.supervise.cluster.line import AgentLine
from crawler.supervise.cluster.messages import (
    Adopted,
    Attached,
    Change,
    Changed,
    Detached,
    FromAgent,
    Hello,
    LookAgain,
    Remember,
    Says,
    Tell,
    ToAgent,
)
from crawler.supervise.cluster.settings import ClusterSettings
from crawler.supervise.coordination.coordinator import Coordinator, RunState

log = logging.getLogger(__name__)

REMEMBER_S: Final = 2.0

Line = AgentLine[FromAgent, ToAgent]


class CoordinatorServer:
    """Lets a `Coordinator` decide for the parts of all agents, while `run` runs. It does so only as long as the
    coordinator's lease lasts: whoever has it then cancels `run`."""

    def __init__(
        self,
        joined: Joined,
        exchange: RedisExchange[Any],
        *,
        run: RunState,
        after: str,
        end: Callable[[Ending], Awaitable[bool]],
    ) -> None:
        """`run` is how far the run is, as this machine knows it. `after` is the ending mark of the run before. `end`
        ends the run for all machines: it returns False if somebody else decides by now, and then nothing has ended."""
        self.coordinator = Coordinator(
            joined.plan,
            tell=log.info,
            on_begun=self._tell_run,
            confirm_end=self._end_for_all,
        )
        self._settings = ClusterSettings(self.coordinator, joined.register, joined.version, self._tell_adopted)
        self._exchange = exchange
        self._after = after
        self._end = end
        self._agents: dict[Line, str] = {}
        """The lines that have said hello, and who they are."""
        self._lines: dict[int, Line] = {}
        """The line of each attached part."""
        self._group: asyncio.TaskGroup | None = None
        self.coordinator.go_on(run)

    async def run(self) -> None:
        """Work until cancelled."""
        async with asyncio.TaskGroup() as group:
            self._group = group
            group.create_task(self.coordinator.run())
            group.create_task(self._end_at_limit())
            group.create_task(self._keep_telling())
            while (connection := await self._exchange.accept()) is not None:
                group.create_task(self._serve(connection))

    def look(self, unheld: Iterable[int]) -> None:
        """Nobody has held these parts for so long that they have no processes."""
        for part in unheld:
            if part not in self._lines:
                self.coordinator.end(part)

    # lines

    async def _serve(self, connection: RedisConnection[Any]) -> None:
        line: Line = AgentLine(connection)
        try:
            await line.run(self._receive(line))
        except ExchangeBroken as error:
            log.info("the line to %s has ended: %s", self._agents.get(line), error)
        finally:
            self._agents.pop(line, None)
            for part in [part for part, each in self._lines.items() if each is line]:
                del self._lines[part]
                self.coordinator.lose(part)

    async def _receive(self, line: Line) -> None:
        hello = await line.receive()
        if not isinstance(hello, Hello):
            return
        self._agents[line] = hello.agent
        log.info("%s is connected", hello.agent)
        if hello.after == self._after:
            self.coordinator.go_on(hello.run)
        line.send(Remember(run=self.coordinator.run_state))
        while (message := await line.receive()) is not None:
            match message:
                case Attached(part=part):
                    self._attach(line, hello.agent, message)
                case Says(part=part, message=said) if self._lines.get(part) is line:
                    self.coordinator.take(part, said)
                case Detached(part=part) if self._lines.get(part) is line:
                    del self._lines[part]
                    self.coordinator.end(part)
                case Change():
                    assert self._group is not None
                    self._group.create_task(self._change(line, message))

    def _attach(self, line: Line, agent: str, message: Attached) -> None:
        part = message.part
        if part in self._lines:
            self.coordinator.lose(part)
        self._lines[part] = line
        self.coordinator.attach(part, partial(_tell, line, part), message.opened, message.status, agent=agent)

    async def _change(self, line: Line, message: Change) -> None:
        reply = await self._settings.change(message.settings, dry_run=message.dry_run)
        if isinstance(reply, Refusal):
            answer = Changed(ticket=message.ticket, done=None, refusal=reply.message, exit_code=reply.exit_code)
        else:
            answer = Changed(ticket=message.ticket, done=reply)
        line.send(answer)

    # what all agents hear

    def _tell_adopted(self, version: int, part: int) -> None:
        self._tell_all(Adopted(version=version, part=part))

    def _tell_run(self) -> None:
        self._tell_all(Remember(run=self.coordinator.run_state))

    async def _keep_telling(self) -> None:
        while True:
            await asyncio.sleep(REMEMBER_S)
            self._tell_run()

    def _tell_all(self, message: ToAgent) -> None:
        for line in self._agents:
            line.send(message)

    # the end

    async def _end_for_all(self, ending: Ending) -> bool:
        has_ended = await self._end(ending)
        self._tell_all(LookAgain())
        return has_ended

    async def _end_at_limit(self) -> None:
        await self.coordinator.ends.wait()
        if self.coordinator.ending not in (Ending.COMPLETE, Ending.INCOMPLETE):
            await self._end_for_all(self.coordinator.ending or Ending.LIMIT)


def _tell(line: Line, part: int, message: ToPart) -> None:
    """Agents end their parts themselves, by the ending mark."""
    if not isinstance(message, End | Stop):
        line.send(Tell(part=part, message=message))

"""The agent's side of the line to the coordinator."""

import asyncio
import logging
from collections.abc import Callable
from typing import Any, Final

from crawler.codes.exit_codes import FAILED
from crawler.control.replies import Reconfigured, Refusal
from crawler.parts.exchange.protocol import ExchangeBroken, Unreachable
from crawler.parts.exchange.redis import RedisExchange
from crawler.parts.line.messages import Answered, Connect, Connected, Disconnect, Ended, FromPart, Progress, ToService
from crawler.parts.sharing.configuration_giver import ANSWER_S
from crawler.supervise.cluster.line import AgentLine
from crawler.supervise.cluster.messages import (
    COORDINATOR,
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
from crawler.supervise.coordination.coordinator import RunState
from crawler.supervise.coordination.watched_part import WatchedPart

log = logging.getLogger(__name__)

PROGRESS_S: Final = 1.0
"""Between two words about the progress of a part that stays busy or idle."""
_FIRST_RETRY_S: Final = 0.1
_LAST_RETRY_S: Final = 1.0

Line = AgentLine[ToAgent, FromAgent]


class CoordinatorClient:
    """Keeps the parts of this machine connected to whoever decides for the crawl, while `run` runs."""

    def __init__(
        self,
        name: str,
        exchange: RedisExchange[Any],
        *,
        look_again: Callable[[], object],
        adopted: Callable[[int, int], object],
    ) -> None:
        """`look_again` reads the register, and `adopted` hears which version of the configuration has been taken over
        by which part."""
        self._name = name
        self._exchange = exchange
        self._look_again = look_again
        self._adopted = adopted
        self.after = ""
        """The ending mark that this agent does not obey."""
        self.run_state = RunState()
        self._parts: dict[int, WatchedPart] = {}
        """Those that are open."""
        self._attached: set[int] = set()
        self._said: dict[int, tuple[bool, float]] = {}
        """Of each attached part: whether it was idle, and when that was said."""
        self._line: Line | None = None
        self._number = 0
        self._tickets = 0
        self._answers: dict[int, asyncio.Future[Reconfigured | Refusal]] = {}

    # the parts

    def open(self, number: int, part: WatchedPart) -> None:
        """A process has opened the part."""
        self._parts[number] = part
        if self._line is not None:
            part.send(Connect(self._number))

    def take(self, number: int, message: FromPart) -> None:
        """A part has said something. What the coordinator need not know stays here."""
        if isinstance(message, Connected):
            self._attach(number, message.number)
        elif self._line is not None and number in self._attached:
            match message:
                case Progress():
                    self._pass_progress(self._line, number, message)
                case Answered() | Ended() | ToService():
                    self._line.send(Says(part=number, message=message))

    def end(self, number: int) -> None:
        """The process of the part has ended."""
        self._parts.pop(number, None)
        if self._line is not None and number in self._attached:
            self._line.send(Detached(part=number))
        self._attached.discard(number)

    def _attach(self, number: int, connection: int) -> None:
        part = self._parts.get(number)
        status = None if part is None else part.status()
        if self._line is None or connection != self._number or part is None or part.opened is None or status is None:
            return
        self._attached.add(number)
        self._said.pop(number, None)
        self._line.send(Attached(part=number, opened=part.opened, status=status))

    def _pass_progress(self, line: Line, number: int, message: Progress) -> None:
        now = asyncio.get_running_loop().time()
        was_idle, said_at = self._said.get(number, (False, 0.0))
        status = self._parts[number].status() if number in self._parts else None
        if status is None or not line.is_calm or (was_idle == message.is_idle and now < said_at + PROGRESS_S):
            return
        self._said[number] = message.is_idle, now
        line.send(Says(part=number, message=Progress(status=status, is_idle=message.is_idle)))

    # operators

    async def change(self, settings: list[str], *, dry_run: bool) -> Reconfigured | Refusal:
        """Let the coordinator change settings in all parts of the crawl."""
        if (trouble := self._exchange.trouble) is not None:
            return Refusal(
                f"nothing was changed: the machine that decides for the crawl can't be asked, because {trouble}", FAILED
            )
        if self._line is None:
            return Refusal("no machine decides for the crawl at the moment; try again in a minute", FAILED)
        self._tickets = ticket = self._tickets + 1
        answer: asyncio.Future[Reconfigured | Refusal] = asyncio.get_running_loop().create_future()
        self._answers[ticket] = answer
        self._line.send(Change(ticket=ticket, settings=settings, dry_run=dry_run))
        while not answer.done():
            await asyncio.wait({answer}, timeout=ANSWER_S)
            if not answer.done() and (trouble := self._exchange.trouble) is not None:
                self._answers.pop(ticket, None)
                return Refusal(
                    f"the machine that decides for the crawl has not answered, because {trouble}. It may still change "
                    "the settings: when Redis can be used again, repeat the command",
                    FAILED,
                )
        return answer.result()

    # the coordinator

    async def run(self) -> None:
        wait_s = _FIRST_RETRY_S
        while True:
            try:
                connection = await self._exchange.connect(COORDINATOR)
            except Unreachable as error:
                log.debug("%s", error)
            else:
                await self._converse(AgentLine(connection))
                wait_s = _FIRST_RETRY_S
            await asyncio.sleep(wait_s)
            wait_s = min(2 * wait_s, _LAST_RETRY_S)

    async def _converse(self, line: Line) -> None:
        self._line, self._number = line, self._number + 1
        line.send(Hello(agent=self._name, after=self.after, run=self.run_state))
        for part in self._parts.values():
            part.send(Connect(self._number))
        try:
            await line.run(self._listen(line))
        except ExchangeBroken as error:
            log.info("the line to the coordinator has ended: %s", error)
        finally:
            self._disconnect()

    def _disconnect(self) -> None:
        self._line = None
        self._attached.clear()
        for part in self._parts.values():
            part.send(Disconnect())
        answers, self._answers = self._answers, {}
        for answer in answers.values():
            if not answer.done():
                answer.set_result(
                    Refusal(
                        "the machine that decides for the crawl can't be reached any more; look what holds now", FAILED
                    )
                )

    async def _listen(self, line: Line) -> None:
        while (message := await line.receive()) is not None:
            match message:
                case Tell(part=part, message=told) if part in self._attached:
                    self._parts[part].send(told)
                case Remember(run=run):
                    self.run_state = run
                case LookAgain():
                    self._look_again()
                case Adopted(version=version, part=part):
                    self._adopted(version, part)
                case Changed():
                    self._resolve(message)

    def _resolve(self, message: Changed) -> None:
        answer = self._answers.pop(message.ticket, None)
        if answer is not None and not answer.done():
            answer.set_result(message.done or Refusal(message.refusal, message.exit_code))

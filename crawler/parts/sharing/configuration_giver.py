"""The supervisor's side of a change of the configuration: all parts judge it, then all adopt it, or none does."""

import asyncio
from collections.abc import Callable
from typing import Final, Generic, TypeVar

import msgspec

from crawler.parts.line.services import Send
from crawler.parts.sharing.configuration_taker import NAME, Adopt, Adopted, Drop, Judge, Judged

ANSWER_S: Final = 60.0
"""How long a part may take. It may have long lists of places to read, or be stopped by a signal."""

_Answer = TypeVar("_Answer", Judged, Adopted)


class Answers(msgspec.Struct, Generic[_Answer], frozen=True):
    given: dict[int, _Answer]
    """By part. A part that has died meanwhile has none."""
    silent: list[int]
    """Parts that have not answered in time."""


class ConfigurationGiver:
    """The caller makes one change at a time: `judge`, then `adopt` or `drop`."""

    name = NAME
    messages = Judged | Adopted

    def __init__(self) -> None:
        self._sends: dict[int, Send] = {}
        self._have_judged: set[int] = set()
        """Parts that were connected without a break since they have judged the configuration."""
        self._hear: Callable[[int], object] = lambda _: None
        self._ticket = 0
        self._waiting: dict[int, asyncio.Future[Judged | Adopted | None]] = {}
        self._may_drop = False

    def connect(self, part: int, send: Send, /) -> None:
        self._sends[part] = send

    def receive(self, part: int, message: Judged | Adopted, /) -> None:
        """A late answer to an earlier question changes nothing."""
        if message.ticket != self._ticket:
            return
        if isinstance(message, Judged):
            self._have_judged.add(part)
        else:
            self._hear(part)
        self._resolve(part, message)

    def lose(self, part: int, /) -> None:
        self.disconnect(part)

    def disconnect(self, part: int, /) -> None:
        """The part gets the configuration that holds when it starts again."""
        self._sends.pop(part, None)
        self._have_judged.discard(part)
        self._resolve(part, None)

    async def judge(self, configuration: str) -> Answers[Judged]:
        """Ask all parts that run. Nothing changes yet."""
        self._may_drop = True
        self._have_judged.clear()
        return await self._ask(lambda ticket: Judge(ticket, configuration), Judged, set(self._sends))

    async def adopt(self, hear: Callable[[int], object] = lambda _: None) -> Answers[Adopted]:
        """Let all parts adopt what they have judged. They do, also if this is cancelled; one that is silent does when
        it goes on. `hear` is called with each part as soon as it has, also after this has returned.

        On many machines, a part may get another process between both questions, or another line. It is not asked."""
        self._may_drop, self._hear = False, hear
        return await self._ask(Adopt, Adopted, self._have_judged)

    def drop(self) -> None:
        """Let all parts forget what they have judged, unless they were told to adopt it."""
        if self._may_drop:
            self._may_drop = False
            for send in self._sends.values():
                send(Drop())

    async def _ask(
        self, question: Callable[[int], Judge | Adopt], expected: type[_Answer], parts: set[int]
    ) -> Answers[_Answer]:
        self._ticket += 1
        loop = asyncio.get_running_loop()
        self._waiting = waiting = {part: loop.create_future() for part in sorted(parts)}
        for part in waiting:
            self._sends[part](question(self._ticket))
        if waiting:
            await asyncio.wait(waiting.values(), timeout=ANSWER_S)
        answers = {part: each.result() for part, each in waiting.items() if each.done()}
        return Answers(
            {part: each for part, each in answers.items() if isinstance(each, expected)},
            [part for part in waiting if part not in answers],
        )

    def _resolve(self, part: int, answer: Judged | Adopted | None) -> None:
        waiting = self._waiting.get(part)
        if waiting is not None and not waiting.done():
            waiting.set_result(answer)

"""A part's side of a change of the configuration: it judges it, then adopts it or not."""

import asyncio
from typing import Final, Protocol

import msgspec

from crawler.parts.ending import Gate
from crawler.parts.line.services import Send

NAME: Final = "configuration"
_ENDS: Final = "the crawl is complete, and ends now; repeat the command when it does not run"


class Judge(msgspec.Struct, frozen=True, tag="judge"):
    """Say whether this configuration could hold. The answer is `Judged`. `Adopt` or `Drop` follows."""

    ticket: int
    configuration: str


class Adopt(msgspec.Struct, frozen=True, tag="adopt"):
    """Let the configuration hold that was judged last. The answer is `Adopted`."""

    ticket: int


class Drop(msgspec.Struct, frozen=True, tag="drop"):
    """Forget the configuration that was judged last."""


class Judged(msgspec.Struct, frozen=True, tag="judged"):
    ticket: int
    refusal: str | None
    """Why the configuration can't hold."""


class Adopted(msgspec.Struct, frozen=True, tag="adopted"):
    ticket: int
    new_seeds: int


class Configured(Protocol):
    """A part whose configuration changes."""

    async def judge(self, configuration: str, /) -> str | None:
        """Why the configuration can't hold; None if it can. Nothing changes yet."""
        ...

    async def adopt(self) -> int:
        """Let the configuration hold that was judged last. Returns the number of new seeds."""
        ...

    def drop(self) -> None:
        """Forget it. Dropping twice is harmless."""
        ...


class ConfigurationTaker:
    """Obeys the supervisor while `run` runs. From the question to its end the part is not idle, so that a crawl does
    not end while it gets new seeds."""

    name = NAME
    messages = Judge | Adopt | Drop

    def __init__(self, part: Configured, gate: Gate) -> None:
        self._part = part
        self._gate = gate
        self._has_entered = False
        self._send: Send | None = None
        self._messages: asyncio.Queue[tuple[Judge | Adopt | Drop, Send | None]] = asyncio.Queue()
        """Each with who gets the answer. A few at most, as the supervisor makes one change at a time."""

    def connect(self, send: Send, /) -> None:
        self._send = send

    def receive(self, message: Judge | Adopt | Drop, /) -> None:
        self._messages.put_nowait((message, self._send))

    def disconnect(self) -> None:
        """What was judged stays: nobody can know whether other parts adopt it. Nobody waits for a question any more."""
        self._send = None
        for _ in range(self._messages.qsize()):
            message, send = self._messages.get_nowait()
            if not isinstance(message, Judge):
                self._messages.put_nowait((message, send))
        self._leave()

    async def run(self) -> None:
        while True:
            message, send = await self._messages.get()
            match message:
                case Judge(ticket=ticket, configuration=configuration):
                    self._answer(Judged(ticket, await self._judge(configuration)), send)
                case Adopt(ticket=ticket):
                    new_seeds = await self._part.adopt()
                    self._leave()
                    self._answer(Adopted(ticket, new_seeds), send)
                case Drop():
                    self._part.drop()
                    self._leave()

    async def _judge(self, configuration: str) -> str | None:
        self._has_entered = self._gate.enter()
        return await self._part.judge(configuration) if self._has_entered else _ENDS

    def _leave(self) -> None:
        if self._has_entered:
            self._has_entered = False
            self._gate.leave()

    def _answer(self, message: Judged | Adopted, send: Send | None) -> None:
        """Another supervisor that decides by now may have given the same ticket."""
        if send is not None and send is self._send:
            send(message)

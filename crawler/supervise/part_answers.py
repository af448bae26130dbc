"""A part's answers to the question whether the crawl is complete."""

import asyncio
from collections.abc import Callable

from crawler.parts.ending import Answer
from crawler.parts.exchange.carrier import Carrier
from crawler.parts.line.messages import Answered, Ask


class PartAnswers:
    """Answers one question after the other, while `run` runs. An answer may wait until the disk has space, and the part
    must hear meanwhile that it is to stop."""

    def __init__(self, carrier: Carrier, send: Callable[[Answered], object]) -> None:
        self._carrier = carrier
        self._send = send
        self._question: Ask | None = None
        self._is_asked = asyncio.Event()

    def ask(self, question: Ask) -> None:
        """Nobody waits for the answer to an earlier question any more."""
        gate = self._carrier.gate
        if question.close_gate:
            gate.close()
        else:
            gate.open()
        self._question = question
        self._is_asked.set()

    def forget(self) -> None:
        """Another coordinator may ask from now on. It must not get the answer to an earlier question."""
        self._question = None

    async def run(self) -> None:
        while True:
            await self._is_asked.wait()
            self._is_asked.clear()
            if (question := self._question) is not None:
                report = await self._carrier.report()
                if self._question is question:
                    answer = Answer(report=report, gate_is_closed=self._carrier.gate.is_closed)
                    self._send(Answered(wave=question.wave, answer=answer))

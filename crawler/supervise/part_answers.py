"""What a part answers: whether the crawl is complete, and whether it can take over a configuration."""

import asyncio
from collections.abc import Callable, Mapping

from config import ConfigError, Loaded
from crawler.parts.agreement import Agreement
from crawler.parts.ending import Answer
from crawler.parts.exchange.carrier import Carrier
from crawler.parts.line.messages import Answered, Ask
from crawler.wiring.live.live import LiveSettings
from crawler.wiring.live.values import Values, make_values


class PartAnswers:
    """Answers whether the crawl is complete, one question after the other, while `run` runs. An answer may wait until
    the disk has space, and the part must hear meanwhile that it is to stop."""

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


class PartSettings:
    """A `Configured`: the settings of a part, which change with those of all parts."""

    def __init__(
        self,
        live: LiveSettings,
        agreement: Agreement,
        *,
        load: Callable[[str], Loaded],
        agree: Callable[[str], Mapping[str, str]],
    ) -> None:
        """`load` reads a configuration as the supervisor sends it, and `agree` returns what all parts must agree on
        with it."""
        self._live = live
        self._agreement = agreement
        self._load = load
        self._agree = agree
        self._judged: Values | None = None

    async def judge(self, configuration: str, /) -> str | None:
        try:
            # Files are read and patterns compiled beside the event loop: lists of places may be long.
            self._judged = await asyncio.to_thread(lambda: make_values(self._load(configuration)))
        except ConfigError as error:
            return str(error)
        self._agreement.propose(self._agree(configuration))
        return None

    async def adopt(self) -> int:
        assert self._judged is not None
        values, self._judged = self._judged, None
        self._agreement.adopt()
        return await self._live.replace(values)

    def drop(self) -> None:
        if self._judged is not None:
            self._judged = None
            self._agreement.drop()

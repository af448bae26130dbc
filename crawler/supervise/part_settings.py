"""The settings of a part, which change with those of all parts."""

import asyncio
from collections.abc import Callable, Mapping

from config import ConfigError, Loaded
from crawler.parts.agreement import Agreement
from crawler.wiring.live.live import LiveSettings
from crawler.wiring.live.values import Values, make_values


class PartSettings:
    """A `Configured`."""

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

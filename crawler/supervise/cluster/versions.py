"""Which configuration each process of a part works with. It takes the time as an argument."""

from typing import Final

from crawler.parts.sharing.configuration_giver import ANSWER_S

MISSED_S: Final = ANSWER_S
"""A part that has not taken over a configuration so long after the machine has read of it has missed it: the machine
that decides died, or could not reach it. It may also be slow."""


class Versions:
    """Of the configurations with which the parts of a machine work."""

    def __init__(self) -> None:
        self._has: dict[int, int] = {}
        self._holds = 0
        self._since = 0.0

    def begin(self, part: int, version: int) -> None:
        """A process begins with a configuration."""
        self._has[part] = version

    def adopt(self, part: int, version: int) -> None:
        """A part has taken over a configuration."""
        if part in self._has:
            self._has[part] = max(version, self._has[part])

    def hold(self, version: int, now: float) -> None:
        """This machine has read which configuration holds."""
        if version > self._holds:
            self._holds, self._since = version, now

    def missed(self, now: float) -> list[int]:
        """The parts that have missed the configuration that holds."""
        if now < self._since + MISSED_S:
            return []
        return [part for part, version in self._has.items() if version < self._holds]

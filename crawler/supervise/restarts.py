"""When a part that has died starts again. Pure."""

from typing import Final

FIRST_S: Final = 0.5
MAX_DEATHS: Final = 5
WITHIN_S: Final = 600.0
"""A part may die so often within this time."""


class Restarts:
    """The deaths of one part."""

    def __init__(self) -> None:
        self._deaths: list[float] = []

    @property
    def deaths(self) -> int:
        """Lately."""
        return len(self._deaths)

    def wait_s(self, now: float) -> float | None:
        """The part has died. Returns how long to wait before it starts again: twice as long each time. None if it has
        died too often."""
        self._deaths = [each for each in self._deaths if each > now - WITHIN_S] + [now]
        if len(self._deaths) > MAX_DEATHS:
            return None
        return FIRST_S * 2.0 ** (len(self._deaths) - 1)

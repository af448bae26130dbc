"""Long work in steps, so that nobody waits long for the event loop. Pure: `reading.in_turn` lets others have theirs."""

from collections.abc import Generator
from typing import Final, TypeVar

LINKS_AT_ONCE: Final = 200
"""Links that are judged or admitted in one step. That takes some 5 ms, and up to 40 ms where no href is ASCII.
Nothing should take more than 50."""

_Result = TypeVar("_Result")

Steps = Generator[None, None, _Result]
"""Work that pauses between its steps, and returns its result at the end."""


def at_once(steps: Steps[_Result]) -> _Result:
    """Take all steps."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            result: _Result = end.value
            return result

"""Long work in steps, so that it does not block the event loop. Pure; `reading.run_steps` lets other tasks run."""

from collections.abc import Generator
from typing import Final, TypeVar

LINKS_AT_ONCE: Final = 200
"""Distinct links that are judged or admitted in one step. That takes about 5 ms, and up to 40 ms if no href is ASCII.
No step should take more than 50 ms."""

_Result = TypeVar("_Result")

Steps = Generator[None, None, _Result]
"""Work that yields between its steps, and returns its result at the end."""


def run_all(steps: Steps[_Result]) -> _Result:
    """Run all steps without a pause."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            result: _Result = end.value
            return result

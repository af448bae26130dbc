"""The event loops on which a crawl may run."""

import asyncio
import functools
import inspect
from collections.abc import Callable, Coroutine
from typing import Any, Final

import pytest
import uvloop

LOOPS: Final[dict[str, Callable[[], asyncio.AbstractEventLoop]]] = {
    "asyncio": asyncio.new_event_loop,
    "uvloop": uvloop.new_event_loop,
}


def on_each_loop(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    """Make tests of a coroutine, one on each loop."""

    @functools.wraps(test)
    def run(*, loop: str, **given: Any) -> None:
        with asyncio.Runner(loop_factory=LOOPS[loop]) as runner:
            runner.run(test(**given))

    takes = inspect.signature(test)
    loop = inspect.Parameter("loop", inspect.Parameter.KEYWORD_ONLY)
    run.__signature__ = takes.replace(parameters=[*takes.parameters.values(), loop])  # type: ignore[attr-defined]
    each: Callable[..., None] = pytest.mark.parametrize("loop", LOOPS)(run)
    return each

"""Which crawls may start now: a folder may have hundreds that are due at once. While all of them start, the machine has
no time for those that run, and takes long until the first one fetches."""

from collections import OrderedDict
from collections.abc import Callable
from itertools import islice
from typing import Final

from crawler.serve.life.facts import Facts
from crawler.serve.life.steps import Start, Step, Wait

STARTING_S: Final = 60.0
"""A process that has not answered for so long may never answer, as where the file system takes no sockets."""


class Turns:
    """Lets a bounded number of crawls start at once. Others wait for their turn."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._starting: set[str] = set()
        self._waiting: OrderedDict[str, Callable[[], object]] = OrderedDict()

    def in_turn(self, name: str, facts: Facts, step: Step, now: float, *, wake: Callable[[], object]) -> Step:
        """The next step of a crawl, or to wait for its turn to start. `wake` is called when it should ask again."""
        if not _is_starting(facts, step, now):
            self.leave(name)
        elif facts.process is not None or name in self._starting or len(self._starting) < self._most:
            self._waiting.pop(name, None)
            self._starting.add(name)
        else:
            self._waiting[name] = wake
            return Wait(None)
        return step

    def has_waiting(self, name: str) -> bool:
        """Whether a crawl waits for its turn."""
        return name in self._waiting

    def leave(self, name: str) -> None:
        """The crawl has started, or is not to start any more."""
        self._starting.discard(name)
        self._waiting.pop(name, None)
        free = max(self._most - len(self._starting), 0)
        for wake in list(islice(self._waiting.values(), free)):
            wake()


def _is_starting(facts: Facts, step: Step, now: float) -> bool:
    """Whether the crawl is to start now, or has a process that is just being opened."""
    process = facts.process
    if process is None:
        return isinstance(step, Start)
    return not process.has_answered and 0 <= now - process.began_at < STARTING_S

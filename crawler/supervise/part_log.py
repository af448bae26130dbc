"""Tells the supervisor what a part warns of, and people what the supervisor hears."""

import logging
from collections import Counter
from collections.abc import Callable

from crawler.library.log_handlers import PER_KIND, FirstWarnings
from crawler.parts.line.messages import Warned

log = logging.getLogger(__name__)


def warning_by(send: Callable[[Warned], None]) -> FirstWarnings:
    """Sends the first few warnings of each kind."""
    return FirstWarnings(lambda kind, text: send(Warned(kind=kind, text=text)))


class Warnings:
    """Tells people the first few warnings of each kind, whichever parts they come from."""

    def __init__(self, tell: Callable[[str], object]) -> None:
        self._tell = tell
        self._heard: Counter[str] = Counter()

    def take(self, number: int, kind: str, text: str) -> None:
        log.info("part %d: %s", number, text, extra={"fields": {"of_part": number}})
        self._heard[kind] += 1
        if self._heard[kind] <= PER_KIND:
            self._tell(f"part {number}: {text}")

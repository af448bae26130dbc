"""Tells the supervisor what a part warns of, and people what the supervisor hears."""

import logging
from collections import Counter
from collections.abc import Callable
from typing import Final

from crawler.parts.line.messages import Warned

log = logging.getLogger(__name__)

REPORTED_PER_KIND: Final = 3


class TellingHandler(logging.Handler):
    """Tells the first few warnings of each kind: those that differ only in arguments."""

    def __init__(self, tell: Callable[[Warned], None]) -> None:
        super().__init__(logging.WARNING)
        self._tell = tell
        self._seen: Counter[str] = Counter()

    def emit(self, record: logging.LogRecord) -> None:
        kind = f"{record.name}: {record.msg}"
        self._seen[kind] += 1
        if self._seen[kind] <= REPORTED_PER_KIND:
            self._tell(Warned(kind=kind, text=f"{record.levelname.lower()}: {record.getMessage()}"))


class Warnings:
    """Tells people the first few warnings of each kind, whichever parts they come from."""

    def __init__(self, tell: Callable[[str], object]) -> None:
        self._tell = tell
        self._heard: Counter[str] = Counter()

    def take(self, number: int, kind: str, text: str) -> None:
        log.info("part %d: %s", number, text, extra={"fields": {"of_part": number}})
        self._heard[kind] += 1
        if self._heard[kind] <= REPORTED_PER_KIND:
            self._tell(f"part {number}: {text}")

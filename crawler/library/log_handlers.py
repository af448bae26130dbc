"""Where log messages go, and the first few warnings of each kind."""

import logging
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

PER_KIND: Final = 3


class FirstWarnings(logging.Handler):
    """Tells the first few warnings of each kind: those that differ only in arguments."""

    def __init__(self, tell: Callable[[str, str], object], *, per_kind: int = PER_KIND) -> None:
        """Calls `tell` with the kind and the text."""
        super().__init__(logging.WARNING)
        self._tell = tell
        self._per_kind = per_kind
        self._seen: Counter[str] = Counter()

    @property
    def suppressed(self) -> int:
        return sum(max(0, count - self._per_kind) for count in self._seen.values())

    def emit(self, record: logging.LogRecord) -> None:
        kind = f"{record.name}: {record.msg}"
        self._seen[kind] += 1
        if self._seen[kind] <= self._per_kind:
            self._tell(kind, f"{record.levelname.lower()}: {record.getMessage()}")


@contextmanager
def logging_by(*handlers: logging.Handler) -> Iterator[None]:
    """These handlers get all messages while the context lasts. It closes them."""
    root = logging.getLogger()
    level = root.level
    root.setLevel(logging.INFO)
    for handler in handlers:
        root.addHandler(handler)
    try:
        yield
    finally:
        for handler in handlers:
            root.removeHandler(handler)
            handler.close()
        root.setLevel(level)

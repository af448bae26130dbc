"""Where log messages go while a crawl runs: all to a file, and a few warnings of each kind to the console too."""

import logging
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from crawler.cli.run.diagnostics import Diagnostics
from crawler.library.crawl_log import log_into
from crawler.status import number_of

SHOWN_PER_KIND = 3


class _ConsoleHandler(logging.Handler):
    """Prints warnings above a live display. It prints only the first few of messages that differ only in arguments."""

    def __init__(self, console: Diagnostics) -> None:
        super().__init__(logging.WARNING)
        self._console = console
        self._seen: Counter[tuple[str, str]] = Counter()

    @property
    def suppressed(self) -> int:
        return sum(max(0, count - SHOWN_PER_KIND) for count in self._seen.values())

    def emit(self, record: logging.LogRecord) -> None:
        kind = (record.name, str(record.msg))
        self._seen[kind] += 1
        if self._seen[kind] <= SHOWN_PER_KIND:
            text = f"{record.levelname.lower()}: {record.getMessage()}"
            self._console.tell(text)


@contextmanager
def logging_to(file: Path, form: logging.Formatter, console: Diagnostics) -> Iterator[None]:
    """Log into a file, which is created when there is something to log, and to the console."""
    to_console = _ConsoleHandler(console)
    try:
        with log_into(file, form, to_console):
            yield
    finally:
        if to_console.suppressed:
            console.tell(f"{number_of(to_console.suppressed, 'more warning')} of these kinds: see {file}")

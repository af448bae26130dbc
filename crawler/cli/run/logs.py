"""Where log messages go while a crawl runs: all to a file, and a few warnings of each kind to the console too."""

import logging
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from config import Config
from crawler.cli.run.diagnostics import Diagnostics
from crawler.library.crawl_log import log_into
from crawler.library.log_form import log_form
from crawler.status import number_of

SHOWN_PER_KIND = 3


class _ConsoleHandler(logging.Handler):
    """Prints warnings above a live display. It prints only the first few of messages that differ only in arguments."""

    def __init__(self, console: Diagnostics, *, shown_per_kind: int = SHOWN_PER_KIND) -> None:
        super().__init__(logging.WARNING)
        self._console = console
        self._shown_per_kind = shown_per_kind
        self._seen: Counter[tuple[str, str]] = Counter()

    @property
    def suppressed(self) -> int:
        return sum(max(0, count - self._shown_per_kind) for count in self._seen.values())

    def emit(self, record: logging.LogRecord) -> None:
        kind = (record.name, str(record.msg))
        self._seen[kind] += 1
        if self._seen[kind] <= self._shown_per_kind:
            text = f"{record.levelname.lower()}: {record.getMessage()}"
            self._console.tell(text)


@contextmanager
def logging_to(file: Path, config: Config, console: Diagnostics) -> Iterator[None]:
    """Log into the file of a crawl, which is created when there is something to log, and to the console."""
    to_console = _ConsoleHandler(console)
    try:
        with log_into(file, log_form(config.log.format, crawl=config.crawl.name), to_console):
            yield
    finally:
        if to_console.suppressed:
            console.tell(f"{number_of(to_console.suppressed, 'more warning')} of these kinds: see {file}")


@contextmanager
def warning_on(console: Diagnostics) -> Iterator[None]:
    """Show warnings on the console alone, all of them."""
    handler = _ConsoleHandler(console, shown_per_kind=sys.maxsize)
    root = logging.getLogger()
    root.addHandler(handler)
    try:
        yield
    finally:
        root.removeHandler(handler)

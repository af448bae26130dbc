"""Where log messages go while a crawl runs: all to a file, and a few warnings of each kind to the console too."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from config import Config
from crawler.cli.run.diagnostics import Diagnostics
from crawler.library.crawl_log import log_into
from crawler.library.log_form import log_form
from crawler.library.log_handlers import FirstWarnings, logging_by
from crawler.status import number_of


@contextmanager
def logging_to(file: Path, config: Config, console: Diagnostics) -> Iterator[None]:
    """Log into the file of a crawl, which is created when there is something to log, and to the console."""
    to_console = FirstWarnings(lambda _, text: console.tell(text))
    try:
        with log_into(file, log_form(config.log.format, crawl=config.crawl.name), to_console):
            yield
    finally:
        if to_console.suppressed:
            console.tell(f"{number_of(to_console.suppressed, 'more warning')} of these kinds: see {file}")


@contextmanager
def warning_on(console: Diagnostics) -> Iterator[None]:
    """Show warnings on the console alone, all of them."""
    with logging_by(FirstWarnings(lambda _, text: console.tell(text), per_kind=sys.maxsize)):
        yield

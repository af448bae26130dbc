"""Tells people on stderr how a run goes, and writes its log. Rich, which draws, is loaded for a terminal alone."""

import asyncio
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from config import Config
from crawler.cli.run.streams import LastingStream
from crawler.library.crawl_log import log_into
from crawler.library.log_form import log_form
from crawler.library.log_handlers import FirstWarnings, logging_by
from crawler.progress import ReadStatus, line
from crawler.status import number_of


class Diagnostics(Protocol):
    """What people read while a crawl runs."""

    def tell(self, text: str, /) -> None:
        """Print a line."""
        ...

    async def show_progress(self, read: ReadStatus, /, *, interval_s: float) -> None:
        """Show progress until cancelled: a live table on a terminal, elsewhere a line in each interval."""
        ...


class Lines:
    """`Diagnostics` for a file or a pipe."""

    def __init__(self, stream: LastingStream) -> None:
        self._stream = stream

    def tell(self, text: str, /) -> None:
        self._stream.write(f"{text}\n")
        self._stream.flush()

    async def show_progress(self, read: ReadStatus, /, *, interval_s: float) -> None:
        while True:
            await asyncio.sleep(interval_s)
            self.tell(line(read()))


def diagnostics() -> Diagnostics:
    stream = LastingStream(sys.stderr)
    # Rich takes anything for a terminal if one of these asks for that.
    if stream.isatty() or os.environ.get("FORCE_COLOR") or os.environ.get("TTY_COMPATIBLE") == "1":
        from crawler.cli.run.drawing import Drawing  # noqa: PLC0415 - see above
        from crawler.cli.run.terminal import lasting_console  # noqa: PLC0415 - see above

        console = lasting_console(stream)
        if console.is_terminal and not console.is_dumb_terminal:
            return Drawing(console)
    return Lines(stream)


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

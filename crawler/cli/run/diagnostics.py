"""Tells people on stderr how a run goes. Rich, which draws on terminals, is loaded for a terminal alone."""

import asyncio
import os
import sys
from typing import Protocol

from crawler.cli.run.streams import LastingStream
from crawler.progress import ReadStatus, line


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

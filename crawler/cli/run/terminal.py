"""The console for a terminal."""

import sys
from typing import IO

from rich.console import Console

from crawler.cli.run.streams import LastingStream


def lasting_console() -> Console:
    """The console for diagnostics, on stderr."""
    # Rich declares that it needs a whole file, but only uses what `LastingStream` has.
    file: IO[str] = LastingStream(sys.stderr)  # type: ignore[assignment]
    return Console(file=file)

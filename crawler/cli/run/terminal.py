"""Consoles: for results, and for diagnostics."""

from typing import IO

from rich.console import Console

from crawler.cli.run.streams import LastingStream


class _Results(Console):
    def on_broken_pipe(self) -> None:
        """Rich would end the process with exit code 1."""
        raise BrokenPipeError


def results_console(*, width: int | None = None) -> Console:
    """The console for results, on stdout. What is in brackets or between colons is no markup: it may be an address of
    IPv6."""
    return _Results(width=width, markup=False, emoji=False)


def lasting_console(stream: LastingStream) -> Console:
    """The console for diagnostics, on this stream."""
    # Rich declares that it needs a whole file, but only uses what `LastingStream` has.
    file: IO[str] = stream  # type: ignore[assignment]
    return Console(file=file)

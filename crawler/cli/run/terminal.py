"""Consoles: for results, and for diagnostics."""

from typing import IO, Final

from rich.console import Console

from crawler.cli.run.streams import LastingStream

_WIDE: Final = 1000


class _Results(Console):
    def on_broken_pipe(self) -> None:
        """Rich would end the process with exit code 1."""
        raise BrokenPipeError


def results_console(*, width: int | None = None) -> Console:
    """The console for results, on stdout. What is in brackets or between colons is no markup: it may be an address of
    IPv6."""
    return _Results(width=width, markup=False, emoji=False)


def table_console() -> Console:
    """The same for tables, which are as wide as they need where nobody looks at a screen."""
    console = results_console()
    return console if console.is_terminal else results_console(width=_WIDE)


def lasting_console(stream: LastingStream) -> Console:
    """The console for diagnostics, on this stream."""
    # Rich declares that it needs a whole file, but only uses what `LastingStream` has.
    file: IO[str] = stream  # type: ignore[assignment]
    return Console(file=file)

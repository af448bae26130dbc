"""Consoles: for results, and for diagnostics."""

from typing import IO, Any, Final

from rich.console import Console, ConsoleOptions, ConsoleRenderable, Group, RenderResult
from rich.segment import Segment
from rich.table import Table

from crawler.cli.run.streams import LastingStream

_WIDE: Final = 1000


class _Trimmed:
    """A renderable without the blanks with which Rich fills up its lines."""

    def __init__(self, renderable: ConsoleRenderable) -> None:
        self._renderable = renderable

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for line in console.render_lines(self._renderable, options, pad=False):
            while line and not line[-1].text.strip():
                line.pop()
            if line:
                last = line.pop()
                yield from line
                yield Segment(last.text.rstrip(), last.style)
            yield Segment.line()


class _Results(Console):
    def print(self, *objects: Any, **options: Any) -> None:
        trimmed = (_Trimmed(each) if isinstance(each, Table | Group) else each for each in objects)
        super().print(*trimmed, **options)

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

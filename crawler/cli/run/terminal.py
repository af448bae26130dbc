"""What a command prints. A terminal may be closed, and a pipe's reader gone: that ends no crawl, nor changes its exit
code."""

import os
import sys
from pathlib import Path
from typing import IO, TextIO

import click
from rich.console import Console


def open_missing_streams() -> None:
    """Give a process that was started without stdin, stdout or stderr an empty one. Else a file of the crawl would get
    its number, and with it what some library prints there."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            mode = "w" if number else "r"
            # Takes the lowest number that is free, which is this one.
            setattr(sys, name, Path(os.devnull).open(mode, encoding="utf-8"))  # noqa: SIM115 - for the life of the process


class Lasting:
    """A stream of text for which it does not matter whether anybody still reads it."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str, /) -> int:
        try:
            return self._stream.write(text)
        except OSError:
            _leave(self._stream)
            return len(text)

    def flush(self) -> None:
        try:
            self._stream.flush()
        except OSError:
            _leave(self._stream)

    def fileno(self) -> int:
        return self._stream.fileno()

    def isatty(self) -> bool:
        return self._stream.isatty()

    @property
    def encoding(self) -> str:
        return self._stream.encoding


def lasting_console() -> Console:
    """For diagnostics, on stderr."""
    # Rich asks for no more of a file than `Lasting` has, but declares that it wants all.
    file: IO[str] = Lasting(sys.stderr)  # type: ignore[assignment]
    return Console(file=file)


def say(text: object, *, to_stderr: bool = False) -> None:
    """Print a line."""
    stream = sys.stderr if to_stderr else sys.stdout
    try:
        click.echo(text, file=stream)
    except OSError:
        _leave(stream)


def drop_unprinted() -> None:
    """Drop what stdout cannot take. Otherwise Python tries again at its end, and changes the exit code."""
    try:
        sys.stdout.flush()
    except OSError:
        _leave(sys.stdout)


def _leave(stream: TextIO) -> None:
    """What is printed from now on goes nowhere, also what Python has kept to print at its end."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)

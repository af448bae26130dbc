"""Prints to a terminal or a pipe. If the terminal is closed or the reader of the pipe is gone, the crawl goes on, and
its exit code does not change."""

import os
import select
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from io import TextIOWrapper
from pathlib import Path
from typing import TextIO

import click

from crawler.codes.full_disk import DISK_FULL


def open_missing_streams() -> None:
    """Open /dev/null for each of stdin, stdout and stderr that is missing. Otherwise a file of the crawl would get its
    number, and libraries would print into it."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            mode = "w" if number else "r"
            # The file gets the lowest free number, which is this one.
            setattr(sys, name, Path(os.devnull).open(mode, encoding="utf-8"))  # noqa: SIM115 - for the life of the process


def escape_unencodable() -> None:
    """Let stdout escape characters that its encoding lacks, as stderr does. Otherwise they end a command with an error
    where the encoding is not UTF-8."""
    if isinstance(sys.stdout, TextIOWrapper) and sys.stdout.errors == "strict":
        sys.stdout.reconfigure(errors="backslashreplace")


def stdout_for_programs() -> TextIO:
    """stdout in UTF-8, whatever the encoding of the terminal is, as programs expect it of CSV and JSON."""
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8", errors="replace")
    return sys.stdout


class LastingStream:
    """A text stream that ignores whether anybody still reads it."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str, /) -> int:
        try:
            return self._stream.write(text)
        except OSError:
            _discard(self._stream)
            return len(text)

    def flush(self) -> None:
        try:
            self._stream.flush()
        except OSError:
            _discard(self._stream)

    def fileno(self) -> int:
        return self._stream.fileno()

    def isatty(self) -> bool:
        return self._stream.isatty()

    @property
    def encoding(self) -> str:
        return self._stream.encoding


def say(text: object, *, to_stderr: bool = False) -> None:
    stream = sys.stderr if to_stderr else sys.stdout
    try:
        click.echo(text, file=stream)
    except OSError:
        _discard(stream)


def say_result(text: object) -> None:
    """Print a line of what a command was asked for. Raises `OSError` if stdout is a file on a full disk: nobody must
    take what is in it for all there is."""
    try:
        click.echo(text)
    except OSError as error:
        if error.errno in DISK_FULL:
            raise
        _discard(sys.stdout)


@contextmanager
def while_read() -> Iterator[None]:
    """Leave what is within if whoever reads it has enough, as `head` has. That is no failure."""
    try:
        yield
    except BrokenPipeError:
        if not drop_unprinted():
            raise


def drop_unprinted() -> bool:
    """Drop what stdout and stderr cannot take. Otherwise Python tries again at its end, and changes the exit code.
    Returns whether one of them could not take something, or has no reader any more."""
    dropped = [_drop(stream) for stream in (sys.stdout, sys.stderr)]
    return any(dropped)


def _drop(stream: TextIO) -> bool:
    try:
        stream.flush()
    except OSError:
        _discard(stream)
        return True
    # What failed to be written may not have been kept, so that there is nothing to flush.
    return _has_lost_reader(stream)


def _has_lost_reader(stream: TextIO) -> bool:
    try:
        poll = select.poll()
        poll.register(stream.fileno(), 0)
        return any(event & (select.POLLERR | select.POLLHUP) for _, event in poll.poll(0))
    except (OSError, ValueError):
        return False  # it is no file


def _discard(stream: TextIO) -> None:
    """Discard all further output of a stream, also what Python still has in its buffer."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)

"""Sorts lines of any number in bounded memory."""

import heapq
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import BinaryIO, Final

_AT_ONCE_BYTES: Final = 32_000_000
"""Lines in memory."""
_FILES: Final = 64
"""Open at the same time."""


def sorted_lines(lines: Iterable[bytes], folder: Path | None = None) -> Iterator[bytes]:
    """Lines without their ends, in order. Many of them lie meanwhile in files without names in a folder, by default
    that for temporary files. Raises `OSError` if they do not fit there."""
    with ExitStack() as opened:
        runs: list[BinaryIO] = []

        held: list[bytes] = []
        size = 0
        for line in lines:
            held.append(line)
            size += len(line)
            if size < _AT_ONCE_BYTES:
                continue
            held.sort()
            runs.append(opened.enter_context(put_aside(held, folder)))
            held, size = [], 0
            if len(runs) == _FILES:
                whole = opened.enter_context(put_aside(heapq.merge(*map(lines_in, runs)), folder))
                for run in runs:
                    run.close()
                runs = [whole]
        held.sort()
        yield from heapq.merge(*map(lines_in, runs), held)


def put_aside(lines: Iterable[bytes], folder: Path | None = None) -> BinaryIO:
    """A file without a name that has these lines, to be read from its beginning."""
    file = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115 - the caller closes it
    try:
        file.writelines(line + b"\n" for line in lines)
        file.seek(0)
    except BaseException:
        file.close()
        raise
    return file


def lines_in(file: BinaryIO) -> Iterator[bytes]:
    """The lines of a file, without their ends."""
    return (line.removesuffix(b"\n") for line in file)

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

        def put_aside(ordered: Iterable[bytes]) -> BinaryIO:
            file = opened.enter_context(tempfile.TemporaryFile(dir=folder))
            file.writelines(line + b"\n" for line in ordered)
            file.seek(0)
            return file

        held: list[bytes] = []
        size = 0
        for line in lines:
            held.append(line)
            size += len(line)
            if size < _AT_ONCE_BYTES:
                continue
            held.sort()
            runs.append(put_aside(held))
            held, size = [], 0
            if len(runs) == _FILES:
                whole = put_aside(heapq.merge(*map(_lines_in, runs)))
                for run in runs:
                    run.close()
                runs = [whole]
        held.sort()
        yield from heapq.merge(*map(_lines_in, runs), held)


def _lines_in(file: BinaryIO) -> Iterator[bytes]:
    return (line.removesuffix(b"\n") for line in file)

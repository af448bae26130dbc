"""The indexes of many archives as one."""

import heapq
from collections.abc import Iterator
from contextlib import ExitStack
from itertools import islice
from pathlib import Path
from typing import Final

from crawler.write.cdxj.making import OPEN, archives, final_path, index_of, lines_of
from crawler.write.cdxj.sorting import lines_in, put_aside, sorted_lines

_AT_ONCE: Final = 100
"""Files that are open at the same time."""


def merged_index(*directories: Path) -> Iterator[bytes]:
    """The lines of all archives in these directories, sorted, without their ends.

    Memory is bounded. What is merged of very many files lies in temporary ones, and so do the lines of an archive that
    has no sorted index, such as one that is being written.
    """
    found = sorted(path for folder in directories for path in archives(folder))
    with ExitStack() as stack:
        yield from _merged((_sorted_lines(path) for path in found), stack)


def _merged(sources: Iterator[Iterator[bytes]], stack: ExitStack) -> Iterator[bytes]:
    groups: list[Iterator[bytes]] = []
    while group := list(islice(sources, _AT_ONCE)):
        if len(group) < _AT_ONCE and not groups:
            return heapq.merge(*group)
        groups.append(lines_in(stack.enter_context(put_aside(heapq.merge(*group)))))
    return heapq.merge(*groups)


def _sorted_lines(archive: Path) -> Iterator[bytes]:
    if not archive.exists():  # the crawl has completed it since
        archive = final_path(archive)
        if not archive.exists():  # or has deleted it, because it is old
            return
    index = index_of(archive)
    if archive.name.endswith(OPEN) or not index.exists():
        with put_aside(sorted_lines(lines_of(archive))) as file:
            yield from lines_in(file)
        return
    with index.open("rb") as file:
        yield from lines_in(file)

"""Compares the indexes of archives with what the archives hold."""

from collections.abc import Iterator
from pathlib import Path

from crawler.write.cdxj.making import OPEN, archives, index_of, lines_of, make_index, still_true
from frontier.descriptor import Problem


def index_problems(directory: Path) -> Iterator[Problem]:
    """Where the index of a complete archive is not what would be made of that archive now. The next start makes those
    that were open. Needs memory for the lines of one archive at a time."""
    for archive in _indexed(directory):
        expected, found = still_true(lines_of(archive)), index_of(archive).read_bytes().splitlines()
        if sorted(expected) != found:
            lacking, foreign = len(set(expected).difference(found)), len(set(found).difference(expected))
            message = f"it lacks {lacking} captures, and has {foreign} lines that its archive does not bear out"
            yield Problem("index", str(index_of(archive)), f"{message}; `verify --repair` makes it anew")


def repair_indexes(directory: Path) -> int:
    """Make the indexes anew that are wrong; returns how many. Raises `OSError`."""
    wrong = {problem.where for problem in index_problems(directory)}
    for archive in _indexed(directory):
        if str(index_of(archive)) in wrong:
            make_index(archive)
    return len(wrong)


def _indexed(directory: Path) -> Iterator[Path]:
    for archive in archives(directory):
        if not archive.name.endswith(OPEN) and index_of(archive).exists():
            yield archive

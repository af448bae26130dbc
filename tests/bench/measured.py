"""Runs the command of onceover, and measures it."""

import os
import sys
from collections.abc import Callable, Sequence
from typing import Final

UNHINDERED: Final = (
    'scope.within="domain"',
    'fetch.hosts={"*.sim.test" = "127.0.0.1"}',
    "politeness.robots=false",
    "politeness.min_delay_s=0",
    "politeness.delay_factor=0",
    "politeness.per_host=16",
    'visited.backend="bloom"',
    "output.warc=false",
)
"""The settings of a crawl of a simulated web that nothing slows down. Later ones override them."""


def setting(*assignments: str) -> list[str]:
    """These settings as options of the command."""
    return [part for assignment in assignments for part in ("--set", assignment)]


def measured(
    arguments: Sequence[str],
    *,
    program: str = "onceover_crawler",
    ends_with: int = 0,
    watch: Callable[[int], object] = lambda _: None,
) -> tuple[bytes, float, float]:
    """What a command, or another `program` of Python, prints, the CPU time of it and of the processes that it has
    waited for, in seconds, and the peak memory of the largest of them in MB. `watch` is called with its PID."""
    reading, writing = os.pipe()
    nowhere = os.open(os.devnull, os.O_RDWR)
    command = [sys.executable, "-m", program, *arguments]
    actions = [(os.POSIX_SPAWN_DUP2, writing, 1), (os.POSIX_SPAWN_DUP2, nowhere, 2), (os.POSIX_SPAWN_CLOSE, reading)]
    pid = os.posix_spawn(sys.executable, command, os.environ, file_actions=actions)
    watch(pid)
    os.close(writing)
    os.close(nowhere)
    with os.fdopen(reading, "rb") as file:
        out = file.read()
    _, status, used = os.wait4(pid, 0)
    if os.waitstatus_to_exitcode(status) != ends_with:
        raise AssertionError(f"ended with {os.waitstatus_to_exitcode(status)}: {arguments}")
    return out, used.ru_utime + used.ru_stime, used.ru_maxrss / 1000

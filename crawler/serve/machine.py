"""What crawls take of a machine, and what it has left, as /proc and the file systems tell."""

import os
import resource
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final

import msgspec

from crawler.status import size

_PROC: Final = Path("/proc")
_SESSION, _RESIDENT = 3, 21
_CPU: Final = slice(11, 15)
"""Fields of /proc/PID/stat behind the name."""
LET_GO_AT: Final = 1.2
"""A shortage ends when there is this many times what is needed, so that crawls do not start and stop in turns."""
_MOST_SYSTEM_FILES: Final = 0.95


class Taken(msgspec.Struct, frozen=True):
    """What the processes of a crawl take."""

    memory_bytes: int = 0
    """Resident memory; what processes share counts for each."""
    open_files: int = 0
    cpu_s: float = 0.0
    """Processor time of them, and of those that they have waited for."""


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """What all crawls may take together, and must leave."""

    max_memory_bytes: int | None = None
    max_open_files: int | None = None
    min_free_bytes: int = 500_000_000
    """The least free space on the disk of each crawl."""


def measure(pids: Iterable[int]) -> dict[int, Taken]:
    """What processes take, with all in their sessions if they lead one. Those that have ended take nothing."""
    wanted = set(pids)
    taken = dict.fromkeys(wanted, Taken())
    for entry in os.scandir(_PROC):
        if not entry.name.isdigit():
            continue
        pid = int(entry.name)
        try:
            fields = _fields(pid)
            owner = pid if pid in wanted else int(fields[_SESSION])
            if owner not in wanted:
                continue
            found = _taken(pid, fields)
        except (OSError, ValueError, IndexError):
            continue  # it has just ended, or belongs to another user
        before = taken[owner]
        taken[owner] = Taken(
            before.memory_bytes + found.memory_bytes,
            before.open_files + found.open_files,
            before.cpu_s + found.cpu_s,
        )
    return taken


def measure_alone(pids: Iterable[int]) -> dict[int, Taken]:
    """What processes take, each by itself. Those that have ended take nothing."""
    taken = {}
    for pid in pids:
        try:
            taken[pid] = _taken(pid, _fields(pid))
        except (OSError, ValueError, IndexError):
            taken[pid] = Taken()
    return taken


def _fields(pid: int) -> list[bytes]:
    """The fields of /proc/PID/stat behind the name, which may contain anything."""
    stat = (_PROC / str(pid) / "stat").read_bytes()
    return stat[stat.rindex(b")") + 2 :].split()


def _taken(pid: int, fields: Sequence[bytes]) -> Taken:
    return Taken(
        memory_bytes=int(fields[_RESIDENT]) * resource.getpagesize(),
        open_files=sum(1 for _ in (_PROC / str(pid) / "fd").iterdir()),
        cpu_s=sum(map(int, fields[_CPU])) / os.sysconf("SC_CLK_TCK"),
    )


def free_bytes(directory: Path) -> int | None:
    """Free space for this user where a directory is or will be; None if that can't be found out."""
    for place in (directory, *directory.parents):
        try:
            found = os.statvfs(place)
        except FileNotFoundError:
            continue
        except OSError:
            return None
        return found.f_bavail * found.f_frsize
    return None


def used_system_files() -> float:
    """Which share of the open files is in use that the system allows."""
    try:
        used, unused, most = map(int, (_PROC / "sys/fs/file-nr").read_text(encoding="ascii").split())
    except (OSError, ValueError):
        return 0.0
    return (used - unused) / most if most else 0.0


def shortage(limits: Limits, free: int | None, system_files: float, *, is_short: bool) -> str | None:
    """What the machine lacks to run a crawl; None if nothing. Pure."""
    needed = limits.min_free_bytes * (LET_GO_AT if is_short else 1)
    if free is not None and free < needed:
        return f"{size(free)} are free on its disk; at least {size(limits.min_free_bytes)} must be (--min-free-disk)"
    if system_files > _MOST_SYSTEM_FILES / (LET_GO_AT if is_short else 1):
        return f"{system_files:.0%} of the open files are in use that the system allows (fs.file-max)"
    return None


def excess(limits: Limits, taken: Mapping[str, Taken]) -> tuple[str, str] | None:
    """The crawl to restart because all together take too much, and why: the one that takes most. Pure."""
    memory = sum(each.memory_bytes for each in taken.values())
    if limits.max_memory_bytes is not None and memory > limits.max_memory_bytes:
        name = max(taken, key=lambda name: taken[name].memory_bytes)
        return name, (
            f"all crawls take {size(memory)} of memory, more than {size(limits.max_memory_bytes)} (--max-memory), and "
            f"this one takes most: {size(taken[name].memory_bytes)}"
        )
    files = sum(each.open_files for each in taken.values())
    if limits.max_open_files is not None and files > limits.max_open_files:
        name = max(taken, key=lambda name: taken[name].open_files)
        return name, (
            f"all crawls have {files:,} open files, more than {limits.max_open_files:,} (--max-open-files), and this "
            f"one has most: {taken[name].open_files:,}"
        )
    return None

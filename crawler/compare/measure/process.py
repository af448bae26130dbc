"""A trial's process, seen from inside: its memory, its limits, and its end."""

import ctypes
import gc
import os
import resource
import sys
import threading
from pathlib import Path

_STATUS = Path("/proc/self/status")
_PAGES = Path("/proc/self/smaps_rollup")
_HUGE_PAGES = Path("/sys/kernel/mm/transparent_hugepage")
_OWN_BYTES = 8 << 20
"""What measuring takes for itself, at most."""
_FILLING_BYTES = 200
_CLEAR_REFS = Path("/proc/self/clear_refs")


def own_bytes() -> int | None:
    """Memory of this process alone, now: not the pages of files, which the system takes back when it needs them. None
    where it does not tell."""
    # The status lags behind by some dozen pages for each processor; here they are counted.
    anonymous = _told(_PAGES, "Anonymous")
    return _told(_STATUS, "RssAnon") if anonymous is None else anonymous + (_told(_PAGES, "Swap") or 0)


def resident_bytes() -> int | None:
    """All memory of this process now, as `peak_bytes` has it; None where the system does not tell."""
    return _told(_STATUS, "VmRSS")


def own_bytes_when_filled() -> int | None:
    """`own_bytes` at rest, and with no room left in what is kept for small objects.

    CPython takes memory for them a mebibyte at a time, and keeps each as long as one object lives in it. How much of it
    lies empty is chance; full, it is what there is in it.
    """
    # A list that grows would leave holes.
    filling = [b""] * (_OWN_BYTES // 2 // _FILLING_BYTES)
    settle()
    for place in range(len(filling)):
        filling[place] = bytes(_FILLING_BYTES)
    found = own_bytes()
    del filling  # not before
    return found


def peak_bytes() -> int | None:
    """Most memory of this process since `forget_peak`; None where the system does not tell."""
    return _told(_STATUS, "VmHWM")


def grain_bytes() -> int:
    """How much memory the system gives at a time without being asked for it: a page, or a huge one."""
    try:
        if "[always]" in (_HUGE_PAGES / "enabled").read_text(encoding="ascii"):
            return int((_HUGE_PAGES / "hpage_pmd_size").read_text(encoding="ascii"))
    except (OSError, ValueError):
        pass
    return resource.getpagesize()


def forget_peak() -> None:
    """Begin to look for a new peak."""
    try:
        _CLEAR_REFS.write_text("5")
    except OSError:
        return


def settle() -> None:
    """Give back what is free, so that what remains is in use."""
    gc.collect()
    try:
        ctypes.CDLL(None).malloc_trim(0)
    except AttributeError:
        return  # only glibc has it


def limit_memory(growth_bytes: int) -> None:
    """Let allocations fail that go further beyond what is mapped now."""
    mapped = _told(_STATUS, "VmSize")
    if mapped is not None:
        most = mapped + growth_bytes + _OWN_BYTES
        resource.setrlimit(resource.RLIMIT_AS, (most, most))


def end_with_parent() -> None:
    """End this process when stdin ends, as it does when the parent dies, however it dies."""
    threading.Thread(target=_wait_for_end, daemon=True).start()


def _wait_for_end() -> None:
    while os.read(sys.stdin.fileno(), 4096):
        pass
    os._exit(1)


def _told(path: Path, name: str) -> int | None:
    """A number of bytes out of a file that tells them in kB."""
    try:
        text = path.read_text(encoding="ascii", errors="replace")
    except OSError:
        return None
    for line in text.splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1]) * 1024
    return None

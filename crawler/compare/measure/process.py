"""The process of a trial: measures its memory, limits it, and ends it with its parent."""

import ctypes
import gc
import os
import resource
import signal
import sys
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

_STATUS = Path("/proc/self/status")
_PAGES = Path("/proc/self/smaps_rollup")
_HUGE_PAGES = Path("/sys/kernel/mm/transparent_hugepage")
_MEASURING_BYTES = 8 << 20
"""The most memory that measuring itself takes."""
_FILLING_BYTES = 200
_CLEAR_REFS = Path("/proc/self/clear_refs")


def own_bytes() -> int | None:
    """Memory of this process now, without the pages of files, which the system can reclaim. None if the system does not
    tell it."""
    # `status` lags behind by dozens of pages for each processor, but `smaps_rollup` counts them.
    anonymous = _kilobytes_of(_PAGES, "Anonymous")
    return _kilobytes_of(_STATUS, "RssAnon") if anonymous is None else anonymous + (_kilobytes_of(_PAGES, "Swap") or 0)


def resident_bytes() -> int | None:
    """All memory of this process now, comparable to `peak_bytes`; None if the system does not tell it."""
    return _kilobytes_of(_STATUS, "VmRSS")


def own_bytes_when_filled() -> int | None:
    """`own_bytes` at rest, with the arenas for small objects filled.

    CPython allocates memory for small objects in arenas of a mebibyte, and keeps an arena while one object is in it.
    How much of the arenas is empty is random. Filling them makes the figures of different moments comparable.
    """
    # A growing list would leave holes.
    filling = [b""] * (_MEASURING_BYTES // 2 // _FILLING_BYTES)
    settle()
    for index in range(len(filling)):
        filling[index] = bytes(_FILLING_BYTES)
    found = own_bytes()
    del filling  # only after the measurement
    return found


def peak_bytes() -> int | None:
    """The most memory of this process since `forget_peak`; None if the system does not tell it."""
    return _kilobytes_of(_STATUS, "VmHWM")


def grain_bytes() -> int:
    """The smallest amount of memory that the system gives: a page, or a huge page."""
    with suppress(OSError, ValueError):
        if "[always]" in (_HUGE_PAGES / "enabled").read_text(encoding="ascii"):
            return int((_HUGE_PAGES / "hpage_pmd_size").read_text(encoding="ascii"))
    return resource.getpagesize()


def forget_peak() -> None:
    with suppress(OSError):
        _CLEAR_REFS.write_text("5")


def settle() -> None:
    """Return free memory to the system, so that the rest is in use."""
    gc.collect()
    with suppress(AttributeError):  # only glibc has it
        ctypes.CDLL(None).malloc_trim(0)


def limit_memory(growth_bytes: int) -> None:
    """Make allocations fail that exceed the memory mapped now by more than `growth_bytes`."""
    mapped = _kilobytes_of(_STATUS, "VmSize")
    if mapped is not None:
        most = mapped + growth_bytes + _MEASURING_BYTES
        resource.setrlimit(resource.RLIMIT_AS, (most, most))


def end_with_parent(interrupts_s: Sequence[float] = ()) -> None:
    """End this process when stdin ends, which it does when the parent dies for any reason. Before that, interrupt it as
    Ctrl-C does, and give it so many seconds after each interrupt to end by itself."""
    if interrupts_s:
        # Who starts a process in the background may let it ignore the signal.
        signal.signal(signal.SIGINT, signal.default_int_handler)
    threading.Thread(target=_wait_for_end, args=(interrupts_s,), daemon=True).start()


def _wait_for_end(interrupts_s: Sequence[float]) -> None:
    while os.read(sys.stdin.fileno(), 4096):
        pass
    for wait_s in interrupts_s:
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(wait_s)
    os._exit(1)


def _kilobytes_of(path: Path, name: str) -> int | None:
    """A number of bytes from a file that gives it in kB."""
    try:
        text = path.read_text(encoding="ascii", errors="replace")
    except OSError:
        return None
    for line in text.splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1]) * 1024
    return None

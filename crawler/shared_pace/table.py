"""The file that crawls share: slots of groups, and locks of requests.

A group belongs to one of many small sets of slots, by a hash of its name. A lock keeps two processes from changing a
set at once. The slots of a set are used again, first those that say nothing any more.

Locks belong to the open file (F_OFD_SETLK of fcntl(2)), so they end with the process, and with nothing else.
"""

import fcntl
import os
import secrets
import struct
import time
from collections.abc import Callable
from errno import ENOSPC, ETIMEDOUT
from functools import lru_cache, partial
from hashlib import blake2b
from pathlib import Path
from typing import Final

from crawler.shared_pace.slot import BUSY_WAIT_S, MAX_AT_ONCE, SIZE, Slot, decode

SETS: Final = 1 << 15
WAYS: Final = 8
MAX_WAIT_S: Final = 2.0
"""For a set that another process changes."""
_LOOK_AGAIN_S: Final = 0.0002

_MAKER: Final = b"onceover pace "
_MAGIC: Final = _MAKER + b"2 "
_HEADER: Final = 64
_HEADER_LOCK: Final = SETS
_REQUEST_LOCKS: Final = 1 << 57
"""Above this offset there is a lock for each request: 57 bits, of which six count the requests of a group."""
_NUMBER_BITS: Final = 6
_EMPTY: Final = b"\0" * 8
_FLOCK: Final = struct.Struct("@hhqqi4x")

_boot_clock: Final = partial(time.clock_gettime, time.CLOCK_BOOTTIME)


class PaceTable:
    """One crawl's side of the file. `close` it at the end."""

    def __init__(self, path: Path, *, clock: Callable[[], float] = _boot_clock) -> None:
        """Makes the file if it is missing, or from before a reboot. Raises `OSError`, also if it is another file."""
        self._path = path
        self._clock = clock
        self._crawl = secrets.randbits(63) + 1
        self._begun: dict[str, list[int]] = {}
        self._stuck: set[int] = set()
        is_ready = False
        while not is_ready:
            self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                is_ready = self._check_header()
            finally:
                if not is_ready:
                    os.close(self._file)

    def close(self) -> None:
        """Requests that have not ended count as lost."""
        os.close(self._file)

    def begin(self, group: str, *, at_once: int, delay_s: float, alone: bool = False) -> float:
        """Begin a request to a group of which `at_once` may run, and which is to rest for at least `delay_s` after
        each. If `alone`, no other crawl begins one meanwhile, however many it lets run. Returns 0 if it has begun, or
        after how many seconds to try again. Raises `OSError`."""
        number, wait_s = None, 0.0
        try:
            with self._changing(group) as slot:
                now = self._clock()
                slot.demand(self._crawl, delay_s, now, alone=alone)
                wait_s = slot.wait_s(self._crawl, now)
                if not wait_s:
                    most = 1 if slot.alone_until > now else min(at_once, MAX_AT_ONCE)
                    number = self._take(group, slot, at_once=most, delay_s=delay_s)
                if number is None:
                    wait_s = wait_s or slot.wait_s(self._crawl, now) or BUSY_WAIT_S
                    # A crawl whose own request runs would otherwise have each turn: a host with a Crawl-delay takes one
                    # at a time, and its queue may have several leases.
                    if group not in self._begun:
                        slot.line_up(self._crawl, wait_s, now)
        except OSError:
            if number is not None:
                self._unlock(_request_lock(_hash(group), number))
            raise
        if number is not None:
            self._begun.setdefault(group, []).append(number)
        return wait_s

    def _take(self, group: str, slot: Slot, *, at_once: int, delay_s: float) -> int | None:
        """Take the lock of a request. Returns its number; None if as many run, or if any was lost with its process."""
        begun = self._begun.get(group, ())
        running, lost = 0, False
        # Another crawl that allows more at once may hold any number.
        for number in range(slot.busy.bit_length()):
            if not slot.busy >> number & 1:
                continue
            if number not in begun and self._lock(_request_lock(slot.group, number)):
                slot.lose(number, delay_s, self._clock())
                self._unlock(_request_lock(slot.group, number))
                lost = True
            else:
                running += 1
        for number in range(MAX_AT_ONCE):
            if lost or running >= at_once:
                return None
            if slot.busy >> number & 1:
                continue
            if number not in begun and self._lock(_request_lock(slot.group, number)):
                slot.begin(self._crawl, number)
                return number
            running += 1  # another group had taken the slot meanwhile
        return None

    def end(self, group: str, rest_s: float | None) -> None:
        """A request to a group has ended, which rests from now on; with None nobody was asked. Raises `OSError`."""
        begun = self._begun[group]
        number = begun.pop()
        if not begun:
            del self._begun[group]
        try:
            with self._changing(group) as slot:
                slot.end(number)
                if rest_s is not None:
                    slot.rest(self._crawl, rest_s, self._clock())
        finally:
            self._unlock(_request_lock(_hash(group), number))

    def rest(self, group: str, rest_s: float) -> None:
        """A group rests from now on, for a request that had been expected elsewhere. Raises `OSError`."""
        with self._changing(group) as slot:
            slot.rest(self._crawl, rest_s, self._clock())

    def rest_s(self, group: str) -> float:
        """How long a group rests for other crawls. Raises `OSError`."""
        name = _hash(group)
        at, slot = self.read_slot(name)
        self.write_slot(name, at, None)
        return slot.rest_s(self._crawl, self._clock())

    def _changing(self, group: str) -> "_Change":
        """The slot of a group, which is written at the end."""
        return _Change(self, _hash(group))

    def read_slot(self, name: int) -> tuple[int, Slot]:
        """Lock the set of a group. Returns where its slot is written, and the slot. Raises `OSError`; nothing is locked
        then."""
        which = name % SETS
        self._wait_for(which)
        try:
            start = _HEADER + which * WAYS * SIZE
            data = os.pread(self._file, WAYS * SIZE, start).ljust(WAYS * SIZE, b"\0")
        except BaseException:
            self._unlock(which)
            raise
        place, slot = _find(data, name)
        if slot.is_damaged(self._clock()):
            slot = Slot(group=name)
        return start + place * SIZE, slot

    def write_slot(self, name: int, at: int, slot: Slot | None) -> None:
        """Write the slot, if it was changed, and unlock its set. Raises `OSError`."""
        try:
            if slot is not None:
                self._write(slot.encode(), at)
        finally:
            self._unlock(name % SETS)

    def _check_header(self) -> bool:
        """Whether the file can be used. If a version with other slots has begun it since the last reboot, its crawls
        may run and write on. So they keep it, and the next file with its name is ours."""
        boot = Path("/proc/sys/kernel/random/boot_id").read_bytes()
        header = (_MAGIC + boot).ljust(_HEADER, b"\0")
        self._wait_for(_HEADER_LOCK)
        try:
            found = os.pread(self._file, _HEADER, 0)
            if found == header:
                return True
            self._check_is_ours(found)
            if boot in found:
                if self._path.exists() and os.path.samestat(self._path.stat(), os.fstat(self._file)):
                    self._path.unlink()  # else another crawl has done so
                return False
            os.ftruncate(self._file, 0)
            self._write(header, 0)
            return True
        finally:
            self._unlock(_HEADER_LOCK)

    def _check_is_ours(self, found: bytes) -> None:
        """A crash may leave zeros, and a full disk a part of the header."""
        begins = found[: len(_MAKER)]
        if begins.strip(b"\0") and not _MAKER.startswith(begins):
            raise OSError(
                f"expected a file of paces, found one that begins with {begins!r}: {self._path}. It was not touched. "
                "Name another file, or delete this one"
            )

    def _write(self, data: bytes, at: int) -> None:
        if os.pwrite(self._file, data, at) < len(data):
            raise OSError(ENOSPC, f"{os.strerror(ENOSPC)}: {self._path}")

    def _wait_for(self, at: int) -> None:
        """Lock a set, which others hold for microseconds. Raises `OSError` if a process was stopped meanwhile, as by
        Ctrl-Z. Nobody waits for it a second time, because this stops all of the crawl."""
        until = time.monotonic() + (0.0 if at in self._stuck else MAX_WAIT_S)
        while not self._lock(at):
            if time.monotonic() >= until:
                self._stuck.add(at)
                raise OSError(ETIMEDOUT, f"another process keeps a lock, as if it was stopped: {self._path}")
            time.sleep(_LOOK_AGAIN_S)
        self._stuck.discard(at)

    def _lock(self, at: int) -> bool:
        try:
            fcntl.fcntl(self._file, fcntl.F_OFD_SETLK, _flock(fcntl.F_WRLCK, at))
        except (BlockingIOError, PermissionError):
            return False
        return True

    def _unlock(self, at: int) -> None:
        fcntl.fcntl(self._file, fcntl.F_OFD_SETLK, _flock(fcntl.F_UNLCK, at))


class _Change:
    """Holds a slot for a change. A generator would take a tenth longer for each request."""

    __slots__ = ("_at", "_name", "_slot", "_table")

    def __init__(self, table: PaceTable, name: int) -> None:
        self._table = table
        self._name = name

    def __enter__(self) -> Slot:
        self._at, self._slot = self._table.read_slot(self._name)
        return self._slot

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: object) -> None:
        self._table.write_slot(self._name, self._at, self._slot if kind is None else None)


def _find(data: bytes, name: int) -> tuple[int, Slot]:
    """The slot of a group in its set, and its place; a new one in the place that says least."""
    wanted = name.to_bytes(8, "little")
    # Slots are never emptied, so those that are used come first.
    for at in range(0, len(data), SIZE):
        found = data[at : at + 8]
        if found == wanted:
            return at // SIZE, decode(data[at : at + SIZE])
        if found == _EMPTY:
            return at // SIZE, Slot(group=name)
    slots = [decode(data[at : at + SIZE]) for at in range(0, len(data), SIZE)]
    return min(range(WAYS), key=lambda place: slots[place].used_until()), Slot(group=name)


@lru_cache(maxsize=4096)
def _hash(group: str) -> int:
    return int.from_bytes(blake2b(group.encode(), digest_size=8).digest()) or 1


def _request_lock(name: int, number: int) -> int:
    return _REQUEST_LOCKS + ((name >> (64 - 57 + _NUMBER_BITS)) << _NUMBER_BITS | number)


def _flock(kind: int, at: int) -> bytes:
    """`struct flock` of one byte."""
    return _FLOCK.pack(kind, os.SEEK_SET, at, 1, 0)

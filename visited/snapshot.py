"""The file format of a visited set: a header that describes it, then the bytes of its structures.

    magic      16 bytes   b"onceover-visited"
    version    u32        of this layout
    length     u32        length of the header
    header     JSON       backend, parameters, state, and length and checksum of each part
    crc32      u32        of all the above
    parts      bytes      one after the other

Numbers are little-endian. The checksum of a part is the CRC-32 of the 64-bit sums of its 32 KiB blocks. It detects any
changed byte and a torn or reordered file, and takes less time than copying the part; a CRC over everything would take
more.
"""

import struct
import zlib
from collections.abc import Mapping, Sequence
from typing import BinaryIO

import msgspec

from visited.bits.kernel import best_kernel
from visited.bits.memory import Memory, Part, zeros
from visited.protocol import SnapshotRefused

MAGIC = b"onceover-visited"
VERSION = 1

Value = str | int | float | bool | list[int] | None
Values = Mapping[str, Value]

_PREFIX = struct.Struct("<16sII")
_CRC = struct.Struct("<I")
_BLOCK_BYTES = 32 * 1024
_READ_BYTES = 4 * 1024 * 1024
_MAX_HEADER_BYTES = 256 * 1024 * 1024


class _PartHeader(msgspec.Struct, frozen=True):
    size_bytes: int
    checksum: int


class _Header(msgspec.Struct, frozen=True, kw_only=True):
    backend: str
    parameters: dict[str, Value]
    state: dict[str, Value]
    parts: list[_PartHeader]


class Snapshot(msgspec.Struct, frozen=True, kw_only=True):
    """What was read: the state of the set and the bytes of its structures."""

    state: dict[str, Value]
    parts: list[Memory]

    def integer(self, name: str) -> int:
        """Return an integer of the state. Raises SnapshotRefused if it is missing."""
        value = self.state.get(name)
        if not isinstance(value, int):
            raise SnapshotRefused(f"the snapshot's state should have a number {name!r}, found {value!r}")
        return value

    def integers(self, name: str) -> list[int]:
        """Return a list of integers of the state. Raises SnapshotRefused if it is missing."""
        value = self.state.get(name)
        if not isinstance(value, list):
            raise SnapshotRefused(f"the snapshot's state should have a list {name!r}, found {value!r}")
        return value

    def number(self, name: str) -> float:
        """Return a number of the state. Raises SnapshotRefused if it is missing."""
        value = self.state.get(name)
        if not isinstance(value, int | float):
            raise SnapshotRefused(f"the snapshot's state should have a number {name!r}, found {value!r}")
        return float(value)


def write_snapshot(
    file: BinaryIO, *, backend: str, parameters: Values, state: Values, parts: Sequence[Part] = ()
) -> None:
    """Write header and parts. A load needs equal `parameters`, and returns `state`."""
    views = [memoryview(part).cast("B") for part in parts]
    header = msgspec.json.encode(
        _Header(
            backend=backend,
            parameters=dict(parameters),
            state=dict(state),
            parts=[_PartHeader(len(view), checksum(view)) for view in views],
        )
    )
    head = _PREFIX.pack(MAGIC, VERSION, len(header)) + header
    file.write(head + _CRC.pack(zlib.crc32(head)))
    file.writelines(views)


def read_snapshot(file: BinaryIO, *, backend: str, parameters: Values) -> Snapshot:
    """Read what `write_snapshot` wrote, and nothing beyond. Raises SnapshotRefused with the reason."""
    header = _read_header(file)
    if header.backend != backend:
        raise SnapshotRefused(f"the snapshot is of backend {header.backend!r}, this set is {backend!r}; rebuild it")
    for name in sorted(parameters.keys() | header.parameters.keys()):
        found, expected = header.parameters.get(name), parameters.get(name)
        if found != expected:
            raise SnapshotRefused(
                f"the snapshot was made with {name} = {found!r}, this set has {expected!r}; rebuild it"
            )
    parts = [_read_part(file, number, part) for number, part in enumerate(header.parts)]
    return Snapshot(state=header.state, parts=parts)


def checksum(part: Part) -> int:
    """CRC-32 over the 64-bit sums of the part's 32 KiB blocks, and over the bytes after the last whole block."""
    data = memoryview(part).cast("B")
    sums = best_kernel().block_sums(data)
    return zlib.crc32(data[len(data) // _BLOCK_BYTES * _BLOCK_BYTES :], zlib.crc32(sums))


def _read_header(file: BinaryIO) -> _Header:
    prefix = file.read(_PREFIX.size)
    if not prefix:
        raise SnapshotRefused("the snapshot is empty")
    if len(prefix) < _PREFIX.size or prefix[: len(MAGIC)] != MAGIC:
        raise SnapshotRefused(
            f"not a snapshot of a visited set: expected {MAGIC!r} at the start, found {prefix[:16]!r}"
        )
    _, version, length = _PREFIX.unpack(prefix)
    if version != VERSION:
        raise SnapshotRefused(f"the snapshot is of version {version}, this program reads version {VERSION}")
    if length > _MAX_HEADER_BYTES:
        raise SnapshotRefused(f"the snapshot's header is damaged: it gives a length of {length:,} bytes")
    body = file.read(length + _CRC.size)
    if len(body) < length + _CRC.size:
        raise SnapshotRefused("the snapshot is torn: it ends within its header")
    header = body[:length]
    if zlib.crc32(prefix + header) != _CRC.unpack(body[length:])[0]:
        raise SnapshotRefused("the snapshot's header is damaged: its checksum does not match")
    try:
        return msgspec.json.decode(header, type=_Header)
    except (msgspec.DecodeError, RecursionError) as error:
        raise SnapshotRefused(f"the snapshot's header can't be read: {error}") from error


def _read_part(file: BinaryIO, number: int, part: _PartHeader) -> Memory:
    data = zeros(part.size_bytes)
    view = memoryview(data)
    done = 0
    while done < part.size_bytes:
        chunk = file.read(min(_READ_BYTES, part.size_bytes - done))
        if not chunk:
            raise SnapshotRefused(
                f"the snapshot is torn: part {number} should have {part.size_bytes:,} bytes, found {done:,}"
            )
        view[done : done + len(chunk)] = chunk
        done += len(chunk)
    if checksum(data) != part.checksum:
        raise SnapshotRefused(f"the snapshot is damaged: the checksum of part {number} does not match")
    return data

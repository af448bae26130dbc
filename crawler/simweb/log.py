"""The requests that a simulated server received, for tests of politeness and completeness."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec


class LogEntry(msgspec.Struct, frozen=True, gc=False):
    """One request."""

    at_s: float
    """When the end of its head arrived, by the monotonic clock, which all processes of a machine share."""
    method: str
    host: str
    """The Host header as sent, with its port."""
    target: str
    status: int
    attempt: int = 1
    """The number of requests for this target so far, for targets whose response depends on it."""


Log = Callable[[LogEntry], None]


@contextmanager
def json_lines(path: Path) -> Iterator[Log]:
    """A log that appends to a file, one JSON object per line. A line is readable once its request is answered."""
    encode = msgspec.json.Encoder().encode
    with path.open("ab", buffering=0) as file:
        yield lambda logged: _write_all(file.write, encode(logged) + b"\n")


def read_json_lines(path: Path) -> list[LogEntry]:
    """The requests in a file that `json_lines` writes, in order, without an incomplete last line."""
    lines = path.read_bytes().split(b"\n")[:-1]
    decode = msgspec.json.Decoder(LogEntry).decode
    return [decode(line) for line in lines]


def _write_all(write: Callable[[bytes], int | None], data: bytes) -> None:
    written = write(data)
    if written != len(data):
        raise OSError(f"wrote {written} of {len(data)} bytes to the request log: is the disk full?")

"""What a simulated server saw, for tests of politeness and completeness."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec


class Logged(msgspec.Struct, frozen=True, gc=False):
    """One request."""

    at_s: float
    """Arrival of the end of its head, on the monotonic clock, which all processes of a machine share."""
    method: str
    host: str
    """The Host header as sent, with its port."""
    target: str
    status: int
    attempt: int = 1
    """How often this target had been requested, for targets whose answer depends on it."""


Log = Callable[[Logged], None]


@contextmanager
def json_lines(path: Path) -> Iterator[Log]:
    """A log that appends to a file, one JSON object per line, each readable as soon as its request is answered."""
    encode = msgspec.json.Encoder().encode
    with path.open("ab", buffering=0) as file:
        yield lambda logged: _write_all(file.write, encode(logged) + b"\n")


def read_json_lines(path: Path) -> list[Logged]:
    """The requests in a file written by `json_lines`, in order; a line that is still being written is left out."""
    lines = path.read_bytes().split(b"\n")[:-1]
    decode = msgspec.json.Decoder(Logged).decode
    return [decode(line) for line in lines]


def _write_all(write: Callable[[bytes], int | None], data: bytes) -> None:
    written = write(data)
    if written != len(data):
        raise OSError(f"wrote {written} of {len(data)} bytes to the request log: is the disk full?")

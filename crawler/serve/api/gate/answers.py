"""Answers that were given to requests with a key, kept for clients that repeat them.

Each is a file of its own, on the disk before the client has it. So it survives the daemon. The oldest are dropped:
their age, their number and their bytes are bounded.
"""

import hashlib
import logging
import time
from collections import OrderedDict
from pathlib import Path
from typing import Final

import msgspec

from crawler.codes.unreadable import UNREADABLE
from crawler.files.replacing import replace_file

log = logging.getLogger(__name__)

_SUFFIX: Final = ".json"
_MODE: Final = 0o600


class Bounds(msgspec.Struct, frozen=True, kw_only=True):
    """What is kept of answers."""

    age_s: float = 24 * 3600.0
    number: int = 1_000
    total_bytes: int = 64 << 20


_BOUNDS: Final = Bounds()


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """What a request was answered."""

    request: str
    """A digest of the request: only the same one gets this answer."""
    status: int
    content_type: str
    body: str


class _Place(msgspec.Struct, frozen=True):
    at: float
    """When it was written, in seconds since 1970."""
    size: int


class Answers:
    """The files of the answers. For one daemon; its methods block."""

    def __init__(self, folder: Path, bounds: Bounds = _BOUNDS) -> None:
        """Raises `OSError`."""
        self._folder = folder
        self._bounds = bounds
        self._places: OrderedDict[str, _Place] = OrderedDict()
        """The places by name, the oldest first."""
        self._bytes = 0
        self._folder.mkdir(mode=0o700, exist_ok=True)
        self._look()

    def find(self, caller: str, key: str, now: float | None = None) -> Answer | None:
        """The answer that a caller got to a request with this key."""
        self._drop_old(time.time() if now is None else now)
        name = _name(caller, key)
        if name not in self._places:
            return None
        path = self._folder / name
        try:
            return msgspec.json.decode(path.read_bytes(), type=Answer)
        except (OSError, *UNREADABLE) as error:
            log.warning("API: an answer that was kept can't be read, and is dropped: %s: %s", path, error)
            self._drop(name)
            return None

    def keep(self, caller: str, key: str, answer: Answer, now: float | None = None) -> None:
        """Keep an answer; when this returns, it is on the disk. Raises `OSError`."""
        name, content = _name(caller, key), msgspec.json.encode(answer)
        at = time.time() if now is None else now
        self._drop(name)
        self._folder.mkdir(mode=0o700, exist_ok=True)
        replace_file(self._folder / name, content, mode=_MODE)
        self._note(name, _Place(at, len(content)))
        self._drop_old(at)

    def _look(self) -> None:
        found = []
        for path in self._folder.iterdir():
            if not path.is_file():
                continue  # it is none of ours
            if path.suffix != _SUFFIX:
                path.unlink()  # A kill has left it half written.
                continue
            status = path.stat()
            found.append((status.st_mtime, path.name, status.st_size))
        for at, name, size in sorted(found):
            self._note(name, _Place(at, size))

    def _note(self, name: str, place: _Place) -> None:
        self._places[name] = place
        self._bytes += place.size

    def _drop_old(self, now: float) -> None:
        while self._places:
            name, oldest = next(iter(self._places.items()))
            is_young = now - oldest.at <= self._bounds.age_s
            if is_young and len(self._places) <= self._bounds.number and self._bytes <= self._bounds.total_bytes:
                return
            self._drop(name)

    def _drop(self, name: str) -> None:
        place = self._places.pop(name, None)
        if place is not None:
            self._bytes -= place.size
            (self._folder / name).unlink(missing_ok=True)


def _name(caller: str, key: str) -> str:
    """A name for a file that tells nobody the key."""
    return hashlib.sha256(f"{caller}\0{key}".encode()).hexdigest() + _SUFFIX

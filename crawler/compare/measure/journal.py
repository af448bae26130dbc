"""The finished trials: a file to which each is appended, and from which an interrupted run is resumed."""

import logging
import os
from pathlib import Path

import msgspec

from crawler.compare.measure.trial import Done

_LOG = logging.getLogger(__name__)


class Journal:
    """Lines of JSON, one for each trial. A crash may leave the last line incomplete."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._done: dict[str, Done] = {}
        if path.exists():
            self._read()

    def outcome_of(self, key: str) -> Done | None:
        """The outcome of a trial; None if it is not finished."""
        return self._done.get(key)

    def add(self, done: Done) -> None:
        """Store a trial so that it survives a crash."""
        with self._path.open("ab") as file:
            file.write(msgspec.json.encode(done) + b"\n")
            file.flush()
            os.fsync(file.fileno())
        self._done[done.key] = done

    def _read(self) -> None:
        decoder = msgspec.json.Decoder(Done)
        complete_bytes = 0
        with self._path.open("rb") as file:
            for number, line in enumerate(file, start=1):
                if not line.endswith(b"\n"):
                    break
                complete_bytes += len(line)
                try:
                    done = decoder.decode(line)
                except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
                    _LOG.warning("%s:%d is not a trial, which is measured again: %s", self._path, number, error)
                else:
                    self._done[done.key] = done
        os.truncate(self._path, complete_bytes)

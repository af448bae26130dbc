"""Keeps the history of a crawl in a file."""

from contextlib import suppress
from pathlib import Path

import msgspec

from crawler.course.history import History
from crawler.disk.durable_file import read_file


def read_history(path: Path) -> History:
    """The history in a file; an empty one if that is missing or damaged, because a crawl can do without."""
    try:
        return msgspec.json.decode(read_file(path), type=History)
    except (OSError, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return History()


def write_history(path: Path, history: History) -> None:
    """Replace the file as a whole. On a full disk it stays as it is."""
    new = path.with_suffix(".new")
    with suppress(OSError):
        path.parent.mkdir(exist_ok=True)
        try:
            new.write_bytes(msgspec.json.encode(history))
            new.replace(path)
        except OSError:
            new.unlink(missing_ok=True)

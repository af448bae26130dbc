"""Where the daemon says what it does: to stderr, and to a file of which old pieces are dropped."""

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import Final, TextIO

from crawler.files.folders import is_open_as
from crawler.library.log_form import Form, JsonLines
from crawler.library.log_handlers import logging_by
from crawler.page import rfc3339

MAX_BYTES: Final = 10_000_000
PIECES: Final = 5


class _Text(logging.Formatter):
    """A line for people; more if a message has several."""

    def formatTime(self, record: logging.LogRecord, datefmt: str | None = None) -> str:  # noqa: N802 - of logging
        return rfc3339(record.created)


class RotatedFile(RotatingFileHandler):
    """Drops messages that can't be written, as on a full disk; stderr has them. If somebody has moved or deleted the
    file, it begins a new one."""

    def __init__(self, file: Path) -> None:
        super().__init__(file, maxBytes=MAX_BYTES, backupCount=PIECES, encoding="utf-8", delay=True)

    def emit(self, record: logging.LogRecord) -> None:
        with suppress(OSError):
            if self.stream is not None and not is_open_as(self.stream.fileno(), Path(self.baseFilename)):
                self.close()
        super().emit(record)

    def close(self) -> None:
        with suppress(OSError):  # it tries once more to write what had no room
            super().close()

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 - named by logging
        return


class _Stream(logging.StreamHandler[TextIO]):
    """Drops messages that nobody reads any more."""

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 - named by logging
        return


@contextmanager
def logging_daemon(file: Path, form: Form) -> Iterator[None]:
    """Log to stderr and to a file."""
    formatter = JsonLines() if form == "json" else _Text("%(asctime)s %(levelname)s %(message)s")
    to_stderr = _Stream(sys.stderr)
    to_file = RotatedFile(file)
    to_stderr.setFormatter(formatter)
    to_file.setFormatter(formatter)
    with logging_by(to_stderr, to_file):
        yield


@contextmanager
def telling(log: logging.Logger, what: str) -> Iterator[None]:
    """A context whose `OSError` is logged with what it means, and ends nothing."""
    try:
        yield
    except OSError as error:
        log.warning("%s: %s", what, error)

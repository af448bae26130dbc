"""The form of log messages: lines for people, or JSON for programs that collect logs."""

import logging
import time
from typing import Literal

import msgspec

Form = Literal["text", "json"]


class JsonLines(logging.Formatter):
    """A line of JSON for each message: `time`, `level`, `name`, `crawl`, `part`, `message`, `fields` and `error`.
    What is not known is left out.

    `fields` holds the values of a message that has some: `log.info("…", extra={"fields": {"pages": 5}})`. A message may
    bring its own `crawl` in the same way.
    """

    def __init__(self, *, crawl: str | None = None, part: int | None = None) -> None:
        super().__init__()
        self._crawl = crawl
        self._part = part

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, object] = {
            "time": moment(record),
            "level": record.levelname.lower(),
            "name": record.name,
            "crawl": getattr(record, "crawl", self._crawl),
            "part": self._part,
            "message": record.getMessage(),
            "fields": getattr(record, "fields", None),
            "error": self.formatException(record.exc_info) if record.exc_info else None,
        }
        return msgspec.json.encode({name: value for name, value in line.items() if value is not None}).decode()


def log_form(form: Form, *, crawl: str, part: int | None = None) -> logging.Formatter:
    """How the log of a crawl, or of one of its parts, is written."""
    if form == "json":
        return JsonLines(crawl=crawl, part=part)
    return logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s")


def moment(record: logging.LogRecord) -> str:
    """The time of a message in UTC, as 2026-11-22T17:54:23.337Z."""
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created)) + f".{int(record.msecs):03d}Z"

"""The form of log messages: lines for people, or JSON for programs that collect logs."""

import logging
from typing import Literal

import msgspec

from crawler.page import rfc3339

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
            "time": rfc3339(record.created),
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

"""What the log of a crawl tells people who look an hour later: how it began, and its progress."""

import asyncio
import logging
import platform
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from config import Config, non_defaults
from crawler import __version__
from crawler.library.log_handlers import logging_by
from crawler.progress import ReadStatus, line
from crawler.status import Status, number_of
from crawler.wiring.opening.kept import RebuildProgress

log = logging.getLogger(__name__)

INTERVAL_S: Final = 60.0
REBUILD_INTERVAL_S: Final = 5.0


class _FileHandler(logging.FileHandler):
    """Drops messages that can't be written. If the disk is full, the crawl waits, and says so elsewhere. If it takes no
    writes at all, people must hear what has failed first."""

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 - named by logging
        return

    def close(self) -> None:
        with suppress(OSError):
            super().close()


@contextmanager
def log_into(file: Path, form: logging.Formatter, *others: logging.Handler) -> Iterator[None]:
    """Log into a file, in a form, and to other handlers. The file is created when there is something to log."""
    file.parent.mkdir(parents=True, exist_ok=True)
    to_file = _FileHandler(file, encoding="utf-8", delay=True)
    to_file.setFormatter(form)
    with logging_by(to_file, *others):
        yield


def log_beginning(config: Config, directory: str, *, resumed: bool) -> None:
    """Log versions, and each setting that differs from its default."""
    how, ours, python = "resumed" if resumed else "begun", __version__, platform.python_version()
    fields = {"resumed": resumed, "directory": directory, "version": ours, "python": python}
    # `platform.platform()` would run a program to find out more.
    system = f"{platform.system()} {platform.release()} {platform.machine()}"
    text = "%s in %s: onceover %s, Python %s, %s"
    log.info(text, how, directory, ours, python, system, extra={"fields": fields})
    for setting in non_defaults(config):
        log.info("set: %s", setting)


def log_rebuild() -> RebuildProgress:
    """A function that logs the progress of a rebuild."""
    return at_most_every(
        REBUILD_INTERVAL_S, lambda what, urls: log.info("rebuilding %s: %s so far", what, number_of(urls, "URL"))
    )


def at_most_every(seconds: float, tell: RebuildProgress) -> RebuildProgress:
    """Passes on the progress of a rebuild, at most once in so many seconds."""
    told_at = -seconds

    def progress(what: str, urls: int) -> None:
        nonlocal told_at
        if (now := time.monotonic()) - told_at >= seconds:
            told_at = now
            tell(what, urls)

    return progress


async def log_progress(read: ReadStatus) -> None:
    """Log a line of progress in each interval, until cancelled."""
    while True:
        await asyncio.sleep(INTERVAL_S)
        status = read()
        log.info("%s", line(status), extra={"fields": _fields(status)})


def _fields(status: Status) -> dict[str, object]:
    """The figures of a line of progress."""
    return {
        "elapsed_s": status.elapsed_s,
        "pages": status.pages,
        "pages_per_s": status.recent_pages_per_s,
        "bytes_received": status.bytes_received,
        "queued": status.frontier.queued,
        "settled": status.frontier.settled,
        "responses": status.responses,
        "failures": status.failures,
        "waiting": status.waiting,
        "links_wait": status.links_wait,
    }

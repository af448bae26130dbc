"""What the log of a crawl tells people who look an hour later: how it began, and its progress."""

import asyncio
import logging
import platform
from importlib.metadata import version
from typing import Final

from config import Config, non_defaults
from crawler.progress import Gauge, line

log = logging.getLogger(__name__)

INTERVAL_S: Final = 60.0


def log_beginning(config: Config, directory: str, *, resumed: bool) -> None:
    """Log versions, and each setting that differs from its default."""
    log.info(
        "%s in %s: onceover %s, Python %s, %s",
        "resumed" if resumed else "begun",
        directory,
        version("onceover-crawler"),
        platform.python_version(),
        platform.platform(),
    )
    for setting in non_defaults(config):
        log.info("set: %s", setting)


async def log_progress(gauge: Gauge, *, interval_s: float = INTERVAL_S) -> None:
    """Log a line of progress in each interval, until cancelled."""
    while True:
        await asyncio.sleep(interval_s)
        log.info("%s", line(gauge.status()))

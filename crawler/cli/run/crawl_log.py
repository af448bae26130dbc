"""What the log of a crawl tells a person who comes an hour later: with what it began, and how it went."""

import asyncio
import logging
import platform
from importlib.metadata import version
from typing import Final

from config import Config, non_defaults
from crawler.progress import Gauge, line

log = logging.getLogger(__name__)

EVERY_S: Final = 60.0


def log_beginning(config: Config, directory: str, *, resumed: bool) -> None:
    """Versions, and each setting that differs from its default."""
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


async def log_progress(gauge: Gauge, *, every_s: float = EVERY_S) -> None:
    """A line now and then, until cancelled."""
    while True:
        await asyncio.sleep(every_s)
        log.info("%s", line(gauge.status()))

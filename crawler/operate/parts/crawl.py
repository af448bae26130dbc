"""A crawl in parts, as requests see it."""

from pathlib import Path

from config import Loaded
from crawler.operate.parts.members import Parts
from crawler.operate.parts.routing import Routing


class CrawlInParts:
    """All parts of a crawl, and where its URLs and hosts belong. `pid` is the process that runs all of them, if any
    does. Of a crawl on many machines, these are the parts on this machine, and `division` is the number of all."""

    def __init__(
        self, directory: Path, loaded: Loaded, parts: Parts, *, pid: int | None = None, division: int | None = None
    ) -> None:
        self.directory = directory
        self.loaded = loaded
        self.parts = parts
        self.pid = pid
        self.routing = Routing(loaded, len(parts.numbers) if division is None else division)

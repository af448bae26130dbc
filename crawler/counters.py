"""What a crawl has done so far, counted as it happens. The names are those that users read."""

from collections import Counter

import msgspec


class InFlight(msgspec.Struct):
    """A URL that a worker is busy with."""

    url: str
    stage: str
    """What is being waited for: robots.txt, the server, the disk."""
    since: float
    """Monotonic seconds at which the stage began."""


class Counters:
    """Counts of this run. Written by the engine, read by whoever shows progress."""

    __slots__ = (
        "admitted",
        "bytes_received",
        "excluded",
        "failed",
        "failures",
        "in_flight",
        "links",
        "pages",
        "redirects",
        "refused",
        "responses",
        "retries",
        "robots_asked",
    )

    def __init__(self) -> None:
        self.pages = 0
        """URLs settled with a 2xx status or 304."""
        self.redirects = 0
        self.responses: Counter[int] = Counter()
        """Responses by status."""
        self.bytes_received = 0
        """Bytes of bodies, as received."""
        self.failures: Counter[str] = Counter()
        """Fetches that failed, by kind of failure or status; retried ones count each time."""
        self.retries = 0
        self.failed = 0
        """URLs given up."""
        self.excluded: Counter[str] = Counter()
        """URLs not fetched by rule, by rule."""
        self.links = 0
        """Links found in scope, repeats on other pages included."""
        self.admitted = 0
        """Links that were new."""
        self.refused: Counter[str] = Counter()
        """Links that were not admitted, by reason."""
        self.robots_asked = 0
        self.in_flight: dict[int, InFlight] = {}
        """By number of the lease."""

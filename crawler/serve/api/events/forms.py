"""What events hold."""

import msgspec


class RemovedForm(msgspec.Struct, frozen=True, kw_only=True):
    """A crawl that is no longer on the list."""

    name: str


class RateForm(msgspec.Struct, frozen=True, kw_only=True):
    """How fast a crawl goes."""

    name: str
    at: str
    """When, in RFC 3339."""
    pages: int
    """Pages of this run."""
    pages_per_s: float
    """The rate of the last few seconds."""
    bytes_received: int
    """Bytes of this run."""
    discovered: int
    """URLs ever admitted, as all that follow."""
    queued: int
    finished: int
    """Done, failed or excluded."""
    failed: int
    in_process: int
    waiting: str | None
    """Why nothing happens; null while something does."""

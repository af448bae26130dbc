"""A competitor: a visited set and its parameters, as a value that is sent to another process."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from visited import LocalSet


class Competitor(msgspec.Struct, frozen=True, kw_only=True):
    """A visited set to compare. Parameters that its backend does not have are ignored."""

    name: str
    backend: str
    capacity: int | None = None
    """Number of URLs for which it is sized; None means that of the work."""
    error_rate: float = 1e-4
    bits: int | None = None
    """Size of a filter; None means that of the formula."""
    bits_per_url: float | None = None
    """The size for each URL of the capacity."""
    hashes: int | None = None
    """Hash functions of a bloom of that size; None means the best number."""
    site_bytes: int = 32_768
    filters: int | None = None
    """Number of filters of per-site; the hash of the site chooses one. None means one for each site."""
    shards: int = 1
    seed: int = 0
    server: str | None = None
    """URL of a Redis server."""
    options: dict[str, Any] = {}
    """More options of the backend, which override those above."""
    package: str = ""
    """The package of a plug-in, with its version. What was measured with another version is measured again."""
    has_estimates: bool = True
    """Whether it knows its rate, its losses and its memory."""
    works: tuple[str, ...] = ()
    """Names of the works on which it is measured; empty means all."""

    @property
    def all_options(self) -> dict[str, Any]:
        """The options of its backend, and others that it does not have. An option that is not set here has the default
        of the backend, not ours."""
        set_here = {name: getattr(self, name) for name in _OPTIONS if getattr(self, name) != getattr(_DEFAULTS, name)}
        return {**set_here, **self.options}

    def capacity_for(self, distinct: int) -> int:
        """Number of URLs for which it is sized, on a work with `distinct` URLs."""
        return max(1, distinct) if self.capacity is None else self.capacity


Maker = Callable[[Competitor, int, Path], LocalSet]
"""Makes the visited set of a competitor for a number of distinct URLs. It may use the directory, which belongs to it
alone. Raises `Unavailable`, and ValueError for parameters that do not fit together."""

_OPTIONS = ("bits", "bits_per_url", "hashes", "site_bytes", "filters", "shards", "seed", "server")
_DEFAULTS = Competitor(name="", backend="")

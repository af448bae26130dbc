"""Makes visited sets for the suites."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from visited import LocalSet
from visited.backends import descriptor
from visited.descriptor import Descriptor, Parameters
from visited.making import make_set

CAPACITY: Final = 20_000
ERROR_RATE: Final = 1e-9
"""So low that no test sees a false positive by chance."""


def make(
    found: Descriptor,
    directory: Path | None = None,
    *,
    options: Mapping[str, object] | None = None,
    capacity: int = CAPACITY,
    error_rate: float = ERROR_RATE,
) -> LocalSet:
    """The empty set of a descriptor, as a crawl makes it, with a folder of its own below the directory."""
    folder = None if directory is None or found.folder is None else directory / found.folder
    parameters = Parameters(
        capacity=capacity, error_rate=error_rate, directory=folder, site_of=host_of, domain_of=domain_of
    )
    return make_set(found, parameters, options or {})


def make_own(name: str) -> LocalSet:
    """A set of this project, by its name."""
    return make(descriptor(name))


def host_of(url: str) -> str:
    """The host of a URL; empty if it has none."""
    return url.split("/")[2] if url.count("/") > 1 else ""


def domain_of(url: str) -> str:
    """The last two names of a URL's host."""
    return ".".join(host_of(url).split(".")[-2:])

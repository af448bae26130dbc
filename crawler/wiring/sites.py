"""Settings that differ between sites, by the blocks `[[site]]`."""

from collections.abc import Callable
from typing import TypeVar

from config import Loaded
from crawler.discover.sites import Blocks, BySite

_Value = TypeVar("_Value")


class Sites:
    """A configuration with its blocks. Raises `ConfigError` for an invalid place."""

    def __init__(self, loaded: Loaded) -> None:
        for number, site in enumerate(loaded.config.site, start=1):
            with loaded.refusing(f"site[{number}].match"):
                Blocks([site.match])
        self._loaded = loaded
        self._blocks = Blocks([site.match for site in loaded.config.site])

    def alone(self) -> list[Loaded]:
        """For each block, the configuration where it alone matches."""
        return [self._loaded.of_sites([number]) for number in range(len(self._loaded.config.site))]

    def each(self, make: Callable[[Loaded], _Value], /) -> BySite[_Value]:
        """A value for each site, which `make` derives from the configuration there."""
        return BySite(self._blocks, lambda chosen: make(self._loaded.of_sites(chosen)))

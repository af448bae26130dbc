"""Which part of a crawl a URL or a host belongs to."""

from collections.abc import Awaitable, Callable, Sequence

from config import Loaded
from crawler.discover.precedence import parallel_key
from crawler.parts.ownership import Ownership
from crawler.url.hosts import split_port, surt_host
from crawler.wiring.components import discovering

Canonical = Callable[[str], Awaitable[str]]
"""The canonical form of a URL, as the crawl knows it."""


class Routing:
    """Finds the owners in a crawl with this configuration."""

    def __init__(self, loaded: Loaded, parts: int, canonical: Canonical) -> None:
        self._ownership = Ownership(parts)
        self._canonical = canonical
        self._urls = discovering.url_reader(loaded)
        self._parallel = discovering.parallel_queues(loaded.config, self._urls)
        self._has_prefixes = discovering.queue_prefixes(loaded.config) is not None

    async def part_of(self, url: str) -> int:
        """The part of a URL as a person wrote it. Part 0 may say what is wrong with one that can't be read."""
        try:
            key = self._urls.seed(url).queue_key
        except ValueError:
            return 0
        if key in self._parallel:
            # The queue depends on the canonical form, and that on the version of the rules that the crawl began with.
            key = parallel_key(key, await self._canonical(url), self._parallel)
        return self._ownership.owner(key)

    def parts_of_host(self, host: str) -> Sequence[int]:
        """The parts that may have queues of a host, as people or `inspect queues` write it."""
        if "#" in host or self._parallel or self._has_prefixes:
            return range(self._ownership.parts)
        name, port = split_port(host.lower())
        return [self._ownership.owner((name if "," in name else surt_host(name)) + port)]

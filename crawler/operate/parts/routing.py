"""Which part of a crawl a URL or a host belongs to."""

from collections.abc import Sequence

from config import Loaded
from crawler.parts.ownership import Ownership
from crawler.url.hosts import split_port, surt_host
from crawler.wiring.components import discovering


class Routing:
    """Finds the owners in a crawl with this configuration.

    It needs no version of the canonical rules: none of them changes the domain of a URL, in a crawl in parts.
    """

    def __init__(self, loaded: Loaded, parts: int) -> None:
        self._ownership = Ownership(parts)
        self._urls = discovering.url_reader(loaded)
        self._has_prefixes = discovering.queue_prefixes(loaded.config) is not None

    def part_of(self, url: str) -> int:
        """The part of a URL as a person wrote it. Part 0 may say what is wrong with one that can't be read."""
        try:
            return self._ownership.owner(self._urls.seed(url).queue_key)
        except ValueError:
            return 0

    def parts_of_host(self, host: str) -> Sequence[int]:
        """The parts that may have queues of a host, as people or `inspect queues` write it: one, or all if queues are
        named by other places than hosts."""
        if self._has_prefixes:
            return range(self._ownership.parts)
        name, port = split_port(host.lower())
        return [self._ownership.owner((name if "," in name else surt_host(name)) + port)]

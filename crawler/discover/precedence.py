"""Which URLs go first, what they cost, and how many queues a host has: policies, laid around discovery. Pure.

An order gives each link a precedence, 0 to 255; lower goes first, and among equals, first come, first served. Seeds
have 0. A redirect keeps the precedence of what led to it.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Final, Literal
from zlib import crc32

import msgspec

from crawler.page import EMBEDDED, Link, Redirect
from crawler.protocols import Discovered, Discovery
from crawler.steps import LINKS_AT_ONCE, Steps
from frontier import CrawlUrl

Order = Literal["depth", "breadth-first", "depth-first", "cost"]
Costs = Literal["one", "guess"]

_WORST: Final = 255
_BEST_PAGE: Final = 2
"""Where embeds go first: they share 1, and pages begin here."""


def cost_of(canonical: str, /) -> int:
    """What a URL probably costs: 1, and 1 more for each parameter and for each four segments of its path.

    After Heritrix, whose guess charges for queries and for paths that look strange.
    """
    rest, _, query = canonical.partition("?")
    return 1 + (1 + query.count("&") if query else 0) + max(0, rest.count("/") - 3) // 4


_ORDERS: dict[Order, Callable[[CrawlUrl], int]] = {
    "depth": lambda url: url.precedence,
    # Nothing but the order in which URLs were found: it is that of their depths.
    "breadth-first": lambda _: _BEST_PAGE,
    "depth-first": lambda url: max(_BEST_PAGE, _WORST - url.depth),
    "cost": lambda url: min(_WORST, 1 + cost_of(url.canonical)),
}


def parallel_key(queue_key: str, canonical: str, parallel: Mapping[str, int]) -> str:
    """The key of the queue in which a URL stands if the host has several: always the same one."""
    count = parallel.get(queue_key, 1)
    return queue_key if count == 1 else f"{queue_key}#{crc32(canonical.encode()) % count}"


class Ordered:
    """A `Discovery` whose URLs get their precedence, cost and queue by policy."""

    def __init__(
        self,
        inner: Discovery,
        *,
        order: Order = "depth",
        embeds_first: bool = False,
        costs: Costs = "one",
        parallel: Mapping[str, int] | None = None,
    ) -> None:
        """`depth` leaves precedence as found: by depth, or by weight where the crawl has a focus. `parallel` says for
        queue keys in how many queues their URLs stand, which are served at once: for a giant host that bears it."""
        self._inner = inner
        self._precedence = _ORDERS[order]
        self._embeds_first = embeds_first
        self._cost = cost_of if costs == "guess" else None
        self._parallel = dict(parallel or {})

    def seeds(self, urls: Sequence[str], /) -> list[CrawlUrl]:
        return [self._placed(url, url.precedence) for url in self._inner.seeds(urls)]

    def links(self, base_url: str, links: Sequence[Link], /, *, parent: CrawlUrl, about: str = "") -> Steps[Discovered]:
        return self._ordered(self._inner.links(base_url, links, parent=parent, about=about))

    def references(
        self, base_url: str, links: Sequence[Link], found: Discovered, /, *, parent: CrawlUrl
    ) -> Steps[list[str]]:
        return self._inner.references(base_url, links, found, parent=parent)

    def sitemaps(self, hrefs: Sequence[str], /, *, parent: CrawlUrl) -> Steps[Discovered]:
        return self._ordered(self._inner.sitemaps(hrefs, parent=parent))

    def redirect(self, redirect: Redirect, /, *, parent: CrawlUrl) -> CrawlUrl | str:
        target = self._inner.redirect(redirect, parent=parent)
        return target if isinstance(target, str) else self._placed(target, target.precedence)

    def _ordered(self, finding: Steps[Discovered]) -> Steps[Discovered]:
        found = yield from finding
        urls: list[CrawlUrl] = []
        for at in range(0, len(found.urls), LINKS_AT_ONCE):
            if at:
                yield
            urls += (self._placed(url, self._precedence_of(url)) for url in found.urls[at : at + LINKS_AT_ONCE])
        return msgspec.structs.replace(found, urls=urls)

    def _precedence_of(self, url: CrawlUrl) -> int:
        precedence = self._precedence(url)
        if not self._embeds_first:
            return precedence
        return 1 if url.kind in EMBEDDED else max(_BEST_PAGE, precedence)

    def _placed(self, url: CrawlUrl, precedence: int) -> CrawlUrl:
        key = parallel_key(url.queue_key, url.canonical, self._parallel)
        cost = url.cost if self._cost is None else self._cost(url.canonical)
        return msgspec.structs.replace(url, precedence=precedence, queue_key=key, cost=cost)

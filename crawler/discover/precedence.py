"""Decides which URLs go first, what they cost, and how many queues a host has. A wrapper around discovery. Pure.

An order assigns each link a precedence, 0 to 255. Lower goes first; equal ones go in the order in which they were
found. Seeds have 0. A redirect keeps the precedence of its source.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Final, Literal
from zlib import crc32

import msgspec

from crawler.discover.focus import WORST_PRECEDENCE
from crawler.page import EMBEDDED, Link, Redirect
from crawler.protocols import Discovered, Discovery
from crawler.steps import LINKS_AT_ONCE, Steps
from frontier import CrawlUrl

Order = Literal["depth", "breadth-first", "depth-first", "cost"]
Costs = Literal["one", "guess"]

_BEST_PAGE: Final = 2
"""If embeds go first, they have 1, and pages begin here."""


def cost_of(canonical: str, /) -> int:
    """The probable cost of a URL: 1, plus 1 for each parameter and for each four segments of its path.

    Based on Heritrix, which charges for queries and for strange paths.
    """
    rest, _, query = canonical.partition("?")
    return 1 + (1 + query.count("&") if query else 0) + max(0, rest.count("/") - 3) // 4


_ORDERS: dict[Order, Callable[[CrawlUrl], int]] = {
    "depth": lambda url: url.precedence,
    # URLs go in the order in which they were found, which is that of their depths.
    "breadth-first": lambda _: _BEST_PAGE,
    "depth-first": lambda url: max(_BEST_PAGE, WORST_PRECEDENCE - url.depth),
    "cost": lambda url: min(WORST_PRECEDENCE, 1 + cost_of(url.canonical)),
}


def parallel_key(queue_key: str, canonical: str, parallel: Mapping[str, int]) -> str:
    """The key of a URL's queue, where a host may have several. A URL always gets the same one."""
    count = parallel.get(queue_key, 1)
    return queue_key if count == 1 else f"{queue_key}#{crc32(canonical.encode()) % count}"


class OrderedDiscovery:
    """A `Discovery` that sets the precedence, cost and queue of its URLs by policy."""

    def __init__(
        self,
        inner: Discovery,
        *,
        order: Order = "depth",
        embeds_first: bool = False,
        costs: Costs = "one",
        parallel: Mapping[str, int] | None = None,
    ) -> None:
        """`depth` keeps the precedence of the inner discovery: by depth, or by weight in a crawl with a focus.
        `parallel` splits the queues with these keys into that many, which are served at the same time: for a giant host
        that can bear the load."""
        self._inner = inner
        self.references = inner.references
        self.link_details = inner.link_details
        self._precedence = _ORDERS[order]
        self._embeds_first = embeds_first
        self._cost = cost_of if costs == "guess" else None
        self._parallel = dict(parallel or {})

    def seeds(self, urls: Sequence[str], /) -> list[CrawlUrl]:
        return [self._place(url, url.precedence) for url in self._inner.seeds(urls)]

    def links(self, base_url: str, links: Sequence[Link], /, *, parent: CrawlUrl, about: str = "") -> Steps[Discovered]:
        return self._order(self._inner.links(base_url, links, parent=parent, about=about))

    def sitemaps(self, links: Sequence[Link], /, *, parent: CrawlUrl) -> Steps[Discovered]:
        return self._order(self._inner.sitemaps(links, parent=parent))

    def redirect(self, redirect: Redirect, /, *, parent: CrawlUrl) -> CrawlUrl | str:
        target = self._inner.redirect(redirect, parent=parent)
        return target if isinstance(target, str) else self._place(target, target.precedence)

    def _order(self, finding: Steps[Discovered]) -> Steps[Discovered]:
        found = yield from finding
        urls: list[CrawlUrl] = []
        for at in range(0, len(found.urls), LINKS_AT_ONCE):
            if at:
                yield
            urls += (self._place(url, self._precedence_of(url)) for url in found.urls[at : at + LINKS_AT_ONCE])
        return msgspec.structs.replace(found, urls=urls)

    def _precedence_of(self, url: CrawlUrl) -> int:
        precedence = self._precedence(url)
        if not self._embeds_first:
            return precedence
        return 1 if url.kind in EMBEDDED else max(_BEST_PAGE, precedence)

    def _place(self, url: CrawlUrl, precedence: int) -> CrawlUrl:
        key = parallel_key(url.queue_key, url.canonical, self._parallel)
        cost = url.cost if self._cost is None else self._cost(url.canonical)
        return msgspec.structs.replace(url, precedence=precedence, queue_key=key, cost=cost)

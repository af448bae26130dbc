"""Requests to hosts that state a Crawl-delay: one at a time, and the next one that much later; and rests of hosts for
Retry-After. Pure.

The frontier lets the queue of a host rest after each request. That spaces requests as long as a host has one lease.
With `politeness.per_host` above 1, or several queues for a host, other leases of the host are open meanwhile.
"""

from collections.abc import Iterator
from contextlib import contextmanager

_FEW_HOSTS = 1000
_LEAST_S = 0.001
"""A shorter rest could be none for the frontier, whose clock tells seconds since 1970."""


class Spacing:
    """The hosts with a Crawl-delay that have a request in flight, or have just had one; and those that rest for
    Retry-After, also if each of several queues keeps a pace of its own."""

    def __init__(self, *, began_at: float = 0.0) -> None:
        """`began_at` is when the run began."""
        self._began_at = began_at
        self._in_flight: dict[str, tuple[float, float]] = {}
        """When the request of a host that is in flight began, and the Crawl-delay of the host."""
        self._free_at: dict[str, float] = {}
        """When the next request may begin, by host; some of these times are over."""
        self._forget_at_size = _FEW_HOSTS
        self.has_hosts = False
        """Whether any request may have to wait. Crawls that meet no Crawl-delay and no Retry-After ask nothing more."""

    def rest_since_start(self, queue_key: str, delay_s: float, /) -> None:
        """Let the host of one of several queues rest for its Crawl-delay since the run began: another of them may have
        been asked just before, of which only the wake time of that queue tells."""
        host = _host(queue_key)
        self._free_at[host] = max(self._free_at.get(host, 0.0), self._began_at + delay_s)
        self.has_hosts = True

    def wait_s(self, queue_key: str, /, *, now: float) -> float:
        """How long a request of the queue has to wait; 0 if it may begin now. While another one of its host is in
        flight, that is the Crawl-delay, since no request can begin sooner, but at least a quarter of the time that the
        other one has taken so far. So it looks again only some thirty times, however short the delay is, and however
        slow the server."""
        host = _host(queue_key)
        if (in_flight := self._in_flight.get(host)) is not None:
            began_at, delay_s = in_flight
            return max(delay_s, (now - began_at) / 4, _LEAST_S)
        rest_s = self._free_at.get(host, now) - now
        return max(rest_s, _LEAST_S) if rest_s > 0 else 0.0

    def rest_s(self, queue_key: str, /, *, now: float) -> float:
        """How long the host of the queue still rests, for all its queues."""
        return max(self._free_at.get(_host(queue_key), now) - now, 0.0)

    @contextmanager
    def in_flight(self, queue_key: str, delay_s: float, /, *, now: float) -> Iterator[None]:
        """While a request of the queue is in flight that need not wait. `delay_s`: the Crawl-delay of its host."""
        host = _host(queue_key)
        self._in_flight[host] = now, delay_s
        self.has_hosts = True
        try:
            yield
        finally:
            del self._in_flight[host]

    def rest(self, queue_key: str, delay_s: float, /, *, now: float) -> None:
        """A request of the queue has just ended, and its host rests that long for all its queues."""
        host = _host(queue_key)
        self._free_at[host] = max(self._free_at.get(host, 0.0), now + delay_s)
        self.has_hosts = True
        if len(self._free_at) >= self._forget_at_size:
            self._free_at = {name: at for name, at in self._free_at.items() if at > now}
            self._forget_at_size = max(_FEW_HOSTS, 2 * len(self._free_at))


def is_parallel(queue_key: str, /) -> bool:
    """Whether it is one of several queues that each keep a pace of their own on one host."""
    return queue_key.partition("#")[2].isdecimal()


def _host(queue_key: str) -> str:
    """What the keys of all queues of a host begin with: those of its ports, of its directories, and parallel ones."""
    site = queue_key.partition("#")[0]
    host, _, port = site.rpartition(":")
    return host if port.isdecimal() else site

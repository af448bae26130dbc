"""Which parts have no process for certain, because nobody holds them. It takes the time as an argument.

A lease that Redis does not have any more may still last for its holder: Redis ends it early when its clock is set
forward, or when a server with another clock takes over. So this trusts only the clock of this machine.
"""

from collections.abc import Iterable

from crawler.cluster.leases import Leases


class Unheld:
    """Parts that nobody holds in Redis, and since when."""

    def __init__(self, *, lease_s: float) -> None:
        self._wait_s = lease_s + Leases(lease_s=lease_s).margin_s
        self._since: dict[int, float] = {}

    def see(self, parts: Iterable[int], now: float) -> list[int]:
        """Nobody holds these parts now, and somebody holds all others. Returns those without a process: even a lease
        that was renewed right before has ended for its holder."""
        self._since = {part: self._since.get(part, now) for part in parts}
        return [part for part, since in self._since.items() if now >= since + self._wait_s]

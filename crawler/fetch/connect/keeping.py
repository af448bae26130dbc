"""Decides which connections are kept. Pure.

A kept connection is worth its memory if its host is asked again soon. Hosts are asked at intervals, because they rest
between requests, so we expect the next request after the same time as the last one. The connection that has been idle
for longest is then often the most useful one: it is the next to be used.
"""

from collections.abc import Iterable
from typing import Final

import msgspec

_FREED_SHARE: Final = 0.05
"""Over a limit we free this much more, so that we do not rank all connections at each request."""
_PLAIN_BYTES: Final = 8_000
_TLS_BYTES: Final = 44_000
_TLS_BYTES_PER_BYTE: Final = 3
"""Measured for the connections of uvloop: the buffers of TLS grow with the largest piece that arrived at once, and
never shrink."""


class Idle(msgspec.Struct, frozen=True):
    """A connection that waits for the next request to its host."""

    number: int
    memory_bytes: int
    idle_s: float
    interval_s: float | None
    """The time between its last two requests; None if there was only one."""


def memory_of(*, tls: bool, largest_piece: int) -> int:
    """About how many bytes a connection takes, after so many bytes arrived at once."""
    return _TLS_BYTES + _TLS_BYTES_PER_BYTE * largest_piece if tls else _PLAIN_BYTES


def uselessness(connection: Idle, typical_s: float) -> tuple[bool, float]:
    """The greater, the less useful. First those whose host was not asked when we expected it, and so has probably no
    more URLs; then by memory and the time until the next request. `typical_s` is the interval of the crawl."""
    interval_s = connection.interval_s or typical_s
    wait_s = interval_s - connection.idle_s
    return wait_s < -interval_s, connection.memory_bytes * abs(wait_s)


def choose_to_close(
    idle: Iterable[Idle], *, typical_s: float, excess: int, limit: int, excess_bytes: int, limit_bytes: int
) -> list[int]:
    """The numbers of the connections to close, the least useful first, so that there are `excess` fewer connections,
    and these take `excess_bytes` less."""
    count, size = excess + limit * _FREED_SHARE, excess_bytes + limit_bytes * _FREED_SHARE
    if excess <= 0:
        count = 0
    if excess_bytes <= 0:
        size = 0
    closed = []
    for each in sorted(idle, key=lambda each: uselessness(each, typical_s), reverse=True):
        if count <= 0 and size <= 0:
            break
        closed.append(each.number)
        count -= 1
        size -= each.memory_bytes
    return closed

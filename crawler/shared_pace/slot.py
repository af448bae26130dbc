"""What crawls know together of one group of hosts, and what follows. Pure."""

import struct
from typing import Final

import msgspec

TURN_S: Final = 1.0
"""A crawl that waits comes next. It loses its turn if it does not begin within this time."""
BUSY_WAIT_S: Final = 0.25
"""How long a crawl waits while another one asks the group or comes next, before it looks again. Nobody tells it."""
PACE_S: Final = 60.0
"""A crawl that has not asked a group for so long, or for twice its delay, does not count any more."""
MAX_AT_ONCE: Final = 64
LONGEST_REST_S: Final = 1e9
"""No frontier takes a longer one."""

_FORMAT: Final = struct.Struct("<QdQdQdQddQ")
SIZE: Final = _FORMAT.size
NOBODY: Final = 0


class Slot(msgspec.Struct, array_like=True):
    """A group. Crawls are random numbers; 0 is nobody. Times are seconds of one clock that all crawls read."""

    group: int = 0
    """A hash of its name; 0 if the slot is empty."""
    rest_until: float = 0.0
    rest_by: int = NOBODY
    """The crawl that asked for this rest, and keeps it by itself."""
    delay_s: float = 0.0
    """The longest least rest of all crawls that ask it."""
    delay_by: int = NOBODY
    delay_until: float = 0.0
    """When that crawl does not count any more."""
    turn_of: int = NOBODY
    """The crawl that comes next."""
    turn_until: float = 0.0
    alone_until: float = 0.0
    """Until then no two requests run at once, because a crawl knows that the host states a Crawl-delay."""
    busy: int = 0
    """A bit for each request that has begun and has not ended. The last field, so that none counts of which a full disk
    has kept a part."""

    def encode(self) -> bytes:
        return _FORMAT.pack(*msgspec.structs.astuple(self))

    def is_damaged(self, now: float) -> bool:
        """Whether no crawl can have written this. Then it is worth nothing."""
        latest = now + LONGEST_REST_S
        rests = 0 <= self.delay_s <= LONGEST_REST_S and self.rest_until <= latest
        # No comparison holds for what is not a number.
        counts = self.delay_until <= latest + LONGEST_REST_S and self.alone_until <= latest + LONGEST_REST_S
        return not (rests and counts and self.turn_until <= latest + TURN_S)

    def used_until(self) -> float:
        """When nothing is lost if another group takes the slot."""
        return float("inf") if self.busy else max(self.rest_until, self.delay_until, self.turn_until, self.alone_until)

    def rest_s(self, crawl: int, now: float) -> float:
        """How long the group rests for another crawl than this one."""
        return self.rest_until - now if self.rest_by != crawl and self.rest_until > now else 0.0

    def wait_s(self, crawl: int, now: float) -> float:
        """How long the crawl has to wait, as far as rests and turns of others go; 0 if it may begin."""
        if rest_s := self.rest_s(crawl, now):
            return rest_s
        if self.turn_of not in (NOBODY, crawl) and self.turn_until > now:
            return min(self.turn_until - now, BUSY_WAIT_S)
        return 0.0

    def demand(self, crawl: int, delay_s: float, now: float, *, alone: bool = False) -> None:
        """The crawl asks this group, which is to rest for `delay_s` at least, and if `alone`, is to have one request at
        a time."""
        until = now + max(PACE_S, 2 * delay_s)
        if delay_s >= self.delay_s or self.delay_until <= now or self.delay_by == crawl:
            self.delay_s, self.delay_by, self.delay_until = delay_s, crawl, until
        if alone:
            self.alone_until = max(self.alone_until, until)

    def line_up(self, crawl: int, wait_s: float, now: float) -> None:
        """The crawl will try again after `wait_s`. It comes next, unless another one does."""
        if self.turn_of in (NOBODY, crawl) or self.turn_until <= now:
            self.turn_of, self.turn_until = crawl, now + wait_s + TURN_S

    def begin(self, crawl: int, number: int) -> None:
        self.busy |= 1 << number
        if self.turn_of == crawl:
            self.turn_of, self.turn_until = NOBODY, 0.0

    def end(self, number: int) -> None:
        self.busy &= ~(1 << number)

    def rest(self, crawl: int, rest_s: float, now: float) -> None:
        """A request of the crawl has ended, which demands this rest."""
        by = crawl
        if self.delay_by != crawl and self.delay_until > now and self.delay_s > rest_s:
            rest_s, by = self.delay_s, NOBODY
        if now + rest_s >= self.rest_until:
            self.rest_until, self.rest_by = now + rest_s, by

    def lose(self, number: int, delay_s: float, now: float) -> None:
        """The process that has begun this request is dead. Its server rests, because nobody knows when it ended."""
        self.busy &= ~(1 << number)
        if self.delay_until > now:
            delay_s = max(delay_s, self.delay_s)
        self.rest_until, self.rest_by = max(self.rest_until, now + delay_s), NOBODY


def decode(data: bytes) -> Slot:
    return Slot(*_FORMAT.unpack(data))

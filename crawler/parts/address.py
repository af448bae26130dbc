"""One address, as the authority knows it: who asks it, who waits, and how long it rests."""

from collections import deque

from crawler.parts.reservations import Granted, Held, Outgoing, Share, Shared, Sole


class Address:
    """Methods return the messages to send."""

    def __init__(self, name: str, *, rest_until: float, at_once: int) -> None:
        self.name = name
        self.rest_until = rest_until
        self._at_once = at_once
        self._sole: int | None = None
        """The part that asks it by its own rules."""
        self._sharers: list[int] = []
        """The other parts that have registered it."""
        self._awaiting_handover: list[int] = []
        """The sharers that wait until the sole part has handed the address over."""
        self._in_flight: dict[int, int] = {}
        """Requests that are running or granted, by part."""
        self._waiting: deque[int] = deque()
        """Parts that wait for a grant; one may wait more than once."""

    @property
    def is_unused(self) -> bool:
        return self._sole is None and not self._sharers

    @property
    def waits_for_rest(self) -> bool:
        """Whether the end of the rest changes anything."""
        return self.is_unused or (bool(self._waiting) and self._has_room)

    @property
    def _has_room(self) -> bool:
        return sum(self._in_flight.values()) < self._at_once

    def is_held_by(self, part: int) -> bool:
        return part == self._sole or part in self._sharers

    def add_rest(self, rest_s: float, now: float) -> None:
        self.rest_until = max(self.rest_until, now + rest_s)

    def register(self, part: int, now: float) -> Outgoing:
        if self.is_unused:
            self._sole = part
        if self._sole == part:
            return [(part, Sole(self.name, max(0.0, self.rest_until - now)))]
        if part not in self._sharers:
            self._sharers.append(part)
        if self._sole is None:
            return [(part, Shared(self.name))]
        is_first = not self._awaiting_handover
        self._awaiting_handover.append(part)
        return [(self._sole, Share(self.name))] if is_first else []

    def hand_over(self, part: int, in_flight: int, now: float) -> Outgoing:
        """A part shares the address, as it was asked to. Another than the sole part has dropped it meanwhile."""
        if part != self._sole:
            return []
        self._sole = None
        self._sharers.append(part)
        self._set_in_flight(part, in_flight)
        return self.settle(now)

    def reserve(self, part: int, now: float) -> Outgoing:
        if part in self._sharers:
            self._waiting.append(part)
        return self.settle(now)

    def release(self, part: int, now: float) -> Outgoing:
        self._set_in_flight(part, self._in_flight.get(part, 0) - 1)
        return self.settle(now)

    def join(self, part: int, held: Held) -> Outgoing:
        """A part that did not hold the address joins with it."""
        self._set_in_flight(part, held.in_flight)
        if held.is_shared:
            self._sharers.append(part)
            return []
        self._sole = part
        return [(part, Share(self.name))] if self._sharers else []

    def leave(self, part: int) -> None:
        """The part does not hold the address any more. The caller calls `settle`, unless the part may come back with
        it."""
        self._in_flight.pop(part, None)
        self._waiting = deque(each for each in self._waiting if each != part)
        self._awaiting_handover = [each for each in self._awaiting_handover if each != part]
        if self._sole == part:
            self._sole = None
        elif part in self._sharers:
            self._sharers.remove(part)

    def settle(self, now: float) -> Outgoing:
        """Send answers and grants that are possible now."""
        out: Outgoing = []
        if self._sole is not None:
            return out
        out += [(part, Shared(self.name)) for part in self._awaiting_handover]
        self._awaiting_handover.clear()
        while self._waiting and self._has_room and self.rest_until <= now:
            part = self._waiting.popleft()
            self._set_in_flight(part, self._in_flight.get(part, 0) + 1)
            out.append((part, Granted(self.name)))
        return out

    def _set_in_flight(self, part: int, count: int) -> None:
        self._in_flight.pop(part, None)
        if count > 0:
            self._in_flight[part] = count

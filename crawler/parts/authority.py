"""Decides which part may ask an address that several parts ask. The supervisor of a crawl has it."""

from collections import deque
from collections.abc import Iterable
from heapq import heappop, heappush

from crawler.parts.reservations import (
    Drop,
    FromHolder,
    Granted,
    Held,
    Outgoing,
    Register,
    Release,
    Reserve,
    Share,
    Shared,
    Sole,
)


class Address:
    """One address: who asks it, who waits, and how long it rests. Methods return the messages to send."""

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


class Authority:
    """Knows who asks which address. It answers nobody before it has heard all parts: those that it has not heard may be
    asking already. A part that can't be reached keeps what it holds until its process has ended or it joins again.
    """

    def __init__(self, *, parts: int, longest_rest_s: float, now: float, at_once: int = 1) -> None:
        """`at_once` requests may run to one address. `longest_rest_s` is the longest time from the beginning of a
        request to the end of its server's rest. At first, each address rests for so long: a part may have asked it for
        an earlier authority, and died."""
        self._unheard = set(range(parts))
        self._longest_rest_s = longest_rest_s
        self._at_once = at_once
        self._rest_until = now + longest_rest_s
        """The rest of addresses of which nothing is known."""
        self._addresses: dict[str, Address] = {}
        self._early: list[tuple[int, FromHolder]] = []
        """Messages that came before all parts were heard."""
        self._wakes: list[tuple[float, str]] = []
        """A heap: when to look at which address again."""
        self._waking: set[str] = set()
        """The addresses in the heap."""

    def join(self, part: int, held: Iterable[Held], now: float) -> Outgoing:
        """A part has connected, and tells all that it holds. What it held before and does not tell, it has dropped: how
        long that should rest was lost with the last connection."""
        left = {address.name: address for address in self._leave(part)}
        out: Outgoing = []
        for each in held:
            address = left.pop(each.address, None) or self._get(each.address)
            address.add_rest(each.rest_s, now)
            out += address.join(part, each)
            out += self._settle(address, now)
        for address in left.values():
            address.add_rest(self._longest_rest_s, now)
            out += self._settle(address, now)
        return out + self._hear(part, now)

    def forget_process(self, part: int, now: float) -> Outgoing:
        """The process of a part has ended, and its requests with it. Their servers rest for the longest time, because
        nobody knows how long they should. If the part had not joined, all servers do."""
        out: Outgoing = []
        left = self._leave(part)
        if part in self._unheard:
            self._rest_until = max(self._rest_until, now + self._longest_rest_s)
            left = list(self._addresses.values())
        for address in left:
            address.add_rest(self._longest_rest_s, now)
            out += self._settle(address, now)
        return out + self._hear(part, now)

    def take(self, part: int, message: FromHolder, now: float) -> Outgoing:
        """A part has sent a message."""
        if self._unheard:
            self._early.append((part, message))
            return []
        address = self._get(message.address)
        out: Outgoing = []
        match message:
            case Register():
                out = address.register(part, now)
            case Reserve():
                out = address.reserve(part, now)
            case Release():
                address.add_rest(message.rest_s, now)
                out = address.release(part, now)
            case Held():
                address.add_rest(message.rest_s, now)
                out = address.hand_over(part, message.in_flight, now)
            case Drop():
                address.add_rest(message.rest_s, now)
                address.leave(part)
        return out + self._settle(address, now)

    def wake(self, now: float) -> Outgoing:
        """Grant what has become possible because a rest has ended. Forget addresses that nobody asks any more."""
        out: Outgoing = []
        while self._wakes and self._wakes[0][0] <= now:
            _, name = heappop(self._wakes)
            self._waking.discard(name)
            if (address := self._addresses.get(name)) is not None:
                out += self._settle(address, now)
        return out

    def next_wake(self) -> float | None:
        """When to call `wake`; None if there is nothing to wait for."""
        return self._wakes[0][0] if self._wakes else None

    def _settle(self, address: Address, now: float) -> Outgoing:
        if self._unheard:
            return []
        out = address.settle(now)
        if address.is_unused and address.rest_until <= now:
            self._addresses.pop(address.name, None)
        elif address.waits_for_rest and address.name not in self._waking:
            self._waking.add(address.name)
            heappush(self._wakes, (address.rest_until, address.name))
        return out

    def _hear(self, part: int, now: float) -> Outgoing:
        if part not in self._unheard:
            return []
        self._unheard.discard(part)
        out: Outgoing = []
        if not self._unheard:
            for address in list(self._addresses.values()):
                out += self._settle(address, now)
            early, self._early = self._early, []
            for sender, message in early:
                out += self.take(sender, message, now)
        return out

    def _leave(self, part: int) -> list[Address]:
        """Forget what a part holds. Returns these addresses."""
        self._early = [each for each in self._early if each[0] != part]
        held = [address for address in self._addresses.values() if address.is_held_by(part)]
        for address in held:
            address.leave(part)
        return held

    def _get(self, name: str) -> Address:
        address = self._addresses.get(name)
        if address is None:
            address = self._addresses[name] = Address(name, rest_until=self._rest_until, at_once=self._at_once)
        return address

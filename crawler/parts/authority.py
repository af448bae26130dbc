"""Decides which part may ask an address that several parts ask. The supervisor of a crawl has it."""

from collections.abc import Iterable
from heapq import heappop, heappush

from crawler.parts.address import Address
from crawler.parts.reservations import Drop, FromHolder, Held, Outgoing, Register, Release, Reserve


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

    def __len__(self) -> int:
        """The number of addresses that are held or rest."""
        return len(self._addresses)

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

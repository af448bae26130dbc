"""Which addresses a part may ask now. Each part has one holder, which talks to the authority of the crawl."""

from collections.abc import Iterator
from enum import Enum, auto

import msgspec

from crawler.parts.reservations import (
    Drop,
    FromHolder,
    Granted,
    Held,
    Register,
    Release,
    Reserve,
    Share,
    Shared,
    Sole,
    ToHolder,
)


class _Mode(Enum):
    REGISTERING = auto()
    SOLE = auto()
    SHARED = auto()


class _Address(msgspec.Struct):
    mode: _Mode = _Mode.REGISTERING
    in_flight: int = 0
    """Requests that are running."""
    asked_for: int = 0
    """Grants that were asked for and have not come."""
    granted: int = 0
    """Grants that have come and are not used."""
    rest_until: float = 0.0


class Holder:
    """The addresses that a part has registered. While it is not connected, it begins requests to none but those that it
    has alone."""

    def __init__(self) -> None:
        self._addresses: dict[str, _Address] = {}
        self._is_connected = False
        self._out: list[FromHolder] = []

    def __contains__(self, name: object) -> bool:
        return name in self._addresses

    def messages(self) -> list[FromHolder]:
        """What is to be sent to the authority, in order. Each message is given once."""
        out, self._out = self._out, []
        return out

    # requests

    def begin(self, name: str, now: float) -> bool:
        """Begin a request to an address, if that is allowed now. If it is not, the part asks for it: `take` will return
        the address when it is worth trying again."""
        address = self._registered(name)
        if address.mode is _Mode.SOLE and now >= address.rest_until:
            address.in_flight += 1
            return True
        if address.mode is _Mode.SHARED and address.granted:
            address.granted -= 1
            address.in_flight += 1
            return True
        if address.mode is _Mode.SHARED and not address.asked_for:
            self._reserve(name, address)
        return False

    def begin_unasked(self, name: str) -> None:
        """A request to an address has begun although it was not to be expected, because its host has several."""
        address = self._registered(name)
        address.in_flight += 1

    def _registered(self, name: str) -> _Address:
        """An address of which the authority knows that the part asks it."""
        address = self._addresses.get(name)
        if address is None:
            address = self._addresses[name] = _Address()
            self._send(Register(name))
        return address

    def end(self, name: str, rest_s: float, now: float) -> None:
        """A request has ended, and the address is to rest."""
        address = self._addresses[name]
        address.in_flight -= 1
        address.rest_until = max(address.rest_until, now + rest_s)
        if address.mode is _Mode.SHARED:
            self._send(Release(name, rest_s))

    def wake_at(self, name: str) -> float | None:
        """When an address that the part has alone may be asked; None if a message will say it."""
        address = self._addresses.get(name)
        return address.rest_until if address is not None and address.mode is _Mode.SOLE else None

    def decline(self, name: str) -> None:
        """Give unused grants for an address back, because nothing is to be asked there any more."""
        address = self._addresses.get(name)
        if address is not None:
            for _ in range(address.granted):
                self._send(Release(name, 0.0))
            address.granted = 0

    def drop(self, name: str, now: float) -> bool:
        """Stop holding an address, if nothing is running or awaited there. Returns whether that was done."""
        address = self._addresses.get(name)
        if address is None or address.mode is _Mode.REGISTERING or not self._is_connected:
            return False
        if address.in_flight or address.granted or address.asked_for:
            return False
        del self._addresses[name]
        self._send(Drop(name, max(0.0, address.rest_until - now)))
        return True

    # the authority

    def connect(self, now: float) -> list[Held]:
        """A connection to the authority begins. Returns what to tell it first; `messages` follow."""
        self._is_connected = True
        self._out = []
        held = list(self._held(now))
        for name, address in self._addresses.items():
            address.granted = 0
            if address.mode is _Mode.REGISTERING:
                self._send(Register(name))
            elif address.asked_for:
                self._reserve(name, address)
        return held

    def disconnect(self) -> None:
        """The connection has ended. Grants that are not used may be given to others."""
        self._is_connected = False
        self._out = []
        for address in self._addresses.values():
            address.asked_for += address.granted
            address.granted = 0

    def take(self, message: ToHolder, now: float) -> str | None:
        """The authority has sent a message. Returns the address if a request to it may have become possible."""
        name = message.address
        address = self._addresses.get(name)
        if address is None:
            return None  # it was dropped meanwhile, which answers every message
        match message:
            case Share() if address.mode is _Mode.SOLE:
                address.mode = _Mode.SHARED
                self._send(_held(name, address, now))
            case Share():
                return None  # it was dropped and is registered anew
            case Sole():
                address.mode = _Mode.SOLE
                address.rest_until = max(address.rest_until, now + message.rest_s)
            case Shared():
                address.mode = _Mode.SHARED
            case Granted():
                address.granted += 1
                address.asked_for = max(0, address.asked_for - 1)
        return name

    def _reserve(self, name: str, address: _Address) -> None:
        address.asked_for = 1
        self._send(Reserve(name))

    def _held(self, now: float) -> Iterator[Held]:
        for name, address in self._addresses.items():
            if address.mode is not _Mode.REGISTERING:
                yield _held(name, address, now)

    def _send(self, message: FromHolder) -> None:
        # `connect` repeats what was said before.
        if self._is_connected:
            self._out.append(message)


def _held(name: str, address: _Address, now: float) -> Held:
    return Held(
        address=name,
        is_shared=address.mode is _Mode.SHARED,
        in_flight=address.in_flight,
        rest_s=max(0.0, address.rest_until - now),
    )

"""What a service promises, and which messages belong to which service."""

from collections.abc import Callable, Iterable
from typing import Any, Protocol

import msgspec

from crawler.parts.line.messages import ToService

Send = Callable[[msgspec.Struct], None]
"""Sends a message of a service to its other side."""


class PartService(Protocol):
    """A part's side of a service. The package says how it is called."""

    @property
    def name(self) -> str: ...

    @property
    def messages(self) -> Any:
        """The type of the messages that it receives."""
        ...

    def connect(self, send: Send, /) -> None:
        """The part is open, and the line to the supervisor is there."""
        ...

    def receive(self, message: Any, /) -> None: ...

    def disconnect(self) -> None:
        """The line has ended. The part finishes what is in flight. On many machines, it goes on, and `connect` may
        follow. Disconnecting twice is harmless."""
        ...


class SupervisorService(Protocol):
    """The supervisor's side of a service."""

    @property
    def name(self) -> str: ...

    @property
    def messages(self) -> Any:
        """The type of the messages that it receives."""
        ...

    def connect(self, part: int, send: Send, /) -> None:
        """A process has opened the part."""
        ...

    def receive(self, part: int, message: Any, /) -> None: ...

    def lose(self, part: int, /) -> None:
        """The part can't be reached. Its process may go on meanwhile; `connect` or `disconnect` follows."""
        ...

    def disconnect(self, part: int, /) -> None:
        """The process of the part has ended, or it has none. Another one may follow."""
        ...


class PartServices:
    """All services of a part."""

    def __init__(self, services: Iterable[PartService], send: Callable[[ToService], None]) -> None:
        self._services = {each.name: each for each in services}
        self._decoders = {name: _decoder(each.messages) for name, each in self._services.items()}
        self._send = send

    def connect(self) -> None:
        for name, service in self._services.items():
            service.connect(_sender(name, self._send))

    def receive(self, message: ToService) -> None:
        self._services[message.service].receive(self._decoders[message.service](message.body))

    def disconnect(self) -> None:
        for service in self._services.values():
            service.disconnect()


class SupervisorServices:
    """All services of a supervisor."""

    def __init__(self, services: Iterable[SupervisorService]) -> None:
        self._services = {each.name: each for each in services}
        self._decoders = {name: _decoder(each.messages) for name, each in self._services.items()}
        self._is_lost: dict[int, bool] = {}
        """Of each part with a process: whether it can't be reached."""
        self._without_process: set[int] = set()

    def connect(self, part: int, send: Callable[[ToService], None]) -> None:
        self._is_lost[part] = False
        self._without_process.discard(part)
        for name, service in self._services.items():
            service.connect(part, _sender(name, send))

    def receive(self, part: int, message: ToService) -> None:
        self._services[message.service].receive(part, self._decoders[message.service](message.body))

    def lose(self, part: int) -> None:
        """Harmless for a part that was not connected."""
        if self._is_lost.get(part) is False:
            self._is_lost[part] = True
            for service in self._services.values():
                service.lose(part)

    def disconnect(self, part: int) -> None:
        """The process of the part has ended, or it has none. Harmless if that is known."""
        self._is_lost.pop(part, None)
        if part not in self._without_process:
            self._without_process.add(part)
            for service in self._services.values():
                service.disconnect(part)


_encode = msgspec.msgpack.Encoder().encode


def _sender(name: str, send: Callable[[ToService], None]) -> Send:
    return lambda message: send(ToService(service=name, body=msgspec.Raw(_encode(message))))


def _decoder(messages: Any) -> Callable[[msgspec.Raw], Any]:
    return msgspec.msgpack.Decoder(messages).decode

"""What the room keeps over a restart."""

from typing import Protocol


class Notes(Protocol):
    """A durable map. See `frontier.Notes`."""

    def get(self, key: str, /) -> bytes | None: ...

    def put(self, key: str, value: bytes, /) -> None: ...

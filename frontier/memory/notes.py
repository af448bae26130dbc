"""Small values for the crawler, in memory."""

import logging
from collections.abc import Iterator

log = logging.getLogger(__name__)


class MemoryNotes:
    """`Notes` that end with the process."""

    def __init__(self) -> None:
        self._values: dict[str, bytes] = {}

    def get(self, key: str, /) -> bytes | None:
        return self._values.get(key)

    def put(self, key: str, value: bytes, /) -> None:
        self._values[key] = value

    def items(self, prefix: str, /) -> Iterator[tuple[str, bytes]]:
        return (item for item in sorted(self._values.items()) if item[0].startswith(prefix))

    def set_aside(self, key: str, why: Exception, /) -> None:
        log.error("the value of %r can't be read and is set aside: %s", key, why)
        self._values.pop(key, None)

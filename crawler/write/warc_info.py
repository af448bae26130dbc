"""The warcinfo record that holds: who writes the archive, and by which settings."""

import time
from collections.abc import Callable, Iterator, Mapping
from typing import Final

from crawler.write.warc_members import Field, Urns
from crawler.write.warc_records import warcinfo

SETTINGS: Final = "settings"
"""The fact that has a line for each setting."""
_ABOUT_FORMAT: Final = (
    ("format", "WARC File Format 1.1"),
    ("conformsTo", "https://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/"),
)


class WarcInfo:
    """Each file begins with one, and another follows when the settings have changed. Records refer to it by its
    identifier, so that is known before it is written: it goes into the file with the next record. Their own identifiers
    come from the same `urns`."""

    def __init__(self, facts: Mapping[str, str], *, level: int, clock: Callable[[], float] = time.time) -> None:
        self._facts = dict(facts)
        self._level = level
        self._clock = clock
        self.begin()

    def begin(self) -> None:
        self.urns = Urns()
        self._written_at: int | None = None

    def tell(self, facts: Mapping[str, str], /) -> None:
        """What holds from now on."""
        if facts != self._facts:
            self._facts = dict(facts)
            self.begin()

    def record(self, file_name: str, size: int, /) -> bytes:
        """The record, to be written at the end of a file of that size; nothing if the file has it."""
        if self._written_at is not None and self._written_at < size:
            return b""
        return warcinfo(file_name, list(self._fields()), now=self._clock(), level=self._level, urn=self.urns.of_info)

    def note_written(self, at: int, /) -> None:
        """The file has it at that byte. If the disk is full, it may lose it again."""
        self._written_at = at

    def _fields(self) -> Iterator[Field]:
        for name, value in self._facts.items():
            if name == SETTINGS:
                yield from (("setting", line) for line in value.splitlines())
            else:
                yield name, value
        yield from _ABOUT_FORMAT

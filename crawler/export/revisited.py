"""Gives revisit records the payloads that they refer to, from an archive."""

from collections.abc import Callable
from pathlib import Path
from typing import Final

import msgspec

from crawler.export.captures import Captures, Location
from crawler.write.cdxj.making import OPEN
from crawler.write.warc_reader import Capture, captures_at

MAX_RECORD_BYTES: Final = 64_000_000
"""The largest WARC record that is read."""
_END: Final = b"\r\n\r\n"


class RevisitedCaptures:
    """Reads captures where the index of an archive says that they are."""

    def __init__(self, directory: Path, captures: Captures) -> None:
        """`directory` is that of the `captures`."""
        self._directory = directory
        self._captures = captures

    def with_payload(self, revisit: Capture, /) -> Capture | None:
        """A revisit record with the payload that it refers to: URL and headers are its own."""
        locations = () if revisit.refers_to is None else self._captures.find_all(*revisit.refers_to)
        found = (self.read(each) for each in locations)
        # The URL may have been fetched twice within a second, and then this may be a revisit record itself, or have
        # another body.
        same = (each for each in found if each is not None and each.payload_digest == revisit.payload_digest)
        original = next((each for each in same if each.kind != "revisit"), None)
        if original is None:
            return None
        head, end, _ = revisit.block.partition(_END)
        block = b"".join((head, end, original.block.partition(_END)[2]))
        return msgspec.structs.replace(revisit, kind=original.kind, block=block, truncated=original.truncated)

    def read(self, location: Location, *, is_wanted: Callable[[Capture], bool] = lambda _: True) -> Capture | None:
        """The first wanted record of a page."""
        path = self._directory / location.filename
        for place in (path, path.with_name(path.name + OPEN), path):  # the crawl may finish it meanwhile
            try:
                return next(filter(is_wanted, captures_at(place, location.offset, max_bytes=MAX_RECORD_BYTES)), None)
            except FileNotFoundError:
                continue
        return None

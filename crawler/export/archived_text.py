"""Puts the text of pages into their records, read from the archive."""

from collections.abc import Callable
from pathlib import Path
from typing import Final

import msgspec

from crawler.export.archived_pages import page_of_capture
from crawler.export.captures import Captures, Location
from crawler.page import WITH_DOCUMENT, Page, PageRecord, Wanted
from crawler.protocols import ContentReading, LinkExtractor
from crawler.read.sniff import is_html
from crawler.write.warc_reader import Capture, captures_at

MAX_RECORD_BYTES: Final = 64_000_000
"""Of a WARC record."""
_BOTH: Final = Wanted(text=True, markdown=True)
_OPEN: Final = ".open"
_END: Final = b"\r\n\r\n"


class ArchivedText:
    """Reads the text of each page from the archive. One page is in memory at a time."""

    def __init__(
        self, directory: Path, captures: Captures, extractor: LinkExtractor, read_content: ContentReading
    ) -> None:
        self._directory = directory
        self._captures = captures
        self._extractor = extractor
        self._read_content = read_content
        self._decoder = msgspec.json.Decoder(PageRecord)
        self._encoder = msgspec.json.Encoder()
        self.missing = 0
        """Pages that the archive does not have."""

    def rewrite(self, line: bytes, /) -> bytes:
        """A line of records, with the text of its page. Raises what decoding it raises."""
        record = self._decoder.decode(line)
        if not _has_text(record):
            return line
        page = self._page_of(record)
        if page is None:
            self.missing += 1
            return line
        found = self._read_content(page, self._extractor.extract(page), _BOTH)
        told = (*(record.message or "").split("; "), *found.troubles)  # the crawl may have told the same
        record = msgspec.structs.replace(
            record,
            main_text=_storable(found.text),
            markdown=_storable(found.markdown),
            message=_storable("; ".join(dict.fromkeys(filter(None, told)))) or None,
        )
        return self._encoder.encode(record) + b"\n"

    def _page_of(self, record: PageRecord) -> Page | None:
        location = self._captures.find(record.url, record.fetched_at)
        if location is None:
            return None
        is_rendered = record.rendering in WITH_DOCUMENT
        capture = self._capture(location, is_wanted=_is_document if is_rendered else _is_first)
        if capture is not None and capture.kind == "revisit":
            capture = self._with_payload(capture)
        return None if capture is None else page_of_capture(capture, max_body_bytes=MAX_RECORD_BYTES)

    def _with_payload(self, revisit: Capture) -> Capture | None:
        """A revisit record with the payload that it refers to: URL and headers are its own."""
        locations = () if revisit.refers_to is None else self._captures.find_all(*revisit.refers_to)
        found = (self._capture(each, is_wanted=_is_first) for each in locations)
        # The URL may have been fetched twice within a second, and then this may be a revisit record itself.
        original = next((each for each in found if each is not None and each.kind != "revisit"), None)
        if original is None:
            return None
        head, end, _ = revisit.block.partition(_END)
        block = b"".join((head, end, original.block.partition(_END)[2]))
        return msgspec.structs.replace(revisit, kind=original.kind, block=block, truncated=original.truncated)

    def _capture(self, location: Location, *, is_wanted: Callable[[Capture], bool]) -> Capture | None:
        path = self._directory / location.filename
        for place in (path, path.with_name(path.name + _OPEN), path):  # the crawl may finish it meanwhile
            try:
                return next(filter(is_wanted, captures_at(place, location.offset, max_bytes=MAX_RECORD_BYTES)), None)
            except FileNotFoundError:
                continue
        return None


def _has_text(record: PageRecord) -> bool:
    return (
        record.state == "done"
        and record.status is not None
        and record.status < 300
        and record.content_type is not None
        and is_html(record.content_type)
    )


def _is_first(_: Capture) -> bool:
    return True


def _is_document(capture: Capture) -> bool:
    return capture.kind == "conversion"


def _storable(text: str | None) -> str | None:
    return None if text is None else text.encode("utf-8", "replace").decode()

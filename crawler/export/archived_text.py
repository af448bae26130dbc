"""Puts the text of pages into their records, read from the archive."""

from pathlib import Path
from typing import Final

import msgspec

from crawler.export.archived_pages import page_of_capture
from crawler.export.captures import MAX_RECORD_BYTES, FindsCaptures, RevisitedCaptures
from crawler.page import WITH_DOCUMENT, Content, Page, PageRecord, Wanted
from crawler.protocols import ContentReading
from crawler.read.html.lexbor import lexbor_extractor
from crawler.read.sniff import is_html
from crawler.write.warc_reader import Capture

_BOTH: Final = Wanted(text=True, markdown=True)


class ArchivedText:
    """Reads the text of each page from the archive. One page is in memory at a time."""

    def __init__(self, directory: Path, captures: FindsCaptures, read_content: ContentReading) -> None:
        self._captures = captures
        self._revisited = RevisitedCaptures(directory, captures)
        self._extractor = lexbor_extractor()
        self._read_content = read_content
        self._decoder = msgspec.json.Decoder(PageRecord)
        self._encoder = msgspec.json.Encoder()
        self.missing = 0
        """Pages that the archive does not have."""

    def rewrite(self, line: bytes, /) -> bytes:
        """A line of records, with the text of its page. Raises what decoding it raises."""
        record = self._decoder.decode(line)
        found = self.read(record, _BOTH)
        if found is None:
            return line
        told = (*(record.message or "").split("; "), *found.troubles)  # the crawl may have told the same
        record = msgspec.structs.replace(
            record,
            main_text=_storable(found.text),
            markdown=_storable(found.markdown),
            message=_storable("; ".join(dict.fromkeys(filter(None, told)))) or None,
        )
        return self._encoder.encode(record) + b"\n"

    def read(self, record: PageRecord, wanted: Wanted) -> Content | None:
        """What the archive has of a page; None if that has no text, or if the archive lacks it."""
        if not may_have_text(record):
            return None
        page = self._page_of(record)
        if page is None:
            self.missing += 1
            return None
        return self._read_content(page, self._extractor.extract(page), wanted)

    def _page_of(self, record: PageRecord) -> Page | None:
        locations = () if record.fetched_at is None else self._captures.find_all(record.url, record.fetched_at)
        is_rendered = record.rendering in WITH_DOCUMENT

        def is_wanted(capture: Capture) -> bool:
            # A rendered page may have loaded the same URL in the same second.
            return capture.number == record.number and (capture.kind == "conversion" or not is_rendered)

        found = (self._revisited.read(each, is_wanted=is_wanted) for each in locations)
        capture = next((each for each in found if each is not None), None)
        if capture is not None and capture.kind == "revisit":
            capture = self._revisited.with_payload(capture)
        return None if capture is None else page_of_capture(capture, max_body_bytes=MAX_RECORD_BYTES)


def may_have_text(record: PageRecord) -> bool:
    """Whether the archive may have the text of a page."""
    return (
        record.state == "done"
        and record.status is not None
        and record.status < 300
        and record.content_type is not None
        and is_html(record.content_type)
    )


def _storable(text: str | None) -> str | None:
    return None if text is None else text.encode("utf-8", "replace").decode()

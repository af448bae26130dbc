"""Reads the archives that `warc` has written, as far as they are intact."""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

import msgspec

from crawler.page import Link, LinkKind
from crawler.write.cdxj.heads import END, fields_of, may_follow
from crawler.write.cdxj.making import OPEN, archives
from crawler.write.gzip_members import HEAD_BYTES, GzipMember, members, members_from, read_until
from crawler.write.warc_facts import OUTLINK
from crawler.write.warc_opening import is_ours
from crawler.write.warc_records import NUMBER_FIELD, PURPOSE_FIELD, TEXT

_KINDS = frozenset(map(str, LinkKind))
_HIGHEST = (1 << 63) - 1
"""Of all record numbers: they have 63 bits (`crawler.disk.lineages`)."""
_MOST_DIGITS = len(str(_HIGHEST))
"""Of a number. More are damage, and beyond 4,300 Python does not read them."""


class Capture(msgspec.Struct, frozen=True, kw_only=True):
    """One WARC record of a page or exchange."""

    kind: str
    """response, revisit, metadata, conversion (the document of a rendered page), text (another conversion), …"""
    number: int
    """The number of the page record; -1 if there is none."""
    purpose: str | None = None
    """If it belongs to no page: what was asked for, such as `robots`."""
    url: str
    ip: str | None
    truncated: str | None
    payload_digest: str | None
    """As the record says."""
    date: str | None = None
    """When it was fetched, in RFC 3339."""
    refers_to: tuple[str, str] | None = None
    """URL and date of the record that a revisit refers to."""
    block: bytes
    """The block, without the line breaks after it; perhaps only its beginning, see `captures`."""

    def http(self) -> tuple[int, str, list[tuple[bytes, bytes]], bytes]:
        """The status, reason, headers and body of a response. Raises `ValueError` if it is not a response."""
        head, separator, body = self.block.partition(END)
        status_line, *lines = head.split(b"\r\n")
        words = status_line.decode("latin-1").split(" ", 2)
        if not separator or len(words) < 2 or whole_number(words[1]) is None:
            raise ValueError(f"a response begins with a status line and headers, found {head[:80]!r}")
        headers = [(name, value.strip()) for name, _, value in (line.partition(b":") for line in lines)]
        return int(words[1]), "".join(words[2:]), headers, body

    def metadata_fields(self) -> dict[str, str]:
        """The fields of a metadata record; of several with one name the last."""
        return dict(self._fields())

    def outlinks(self) -> tuple[Link, ...]:
        """The links that a metadata record names; none of those that are damaged."""
        words = (f"{value}   ".split(" ", 3) for name, value in self._fields() if name == OUTLINK)
        return tuple(Link(url, LinkKind(kind), rel=rel.strip()) for url, _, kind, rel in words if kind in _KINDS)

    def _fields(self) -> Iterator[tuple[str, str]]:
        # Values may contain other line ends, such as U+0085.
        for line in self.block.decode("utf-8", "replace").split("\r\n"):
            name, _, value = line.partition(":")
            yield name, value.strip()


def whole_number(text: str) -> int | None:
    """The number that a field of a record says; None if it says none, as in a damaged one."""
    number = int(text) if text.isdecimal() and len(text) <= _MOST_DIGITS else _HIGHEST + 1
    return number if number <= _HIGHEST else None


class DamagedPart(msgspec.Struct, frozen=True):
    """Bytes of a file that are not an intact record."""

    path: Path
    start: int
    end: int


def captures(
    directory: Path,
    *,
    full_blocks: bool,
    with_exchanges: bool = False,
    on_unread: Callable[[Path, OSError], None] | None = None,
) -> Iterator[Capture | DamagedPart]:
    """The records of pages in a directory, in the order written, without the torn end of an open file.

    With `full_blocks`, each has its complete block, so memory is bounded by the largest body; otherwise at most 512
    KiB. Only `with_exchanges` there are also those that belong to no page. Raises `OSError` for a file that can't be
    read, unless `on_unread` is told of it.
    """
    for path in archives(directory):
        try:
            yield from _captures_in(path, full_blocks=full_blocks, with_exchanges=with_exchanges)
        except OSError as error:
            if on_unread is None:
                raise
            on_unread(path, error)


def _captures_in(path: Path, *, full_blocks: bool, with_exchanges: bool) -> Iterator[Capture | DamagedPart]:
    with path.open("rb") as file:
        for found in members(
            file, is_ours=is_ours, may_follow=may_follow, max_bytes=sys.maxsize if full_blocks else HEAD_BYTES
        ):
            if isinstance(found, GzipMember):
                capture = _capture(found.content)
                del found  # as large as the capture
                if capture is not None and (with_exchanges or capture.purpose is None):
                    yield capture
            elif not (found.torn and path.suffix == OPEN):
                yield DamagedPart(path, found.start, found.end)


def captures_at(path: Path, offset: int, *, max_bytes: int) -> Iterator[Capture]:
    """The records of one page, of which the first begins at that byte. Of each, at most so much is read. What is
    damaged, and all behind it, is left out."""
    number = None
    with path.open("rb") as file:
        for found in members_from(file, offset, max_bytes):
            capture = _capture(found.content)
            if capture is None or number not in (None, capture.number):
                return
            number = capture.number
            yield capture


def number_at(archive: BinaryIO, offset: int, length: int) -> int | None:
    """The number of the page whose record is there; None if it has none. Reads the head of the record alone."""
    head = read_until(END, archive, offset, length).partition(END)[0]
    return whole_number(fields_of(head).get(NUMBER_FIELD.lower().encode(), b"").decode("utf-8", "replace"))


def _capture(content: bytes) -> Capture | None:
    end = content.find(END)
    head = fields_of(content if end < 0 else content[:end])
    fields = {name.decode("utf-8", "replace"): value.decode("utf-8", "replace") for name, value in head.items()}
    number, purpose = whole_number(fields.get(NUMBER_FIELD.lower(), "")), fields.get(PURPOSE_FIELD.lower())
    length = whole_number(fields.get("content-length", "0"))
    if (number is None and purpose is None) or length is None or fields.get("warc-type") == "warcinfo":
        return None
    start = end + len(END)  # a partition would copy the block, which may be large, once more
    # Earlier versions took the brackets that wget writes for a part of the URL.
    kind, original = fields.get("warc-type", ""), fields.get("warc-refers-to-target-uri", "").strip("<>")
    return Capture(
        kind="text" if kind == "conversion" and fields.get("content-type") == TEXT else kind,
        number=-1 if number is None else number,
        purpose=purpose,
        url=fields.get("warc-target-uri", ""),
        ip=fields.get("warc-ip-address"),
        truncated=fields.get("warc-truncated"),
        payload_digest=fields.get("warc-payload-digest"),
        date=fields.get("warc-date"),
        refers_to=(original, fields.get("warc-refers-to-date", "")) if original else None,
        block=b"" if end < 0 else content[start : start + length],
    )

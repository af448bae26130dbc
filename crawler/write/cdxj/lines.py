"""Lines of an index. Pure."""

import re
from functools import lru_cache
from typing import Final

import msgspec

from crawler.write.cdxj.surt_key import surt_key

_NO_TYPE: Final = "unk"
REVISIT: Final = "warc/revisit"
_MOST_BYTES: Final = (1 << 63) - 1
MOMENT_DIGITS: Final = 14
_AFTER_TYPE: Final = re.compile(rb"[; ]")
_encode = msgspec.json.Encoder().encode


class IndexEntry(msgspec.Struct, frozen=True, gc=False):
    """The fields of a line that readers need: what was captured, and where it lies. Our lines lack `status` or `digest`
    at most; those of others may lack more, and write numbers as JSON has them."""

    url: str
    mime: str | None = None
    """The type that the server declared; `warc/revisit` for a revisit."""
    status: str | int | None = None
    digest: str | None = None
    """None if the server said that nothing has changed."""
    length: str | int | None = None
    """In bytes, compressed."""
    offset: str | int | None = None

    def place(self) -> tuple[int, int]:
        """Offset and length. Raises `ValueError` if a damaged line lacks them, or has others than numbers of bytes."""
        if self.offset is None or self.length is None:
            raise ValueError("expected offset and length, found no such fields")
        offset, length = int(self.offset), int(self.length)
        if not (0 <= offset <= _MOST_BYTES and 0 <= length <= _MOST_BYTES):
            raise ValueError(f"expected numbers of bytes, found {offset} and {length}")
        return offset, length


_decode: Final = msgspec.json.Decoder(IndexEntry).decode


class CaptureFacts(msgspec.Struct, frozen=True, gc=False):
    """What a line says of a capture, beside where it lies."""

    url: str
    date: str
    """`2026-11-23T04:53:40.123Z`"""
    mime: str | None
    status: int | None
    digest: str | None


def line_of(capture: CaptureFacts, *, offset: int, length: int, filename: str) -> bytes:
    """A line without its end. Fields and their order are those of pywb and cdxj-indexer."""
    status = b"" if capture.status is None else b'"status": "%d", ' % capture.status
    digest = b"" if capture.digest is None else b'"digest": %b, ' % _encode(capture.digest)
    key = f"{surt_key(capture.url)} {moment_of(capture.date)}"
    return b'%b {"url": %b, "mime": %b, %b%b"length": "%d", "offset": "%d", "filename": %b}' % (
        key.encode("utf-8", "replace"),
        _encode(capture.url),
        _encode(capture.mime or _NO_TYPE),
        status,
        digest,
        length,
        offset,
        _encode(filename.encode("utf-8", "replace").decode()),
    )


def declared_type(content_type: bytes) -> str | None:
    """The type in a Content-Type header, as pywb and cdxj-indexer read it: up to the first `;` or space, which some
    servers write instead. None if it has none."""
    return _AFTER_TYPE.split(content_type.strip(), maxsplit=1)[0].decode("latin-1") or None


def parse(line: bytes) -> tuple[str, str, IndexEntry]:
    """The key, the time, of which ours have 14 digits, and the fields of a line. Raises `ValueError`."""
    key, moment, fields = line.split(b" ", 2)
    try:
        return key.decode("utf-8", "replace"), moment.decode("latin-1"), _decode(fields)
    except RecursionError as error:
        raise ValueError(f"nested too deeply: {error}") from error


def is_unchanged(line: bytes) -> bool:
    """Whether it is of a visit at which the server said that nothing had changed, perhaps without having been asked."""
    return b'"status": "304", ' in line


def moment_of(date: str) -> str:
    """A date of a WARC record as 14 digits. Some writers have these themselves."""
    return _digits_of(date[:19])


@lru_cache(maxsize=16)
def _digits_of(second: str) -> str:
    # Cached, because a crawl fetches many pages in the same second.
    return "".join(each for each in second if "0" <= each <= "9")[:MOMENT_DIGITS]

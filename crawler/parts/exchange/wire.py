"""Messages as bytes.

A message begins with a header of 12 bytes: four that name the protocol and its version, the length of the body, and
its CRC-32, all big-endian. The body is MessagePack.
"""

import struct
from typing import Any, Final, Generic, TypeVar
from zlib import crc32

import msgspec

from crawler.codes.unreadable import UNREADABLE
from crawler.parts.exchange.protocol import ExchangeBroken, Message

MAGIC: Final = b"OOP1"
MAX_BODY_BYTES: Final = 1 << 26
"""A parcel of URLs that are all as long as a crawl accepts has less than a tenth of this."""
_HEADER: Final = struct.Struct(">4sII")
HEADER_BYTES: Final = _HEADER.size

_Message = TypeVar("_Message")


class Wire(Generic[_Message]):
    """How messages of one kind are written."""

    def __init__(self, messages: Any) -> None:
        """`messages` is their type: a tagged union."""
        self._encode = msgspec.msgpack.Encoder().encode
        self._decode = msgspec.msgpack.Decoder(messages).decode

    def encode(self, message: _Message) -> bytes:
        body = self._encode(message)
        if len(body) > MAX_BODY_BYTES:
            raise ValueError(f"a message has at most {MAX_BODY_BYTES} bytes, got {len(body)}")
        return _HEADER.pack(MAGIC, len(body), crc32(body)) + body

    def decode_body(self, body: bytes, checksum: int) -> _Message:
        """Raises `ExchangeBroken`."""
        if crc32(body) != checksum:
            raise ExchangeBroken(f"a message of {len(body)} bytes was damaged on its way: its checksum is wrong")
        try:
            message: _Message = self._decode(body)
        except UNREADABLE as error:
            raise ExchangeBroken(f"a message can't be read: {error}") from error
        return message

    def decode(self, content: bytes) -> _Message:
        """The message of these bytes, header included. Raises `ExchangeBroken`."""
        length, checksum = read_header(content[:HEADER_BYTES])
        if len(content) != HEADER_BYTES + length:
            raise ExchangeBroken(f"expected a message of {length} bytes, found {len(content) - HEADER_BYTES}")
        return self.decode_body(content[HEADER_BYTES:], checksum)


LINKS: Final = Wire[Message](Message)
"""Messages between parts."""
encode, decode = LINKS.encode, LINKS.decode_body


def read_header(header: bytes) -> tuple[int, int]:
    """Length and checksum of the body. Raises `ExchangeBroken`."""
    try:
        magic, length, checksum = _HEADER.unpack(header)
    except struct.error as error:
        raise ExchangeBroken(f"expected a header of {HEADER_BYTES} bytes, found {len(header)}") from error
    if magic != MAGIC:
        raise ExchangeBroken(f"expected a message that begins with {MAGIC!r}, found {magic!r}: another version?")
    if length > MAX_BODY_BYTES:
        raise ExchangeBroken(f"expected a message of at most {MAX_BODY_BYTES} bytes, found one of {length}")
    return length, checksum

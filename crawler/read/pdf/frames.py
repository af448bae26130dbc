"""What is said between a crawl and a process that reads PDF documents: MessagePack, with its length in front."""

from typing import Final

import msgspec

from crawler.read.options import PdfContent

LENGTH_BYTES: Final = 8


class Order(msgspec.Struct, frozen=True, array_like=True):
    """Read a document."""

    body: bytes
    with_links: bool
    text_bytes: int
    time_s: float
    """After that, no further page is read."""
    memory_bytes: int


class Answer(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What was read, or why nothing."""

    content: PdfContent | None = None
    error: str | None = None
    is_harmed: bool = False
    """Whether the document did the process harm, so that another one should read the next."""


def encode(message: Order | Answer) -> bytes:
    content = msgspec.msgpack.encode(message)
    return len(content).to_bytes(LENGTH_BYTES) + content

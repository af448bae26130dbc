"""Requests and replies as lines of JSON. Pure."""

from collections.abc import Iterable, Iterator
from typing import Final, Literal, TypeVar

import msgspec

from crawler.codes.unreadable import UNREADABLE
from crawler.control.replies import Refusal
from crawler.control.requests import MAX_URLS, AnyRequest, Request

VERSION: Final = 1
MAX_REQUEST_BYTES: Final = 1 << 20
MAX_REPLY_BYTES: Final = 1 << 26
END: Final = b"\n"
_SHOWN: Final = 200
"""Characters of a wrong text."""

_Reply = TypeVar("_Reply")
_Item = TypeVar("_Item", str, bytes)


class _RequestLine(msgspec.Struct, frozen=True, kw_only=True):
    version: int
    request: msgspec.Raw


class _ReplyLine(msgspec.Struct, frozen=True, kw_only=True):
    version: int
    reply: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    error: Refusal | None = None
    working: bool = False


class BadReply(ValueError):
    """A line that is no reply to the request."""


_encode = msgspec.json.Encoder().encode
_REQUEST_LINES: Final = msgspec.json.Decoder(_RequestLine)
_REQUESTS: Final = msgspec.json.Decoder(AnyRequest)
_REPLY_LINES: Final = msgspec.json.Decoder(_ReplyLine)

WORKING: Final = _encode({"version": VERSION, "working": True}) + END


def in_requests(items: Iterable[_Item], *, max_size: int) -> Iterator[list[_Item]]:
    """As many items at a time as a request may have, of up to so many characters or bytes together."""
    piece: list[_Item] = []
    size = 0
    for item in items:
        if len(piece) == MAX_URLS or size + len(item) > max_size:
            yield piece
            piece, size = [], 0
        piece.append(item)
        size += len(item)
    if piece:
        yield piece


def encode_request(request: Request[msgspec.Struct]) -> bytes:
    """The line of a request. Raises `ValueError` if it is longer than a crawl accepts, or a text has no UTF-8."""
    try:
        line = _encode({"version": VERSION, "request": request}) + END
    except UnicodeEncodeError as error:  # as of an argument of the command line in another encoding
        raise ValueError(f"expected text in UTF-8, found {error.object[:_SHOWN]!r}") from error
    if len(line) > MAX_REQUEST_BYTES:
        raise ValueError(f"a request has at most {MAX_REQUEST_BYTES:,} bytes; this one has {len(line):,}")
    return line


def decode_request(line: bytes) -> AnyRequest | Refusal:
    """The request in a line, or what is wrong with it."""
    try:
        envelope = _REQUEST_LINES.decode(line)
        if envelope.version != VERSION:
            return Refusal(
                f"this crawl speaks version {VERSION} of the control protocol, and the request is of version "
                f"{envelope.version}; use the version of onceover that runs the crawl"
            )
        request: AnyRequest = _REQUESTS.decode(envelope.request)
    except UNREADABLE as error:
        return Refusal(f"expected a request as a line of JSON; found something else: {error}")
    return request


def encode_reply(reply: msgspec.Struct | Refusal) -> bytes:
    name: Literal["error", "reply"] = "error" if isinstance(reply, Refusal) else "reply"
    return _encode({"version": VERSION, name: reply}) + END


def decode_reply(line: bytes, expected: type[_Reply]) -> _Reply | Refusal | None:
    """The reply in a line; None if the crawl is still working on it. Raises `BadReply`."""
    try:
        envelope = _REPLY_LINES.decode(line)
        if envelope.error is not None:
            return envelope.error
        if envelope.working:
            return None
        if envelope.version != VERSION:
            raise BadReply(f"it speaks version {envelope.version} of the control protocol, and this command {VERSION}")
        if envelope.reply is msgspec.UNSET:
            raise BadReply("it sent neither a reply nor an error")
        return msgspec.json.decode(envelope.reply, type=expected)
    except UNREADABLE as error:
        raise BadReply(str(error)) from error

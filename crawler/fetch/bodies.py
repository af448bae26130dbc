"""What comes after the headers: the body, as far as limits let it, and what it makes of the answer."""

import asyncio
from contextlib import nullcontext
from functools import partial
from io import BytesIO
from time import monotonic
from typing import Any

import aiohttp
import msgspec

from crawler.fetch.body_budget import BodyBudget, Claim
from crawler.fetch.coding import codings, decode
from crawler.fetch.connect.connections import Answer
from crawler.fetch.connect.failures import NoResponse, TooSlow, translate
from crawler.fetch.document_end import shows_its_end
from crawler.fetch.headers import recorded
from crawler.fetch.request_limits import RequestLimits
from crawler.page import Failure, FailureKind, Fetched, NotModified, Page, Redirect

_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_DECODE_APART_BYTES = 64 * 1024
"""Coded bodies from this size on are decoded in a thread, so that no one else waits for it."""


class Asked(msgspec.Struct, frozen=True):
    """What was asked for, and when."""

    url: str
    at: float
    """Seconds since 1970."""
    began: float
    """By the monotonic clock."""
    has_copy: bool
    """Whether the server was told of a copy that the crawl has."""


async def read_body(
    response: Answer, terms: RequestLimits, claim: Claim, *, deadline: float
) -> tuple[bytes, str | None]:
    """The body as received, and why it is not whole. `deadline` is by the loop's clock."""
    content = response.content
    limit = terms.max_body_bytes
    if content.is_eof() and response.course.broken is None:
        raw = content.read_nowait()
        return (raw, None) if len(raw) <= limit else (raw[:limit], "length")
    received = BytesIO()  # unlike a list that is joined, it never holds everything twice
    size = 0
    clock = asyncio.get_running_loop().time
    mark = terms.min_window_bytes
    patience = asyncio.timeout_at(min(clock() + terms.window_s, deadline))
    try:
        async with patience:
            while chunk := await content.readany():
                size += received.write(chunk)
                if size > limit:
                    received.truncate(limit)
                    return received.getvalue(), "length"
                if not claim.grow_to(size):
                    patience.reschedule(None)
                    before = clock()
                    await claim.may_grow()
                    deadline += clock() - before
                    mark = size
                if size >= mark:
                    mark = size + terms.min_window_bytes
                    patience.reschedule(min(clock() + terms.window_s, deadline))
        broken: Exception | None = response.course.broken
    except (aiohttp.ClientError, OSError) as error:
        # asyncio's TimeoutError is an OSError too.
        broken = TooSlow("the body comes too slowly") if patience.expired() else error
    if broken is None:
        return received.getvalue(), None
    if not size and response.status not in _REDIRECTS:
        raise broken
    return received.getvalue(), "time" if isinstance(broken, asyncio.TimeoutError) else "disconnect"


class _Unpacked(msgspec.Struct, frozen=True):
    """What the codings of a response leave."""

    raw: bytes
    """The body with its content coding."""
    body: bytes
    unfinished: bool = False
    error: str | None = None
    truncated: bool = False
    """Over the limit."""


async def _unpacked(
    response: Answer, raw: bytes, *, terms: RequestLimits, claim: Claim, memory: BodyBudget
) -> _Unpacked:
    """Undo the transfer coding, then the content coding. Large bodies are decoded in turn, as `memory` has it, and in a
    thread."""
    layers = [_applied(response, "Transfer-Encoding"), _applied(response, "Content-Encoding")]
    if not raw or not any(layers):
        return _Unpacked(raw, raw)
    large = len(raw) >= _DECODE_APART_BYTES
    undo = partial(_undo, raw, layers, max_bytes=terms.max_body_bytes, max_ratio=terms.max_ratio)
    async with memory.unpacking if large else nullcontext():
        unpacked = await asyncio.to_thread(undo) if large else undo()
    claim.grow_to(len(unpacked.raw) + len(unpacked.body))
    return unpacked


def _applied(response: Answer, header: str) -> list[str]:
    return codings(",".join(response.headers.getall(header))) if header in response.headers else []


def _undo(raw: bytes, layers: list[list[str]], *, max_bytes: int, max_ratio: float) -> _Unpacked:
    [by_transfer, of_content] = layers
    sent = decode(raw, by_transfer, max_bytes=max_bytes, max_ratio=max_ratio)
    made = decode(sent.body, of_content, max_bytes=max_bytes, max_ratio=max_ratio)
    return _Unpacked(
        sent.body,
        made.body if of_content else sent.body,
        unfinished=sent.unfinished or made.unfinished,
        error=sent.error or made.error,
        truncated=sent.truncated or made.truncated,
    )


async def understood(
    asked: Asked,
    response: Answer,
    raw: bytes,
    truncated: str | None,
    *,
    terms: RequestLimits,
    claim: Claim,
    memory: BodyBudget,
) -> Fetched:
    """The answer as a value. `raw` is the body as received, and `truncated` why it is not whole."""
    status = response.status
    headers = response.headers
    if not 200 <= status <= 599:  # other responses of 1xx than 101 have been passed over
        raise NoResponse(f"a status of {status}")
    if status == 304 and not asked.has_copy:
        raise NoResponse("a 304 to a request that set no condition")
    unpacked = await _unpacked(response, raw, terms=terms, claim=claim, memory=memory)
    if unpacked.error is not None and not unpacked.body:
        return Failure(
            url=asked.url,
            kind=FailureKind.ENCODING,
            message=f"the body can't be decompressed: {unpacked.error}",
            ip=response.peer[0] if response.peer else None,
            fetched_at=asked.at,
            duration_s=monotonic() - asked.began,
            answered=True,
        )
    version = response.version
    common: dict[str, Any] = {
        "url": asked.url,
        "status": status,
        "reason": _text(response.reason or ""),
        "http_version": "1.1" if version is None or version == (1, 1) else f"{version.major}.{version.minor}",
        "headers": list(response.raw_headers),
        "request_headers": recorded(response),
        "ip": response.peer[0] if response.peer else None,
        "port": response.peer[1] if response.peer else None,
        "fetched_at": asked.at,
        "duration_s": monotonic() - asked.began,
    }
    if status in _REDIRECTS and (location := headers.get("Location")):
        return Redirect(location=_text(location), body=unpacked.body, raw_body=unpacked.raw, **common)
    if status == 304:
        return NotModified(**common)
    return Page(body=unpacked.body, raw_body=unpacked.raw, **_wholeness(response, unpacked, truncated), **common)


def _wholeness(response: Answer, unpacked: _Unpacked, truncated: str | None) -> dict[str, Any]:
    """What a page tells of whether its body is whole: `truncated`, `cut_by` and `message`, as far as there is any.

    `truncated` is what came out while it was read. Where only the end of the connection ended the body, the body itself
    may show that there should be more.
    """
    course = response.course
    if truncated is not None:
        broken = None if course.broken is None or truncated != "disconnect" else translate(course.broken)
        if broken is None:
            return {"truncated": truncated}
        return {"truncated": truncated, "cut_by": broken.kind, "message": broken.message}
    if unpacked.truncated:
        return {"truncated": "length"}
    if unpacked.error is not None:
        return {"truncated": "encoding", "message": unpacked.error}
    if not unpacked.unfinished and not course.unnotified:
        return {}
    ends = shows_its_end(unpacked.body, response.headers.get("Content-Type", ""))
    if unpacked.unfinished and not ends:
        why = "disconnect" if course.until_close else "encoding"
        return {"truncated": why, "message": "the compressed body has no end"}
    if course.unnotified and ends is False:
        message = "closed without TLS close_notify, and the document has no end"
        return {"truncated": "disconnect", "message": message}
    if course.unnotified:
        return {"message": "closed without TLS close_notify: whether the body is whole can't be told"}
    return {}


def _text(value: str) -> str:
    """A header as its sender meant it: UTF-8, else Latin-1. aiohttp leaves what is not UTF-8 as surrogates."""
    if value.isascii():
        return value
    raw = value.encode("utf-8", "surrogateescape")
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return raw.decode("latin-1")

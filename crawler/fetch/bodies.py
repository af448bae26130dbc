"""What comes after the headers: the body, as far as limits let it, and what it makes of the answer."""

import asyncio
from contextlib import nullcontext
from functools import partial
from io import BytesIO
from time import monotonic
from typing import Any

import aiohttp
import msgspec

from crawler.fetch.coding import codings, decode
from crawler.fetch.connections import Answer
from crawler.fetch.failures import NoResponse, TooSlow, printable
from crawler.fetch.headers import recorded
from crawler.fetch.memory import Claim, Memory
from crawler.fetch.terms import Terms
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


async def read_body(response: Answer, terms: Terms, claim: Claim, *, deadline: float) -> tuple[bytes, str | None]:
    """The body as received, and why it is not whole. `deadline` is by the loop's clock."""
    content = response.content
    limit = terms.max_body_bytes
    if content.is_eof():
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
    except (aiohttp.ClientError, OSError) as error:
        # asyncio's TimeoutError is an OSError too.
        if not size and response.status not in _REDIRECTS:
            if patience.expired():
                raise TooSlow("the body comes too slowly") from error
            raise
        return received.getvalue(), "time" if isinstance(error, asyncio.TimeoutError) else "disconnect"
    return received.getvalue(), None


async def understood(
    asked: Asked, response: Answer, raw: bytes, truncated: str | None, *, terms: Terms, claim: Claim, memory: Memory
) -> Fetched:
    """The answer as a value. `raw` is the body as received, and `truncated` why it is not whole; large ones are decoded
    in turn, as `memory` has it, and in a thread."""
    status = response.status
    headers = response.headers
    body = raw
    if status < 100:
        raise NoResponse(f"a status of {status}")
    if raw and "Content-Encoding" in headers and (applied := codings(",".join(headers.getall("Content-Encoding")))):
        large = len(raw) >= _DECODE_APART_BYTES
        undo = partial(decode, raw, applied, max_bytes=terms.max_body_bytes, max_ratio=terms.max_ratio)
        async with memory.unpacking if large else nullcontext():
            decoded = await asyncio.to_thread(undo) if large else undo()
        body = decoded.body
        claim.grow_to(len(raw) + len(body))
        if decoded.error is not None and not body:
            return Failure(
                url=asked.url,
                kind=FailureKind.ENCODING,
                message=printable(f"Content-Encoding {headers['Content-Encoding']}: {decoded.error}"),
                ip=response.peer[0] if response.peer else None,
                fetched_at=asked.at,
                duration_s=monotonic() - asked.began,
            )
        truncated = truncated or ("length" if decoded.truncated else "encoding" if decoded.error else None)
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
        return Redirect(location=_text(location), body=body, raw_body=raw, **common)
    if status == 304:
        return NotModified(**common)
    return Page(body=body, raw_body=raw, truncated=truncated, **common)


def _text(value: str) -> str:
    """A header as its sender meant it: UTF-8, else Latin-1. aiohttp leaves what is not UTF-8 as surrogates."""
    if value.isascii():
        return value
    raw = value.encode("utf-8", "surrogateescape")
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return raw.decode("latin-1")

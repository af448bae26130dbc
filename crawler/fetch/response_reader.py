"""Reads the body of a response within limits, and turns the response into a value."""

import asyncio
import re
from contextlib import nullcontext
from functools import partial
from io import BytesIO
from time import monotonic
from typing import Any, Final

import aiohttp
import msgspec
from msgspec.structs import replace

from crawler.fetch.body_budget import Claim
from crawler.fetch.coding import codings, decode
from crawler.fetch.connect.bodies import PlainBody
from crawler.fetch.connect.failures import NoResponse, TooSlow, translate
from crawler.fetch.connect.responses import Response
from crawler.fetch.document_end import shows_its_end
from crawler.fetch.headers import recorded_headers
from crawler.fetch.octets import escape_octets
from crawler.fetch.request_limits import RequestLimits
from crawler.page import MULTIPLE_CHOICES, REDIRECTS, Failure, FailureKind, Fetched, NotModified, Page, Redirect

_REDIRECTS = REDIRECTS | {MULTIPLE_CHOICES}
_CUT: Final = {
    "length": "cut at fetch.max_body_bytes (of a sitemap fetch.max_sitemap_bytes, if that is more)",
    "time": "cut because it came too slowly: see fetch.timeout_s, and fetch.min_window_bytes in fetch.window_s",
}
_CONDITIONS: Final = frozenset({"If-None-Match", "If-Modified-Since"})
_SUCCESSES = range(200, 300)
"""An answer with one of these statuses is of no use without its body. All other statuses say enough by themselves."""
_FINAL: Final = 200
"""The first status that is not informational. A head has three digits of status, and aiohttp refuses any other."""
_WHOLE_RANGE = re.compile(r"bytes 0-([0-9]{1,18})/([0-9]{1,18})", re.IGNORECASE)
"""A Content-Range that may name the whole document: its last byte, and the number of its bytes."""
_DECODE_APART_BYTES = 64 * 1024
"""Compressed bodies from this size on are decoded in a thread, so that they do not block the event loop."""


class SentRequest(msgspec.Struct, frozen=True):
    """A request that was sent."""

    url: str
    sent_at: float
    """Seconds since 1970."""
    started_s: float
    """By the monotonic clock."""
    unrecorded: frozenset[str]
    """Names of headers that records leave out."""


def read_at_once(response: Response, limits: RequestLimits) -> tuple[bytes, str | None] | None:
    """Read the body if all of it has arrived, as most have by now; returns the same as `read_body`."""
    content = response.content
    if not content.is_eof() or response.body_end.broken is not None:
        return None
    raw, limit = content.read_nowait(), limits.max_body_bytes
    return (raw, None) if len(raw) <= limit else (raw[:limit], "length")


async def read_body(
    response: Response, limits: RequestLimits, claim: Claim, *, deadline: float
) -> tuple[bytes, str | None]:
    """Read the body; returns it as received, and why it is incomplete. `deadline` is by the loop's clock."""
    content = response.content
    limit = limits.max_body_bytes
    received = BytesIO()  # a joined list would need all of it twice
    size = 0
    clock = asyncio.get_running_loop().time
    mark = limits.min_window_bytes
    window = asyncio.timeout_at(min(clock() + limits.window_s, deadline))
    try:
        async with window:
            while chunk := await content.readany():
                size += received.write(chunk)
                if size > limit:
                    received.truncate(limit)
                    return received.getvalue(), "length"
                if not claim.grow_to(size):
                    window.reschedule(None)
                    before = clock()
                    await claim.may_grow()
                    deadline += clock() - before
                    mark = size
                if size >= mark:
                    mark = size + limits.min_window_bytes
                    window.reschedule(min(clock() + limits.window_s, deadline))
        broken: Exception | None = response.body_end.broken
    except (aiohttp.ClientError, OSError) as error:
        # TimeoutError is an OSError too.
        broken = TooSlow("the body comes too slowly") if window.expired() else error
        if window.expired() and isinstance(content, PlainBody) and content.is_whole:
            broken = None
    if broken is None:
        return received.getvalue(), None
    if not size and response.status in _SUCCESSES:
        raise broken
    return received.getvalue(), "time" if isinstance(broken, asyncio.TimeoutError) else "disconnect"


class DecodedBody(msgspec.Struct, frozen=True):
    """A body without its transfer coding."""

    raw: bytes
    """With its content coding; as received if its transfer coding can't be undone at all."""
    body: bytes
    """Without its content coding."""
    unfinished: bool = False
    error: str | None = None
    truncated: bool = False
    """Cut at the limit."""


def may_be_coded(response: Response) -> bool:
    """Whether a header says that the body must be decoded."""
    named = response.headers.named
    return b"content-encoding" in named or b"transfer-encoding" in named


async def decode_body(response: Response, raw: bytes, *, limits: RequestLimits, claim: Claim) -> DecodedBody | None:
    """Decode the transfer coding, then the content coding; None if there is none. Large bodies are decoded in a thread,
    one at a time."""
    layers = [_codings_in(response, b"transfer-encoding"), _codings_in(response, b"content-encoding")]
    if not any(layers):
        return None
    large = len(raw) >= _DECODE_APART_BYTES
    undo = partial(_undo, raw, layers, max_bytes=limits.max_body_bytes, max_ratio=limits.max_ratio)
    async with claim.budget.decoding if large else nullcontext():
        decoded = await asyncio.to_thread(undo) if large else undo()
    claim.grow_to(len(decoded.raw) + len(decoded.body))
    return decoded


def _codings_in(response: Response, header: bytes) -> list[str]:
    return codings(",".join(response.headers.all(header))) if header in response.headers.named else []


def _undo(raw: bytes, layers: list[list[str]], *, max_bytes: int, max_ratio: float) -> DecodedBody:
    [by_transfer, of_content] = layers
    transferred = decode(raw, by_transfer, max_bytes=max_bytes, max_ratio=max_ratio)
    content = decode(transferred.body, of_content, max_bytes=max_bytes, max_ratio=max_ratio)
    is_lost = transferred.error is not None and not transferred.body
    return DecodedBody(
        raw if is_lost else transferred.body,
        content.body if of_content else transferred.body,
        unfinished=transferred.unfinished or content.unfinished,
        error=transferred.error or content.error,
        truncated=transferred.truncated or content.truncated,
    )


def _has_length_of_decoded(response: Response, decoded: DecodedBody) -> bool:
    """Whether a body is complete, and only its Content-Length is wrong: some servers state that of the body without its
    content coding. Browsers accept that too."""
    if decoded.raw is decoded.body or decoded.unfinished or decoded.error is not None or decoded.truncated:
        return False
    return response.headers.first(b"content-length") == str(len(decoded.body))


def interpret(
    request: SentRequest,
    response: Response,
    raw: bytes,
    truncated: str | None,
    decoded: DecodedBody | None,
    *,
    limits: RequestLimits,
) -> Fetched:
    """Turn a response into a value. `raw` is the body as received, and `truncated` why it is incomplete. `decoded` is
    None if the body has no coding."""
    status = response.status
    if status < _FINAL:  # aiohttp skips the other informational responses, but not 101
        raise NoResponse(f"a status of {status}")
    if status == 304 and _CONDITIONS.isdisjoint(response.request_headers):
        raise NoResponse("a 304 to a request that set no condition")
    if decoded is None:
        if status == 200 and truncated is None and not response.body_end.lacks_close_notify:
            return _page(request, response, raw, None, body=raw)  # as nearly always
        decoded = DecodedBody(raw, raw)
    elif truncated in ("time", "disconnect") and _has_length_of_decoded(response, decoded):
        truncated = None
    page = _page(request, response, decoded.raw, truncated, body=decoded.body)
    if decoded.error is not None and not decoded.body and status in _SUCCESSES:
        return Failure(
            url=request.url,
            kind=FailureKind.ENCODING,
            message=f"the body can't be decompressed: {decoded.error}",
            ip=page.ip,
            fetched_at=page.fetched_at,
            duration_s=page.duration_s,
            answered=True,
            response=page,
        )
    if status in _REDIRECTS and (location := response.headers.first(b"location")):
        return Redirect(
            location=escape_octets(location),
            body=page.body,
            raw_body=page.raw_body,
            truncated=truncated,
            keeps_cookies=limits.cookies,
            **_common_fields(page),
        )
    if status == 304:
        return NotModified(**_common_fields(page))
    cut = _truncation(response, decoded, truncated, limits)
    return replace(page, **cut) if cut else page


def answer_before_failure(
    request: SentRequest, response: Response, raw: bytes | None, truncated: str | None
) -> Page | None:
    """What a server had answered before a failure; None if it is no final response. `raw` is the body, if one was
    read."""
    if response.status < _FINAL:
        return None
    return _page(request, response, raw or b"", truncated)


def _page(
    request: SentRequest, response: Response, raw_body: bytes, truncated: str | None, *, body: bytes = b""
) -> Page:
    """The response as a page, whether it is one or not."""
    version, reason = response.version, response.reason
    ip, port = response.peer or (None, None)
    return Page(
        url=request.url,
        status=response.status,
        reason=reason if reason.isascii() else reason.encode("utf-8", "surrogateescape").decode("latin-1"),
        http_version="1.1" if version == (1, 1) else f"{version.major}.{version.minor}",
        headers=list(response.headers.lines),
        request_headers=recorded_headers(response.request_headers, request.unrecorded),
        ip=ip,
        port=port,
        fetched_at=request.sent_at,
        duration_s=monotonic() - request.started_s,
        body=body,
        raw_body=raw_body,
        truncated=truncated,
    )


def _common_fields(page: Page) -> dict[str, Any]:
    """The fields that pages, redirects and "not modified" share."""
    return {name: getattr(page, name) for name in NotModified.__struct_fields__}


def _truncation(
    response: Response, decoded: DecodedBody, truncated: str | None, limits: RequestLimits
) -> dict[str, Any]:
    """The fields of a page that say whether its body is complete: `truncated`, `cut_by` and `message`.

    `truncated`: the result of reading the body. If only the end of the connection ended the body, the body itself may
    show that more should follow.
    """
    body_end = response.body_end
    if truncated is not None:
        broken = None if body_end.broken is None or truncated != "disconnect" else translate(body_end.broken)
        if broken is None:
            return {"truncated": truncated, "message": _CUT.get(truncated)}
        return {"truncated": truncated, "cut_by": broken.kind, "message": broken.message}
    if response.status == 206 and not _is_whole(response):
        return {"truncated": "partial", "message": "the server sent a part of the document, which nobody asked for"}
    if decoded.truncated:
        is_long = max(len(decoded.raw), len(decoded.body)) >= limits.max_body_bytes
        ratio = f"cut because it decompresses to more than {limits.max_ratio:g} times its size"
        return {"truncated": "length", "message": _CUT["length"] if is_long else ratio}
    if decoded.error is not None:
        return {"truncated": "encoding", "message": decoded.error}
    if not decoded.unfinished and not body_end.lacks_close_notify:
        return {}
    ends = shows_its_end(decoded.body, response.headers.first(b"content-type") or "")
    if decoded.unfinished and not ends:
        why = "disconnect" if body_end.by_close else "encoding"
        return {"truncated": why, "message": "the compressed body has no end"}
    if body_end.lacks_close_notify and ends is False:
        message = "closed without TLS close_notify, and the document has no end"
        return {"truncated": "disconnect", "message": message}
    if body_end.lacks_close_notify:
        return {"message": "closed without TLS close_notify: we can't tell whether the body is complete"}
    return {}


def _is_whole(response: Response) -> bool:
    """Whether a 206 has all that was asked for."""
    if "Range" in response.request_headers:
        return True
    found = _WHOLE_RANGE.fullmatch(response.headers.first(b"content-range") or "")
    return found is not None and int(found[1]) + 1 == int(found[2])

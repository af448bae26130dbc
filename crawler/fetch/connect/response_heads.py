"""Reads heads of responses. Pure.

Nearly all responses are *plain*: their head is sound, and tells the length of the body, or that it comes in chunks.
`read_plain_head` reads these as aiohttp's parser would. That saves a page 15 µs of 90 in the fetcher, and a 304 8 µs of
57, because the parser makes a dictionary of the headers, and a stream. It reads all others: those whose body ends with
the connection, or has another transfer coding, and those whose head leaves a doubt. `_heads`, compiled C, reads a plain
head with a quarter of the instructions of Python.

aiohttp's parser refuses heads that browsers accept, and has no option for that. `fix_head` corrects what at least two
of Chromium, Firefox and curl accept, if that leaves no doubt where the body ends; `docs/fetching.md` has the table. The
parser refuses the rest.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, partial
from typing import Final

import msgspec
from aiohttp.http_writer import HttpVersion, HttpVersion10, HttpVersion11

try:
    from crawler.fetch.connect import _heads as compiled
except ImportError:
    IS_COMPILED = False  # the extension is optional
else:
    IS_COMPILED = getattr(compiled, "VERSION", 0) == 2  # False if it was compiled from older code

_SOUND = re.compile(
    rb"HTTP/1\.[01] [0-9]{3}(?: [^\r\n\0]*)?\r\n(?:[-!#$%&'*+.^_`|~0-9A-Za-z]+:[^\r\n\0]*\r\n|[ \t][^\r\n\0]*\r\n)*\r\n"
)
_STATUS = re.compile(rb"HTTP/([0-9]+(?:\.[0-9]+)?)[ \t]+([0-9]{3})(?![0-9])[ \t]*([^\n]*)", re.IGNORECASE)
_RESET = re.compile(rb"[\r\n]*HTTP/[0-9.]+[ \t]+205(?![0-9])", re.IGNORECASE)
_LENGTH = re.compile(rb"^content-length[ \t]*:([^\n]*(?:\n[ \t][^\n]*)*)", re.IGNORECASE | re.MULTILINE)
_LENGTH_LINES = re.compile(rb"^content-length[ \t]*:[^\n]*\n(?:[ \t][^\n]*\n)*", re.IGNORECASE | re.MULTILINE)
_CODING = re.compile(rb"^transfer-encoding[ \t]*:([^\n]*(?:\n[ \t][^\n]*)*)", re.IGNORECASE | re.MULTILINE)
_LOCATION = re.compile(rb"^location[ \t]*:", re.IGNORECASE | re.MULTILINE)
_SUCCESS = re.compile(rb"\A(HTTP/1\.[01]) 2[0-9]{2}(?![0-9])")
_NAME = re.compile(rb"[-!#$%&'*+.^_`|~0-9A-Za-z]+")
_BEGINNING = b"HTTP/"
_MAX_JUNK_BYTES: Final = 4
"""Before the status line, as in Chromium and Firefox."""
BEGINNING_BYTES: Final = _MAX_JUNK_BYTES + len(_BEGINNING)
"""So many bytes show where the status line begins."""
_MAX_PLAIN_BYTES: Final = 16 * 1024
"""The longest plain head. Longer ones meet limits, which the parser checks."""
_MAX_LENGTH_DIGITS: Final = 15
_TRANSFER_CODINGS = frozenset(
    {b"chunked", b"gzip", b"x-gzip", b"deflate", b"x-deflate", b"compress", b"x-compress", b"br", b"zstd"}
)
"""Those that servers apply. As browsers do, we ignore others, such as `binary`, which change nothing."""
_WITHOUT_BODY = frozenset({b"204", b"205", b"304"})
"""Statuses without a body, whatever the head announces. For a 205, aiohttp and curl wait for one; browsers do not."""
_CONNECTION = frozenset({b"", b"close", b"keep-alive", b"upgrade", b"upgrade, close", b"upgrade, keep-alive"})
"""Values of the header Connection in plain heads. Apache offers HTTP/2 with the last three; a response to us, who have
not asked for it, stays what it is (RFC 9110, section 7.8)."""


def end_of_head(received: bytes, searched: int = 0, /) -> int | None:
    """Where the first head ends; None if it is incomplete. No head ends in the first `searched` bytes."""
    start = max(0, searched - 2)
    crlf = received.find(b"\n\r\n", start)
    bare = received.find(b"\n\n", start, len(received) if crlf < 0 else crlf + 1)
    if bare >= 0:
        return bare + 2
    return None if crlf < 0 else crlf + 3


def skip_junk(received: bytes, /) -> bytes:
    """The bytes from the status line on, if one begins after any number of empty lines and a few other bytes; else
    those after the empty lines."""
    received = received.lstrip(b"\r\n")
    return received[max(received[:BEGINNING_BYTES].upper().find(_BEGINNING), 0) :]


def may_be_head(received: bytes, /) -> bool:
    """Whether these bytes may be the beginning of a head."""
    received = skip_junk(received)
    line, ended, _ = received.partition(b"\n")
    if ended and len(received) >= BEGINNING_BYTES:
        return _STATUS.match(line) is not None
    beginning = received[:BEGINNING_BYTES].upper()
    return any(_BEGINNING.startswith(beginning[at : at + len(_BEGINNING)]) for at in range(_MAX_JUNK_BYTES + 1))


def end_cut_head(received: bytes, /) -> bytes | None:
    """The complete lines of a head behind which the server has closed, as a head; None if these say too little: a
    success would need its body, and a redirect its Location."""
    lines = skip_junk(received)
    lines = lines[: lines.rfind(b"\n") + 1]
    found = _STATUS.match(lines)
    if found is None or found[2] < b"300" or (found[2] < b"400" and _LOCATION.search(lines) is None):
        return None
    return lines + b"\r\n"


def fix_head(head: bytes, /) -> bytes:
    """Correct a head, as far as that leaves no doubt."""
    lengths, codings = _LENGTH.findall(head), _CODING.findall(head)
    length, coding = _one_length(lengths), _one_coding(codings)
    has_sound_length = not lengths or (len(lengths) == 1 and _is_length(lengths[0].strip(b" \t\r")))
    if lengths and length is None and _are_chunked(codings):
        length = b""  # the chunks count (RFC 9112, section 6.3), whichever of the lengths is right
    if _RESET.match(head):
        length, coding = b"0", b""  # the parser would wait for a body
    if has_sound_length and coding is None and _SOUND.fullmatch(head):
        return head
    status, *fields = [line.removesuffix(b"\r") for line in head.lstrip(b"\r\n").split(b"\n")]
    framing = {b"Content-Length": length, b"Transfer-Encoding": coding}
    corrected = {name: value for name, value in framing.items() if value is not None}
    return b"\r\n".join([_status_line(status), *_fields(fields, corrected), b"", b""])


def leaves_end_in_doubt(head: bytes, /) -> bool:
    """Whether a proxy may have seen the end of the body elsewhere: the head states a length although the body comes in
    chunks, or names a transfer coding that we ignore."""
    values = _CODING.findall(head)
    return _has_two_lengths(head) or len(_codings(values)) < len(_named_codings(values))


def with_one_length(head: bytes, /) -> bytes:
    """The head without its Content-Length if it announces chunks: the parser refuses both."""
    return _LENGTH_LINES.sub(b"", head) if _has_two_lengths(head) else head


def _has_two_lengths(head: bytes) -> bool:
    return _are_chunked(_CODING.findall(head)) and _LENGTH.search(head) is not None


def fix_tunnel_head(head: bytes, /) -> bytes:
    """Correct what a proxy answers to CONNECT. Any success opens the tunnel (RFC 9110, section 9.3.6), but for aiohttp
    only a 200 does."""
    return _SUCCESS.sub(rb"\1 200", fix_head(head), count=1)


def _status_line(line: bytes) -> bytes:
    found = _STATUS.match(line)
    if found is None:
        return line
    version = found[1] if b"." in found[1] else found[1] + b".0"
    if version.startswith(b"1.") and version != b"1.0":
        version = b"1.1"
    return b"HTTP/%s %s %s" % (version, found[2], found[3].replace(b"\r", b" "))


def _one_length(values: list[bytes]) -> bytes | None:
    """The length on which all values agree; None if they differ, or if there are none. Empty if they agree on what is
    no length: as the Fetch standard demands, it is ignored, so the body ends with the connection."""
    lengths = {part.strip().removeprefix(b"+") for value in values for part in value.split(b",")}
    if len(lengths) != 1:
        return None
    [length] = lengths
    return length if _is_length(length) else b""


def _is_length(value: bytes) -> bool:
    return value.isdigit() and len(value.lstrip(b"0")) <= _MAX_LENGTH_DIGITS


def _one_coding(values: list[bytes]) -> bytes | None:
    """The transfer codings as one list without gaps, empty if none of them is known; None if they stand so already, or
    if there are no such headers. Proxies may add white space and empty elements (RFC 9110, section
    5.6.1), with which the parser takes chunks for the body."""
    coding = b", ".join(_codings(values))
    stands_so = bool(coding) and [value.strip(b" \r") for value in values] == [coding]
    return None if not values or stands_so else coding


def _codings(values: list[bytes]) -> list[bytes]:
    """Those that we do not ignore: one with a NUL is left to the parser, which refuses it."""
    return [part for part in _named_codings(values) if part.lower() in _TRANSFER_CODINGS or b"\0" in part]


def _named_codings(values: list[bytes]) -> list[bytes]:
    parts = [b" ".join(part.split()) for value in values for part in value.split(b",")]
    return [part for part in parts if part.lower() not in (b"", b"identity")]


def _are_chunked(values: list[bytes]) -> bool:
    """Whether the last transfer coding is chunks, so that these show where the body ends."""
    codings = _codings(values)
    return bool(codings) and codings[-1].lower() == b"chunked"


def _fields(lines: list[bytes], corrected: Mapping[bytes, bytes]) -> Iterator[bytes]:
    """The valid header lines. Those of `corrected` stand there once with this value, or not at all if it is empty."""
    replaced = {name.lower() for name in corrected}
    is_kept = True
    for line in lines:
        if line[:1] in (b" ", b"\t"):
            if is_kept:
                yield line.replace(b"\r", b" ")  # continues the line before it
            continue
        name, colon, value = line.partition(b":")
        name = name.rstrip(b" \t")
        is_kept = bool(colon) and _NAME.fullmatch(name) is not None and name.lower() not in replaced
        if is_kept:
            yield b"%s:%s" % (name, value.replace(b"\r", b" "))
    yield from (b"%s: %s" % field for field in corrected.items() if field[1])


class PlainHead(msgspec.Struct, frozen=True, gc=False):
    """The head of a plain response; the fields that aiohttp's messages have too."""

    version: HttpVersion
    code: int
    reason: str
    raw_headers: Sequence[tuple[bytes, bytes]]
    named: Mapping[bytes, bytes]
    """The first header of each name, which is in lower case."""
    should_close: bool
    size: int
    """Bytes of the head."""
    length: int | None
    """Bytes of the body; None if it comes in chunks."""
    chunked: bool = False


@cache
def _plain() -> re.Pattern[bytes]:
    return re.compile(
        rb"HTTP/1\.([01]) ([2-9][0-9]{2})(?: ([^\r\n\0 \t][^\r\n\0]*+)?)?\r\n"
        rb"((?:[-!#$%&'*+.^_`|~0-9A-Za-z]++:[^\r\n\0]*+\r\n)*)\r\n"
    )


@cache
def _line() -> re.Pattern[bytes]:
    """A field of a plain head. Each part excludes only one byte, which saves a quarter of the time."""
    return re.compile(rb"([^:]++):[ \t]*+([^\r]*+)\r\n")


def read_plain_head_in_python(received: bytes, /) -> PlainHead | None:
    """The head with which these bytes begin; None if it is not plain, or incomplete."""
    found = _plain().match(received, 0, _MAX_PLAIN_BYTES)
    if found is None:
        return None
    minor, status, reason, fields = found.groups()
    lines = _line().findall(fields)
    if fields.find(b" \r") >= 0 or fields.find(b"\t\r") >= 0:  # `in` takes five times as long
        lines = [(name, value.rstrip(b" \t")) for name, value in lines]
    named = first_by_name(lines)
    has_body = status not in _WITHOUT_BODY
    is_chunked = b"transfer-encoding" in named
    if is_chunked and not (has_body and minor == b"1" and named[b"transfer-encoding"].lower() == b"chunked"):
        return None
    length = b"0" if is_chunked else named.get(b"content-length", b"" if has_body else b"0")
    connection = named.get(b"connection", b"").lower()
    is_clear = length.isdigit() and len(length) <= _MAX_LENGTH_DIGITS and connection in _CONNECTION
    if not is_clear or b"proxy-connection" in named or (len(named) < len(lines) and _repeats_framing(lines)):
        return None
    if minor == b"1":
        version, should_close = HttpVersion11, connection.endswith(b"close")
    else:
        version, should_close = HttpVersion10, not connection.endswith(b"keep-alive")
    if is_chunked and b"content-length" in named:
        should_close = True  # there are two lengths, and a proxy may have taken the other one
    phrase = "" if reason is None else reason.decode("utf-8", "surrogateescape")
    size = found.end()
    body_length = None if is_chunked else int(length) if has_body else 0
    return PlainHead(version, int(status), phrase, lines, named, should_close, size, body_length, is_chunked)


read_plain_head: Final[Callable[[bytes], PlainHead | None]] = (
    partial(compiled.read_plain_head, PlainHead, HttpVersion10, HttpVersion11)  # type: ignore[possibly-undefined]
    if IS_COMPILED
    else read_plain_head_in_python
)


def first_by_name(lines: Sequence[tuple[bytes, bytes]], /) -> dict[bytes, bytes]:
    """The first value of each header, by its name in lower case."""
    return {name.lower(): value for name, value in reversed(lines)}


def _repeats_framing(lines: Sequence[tuple[bytes, bytes]]) -> bool:
    names = [name.lower() for name, _ in lines]
    return any(names.count(name) > 1 for name in (b"content-length", b"connection", b"transfer-encoding"))


class Headers(msgspec.Struct, frozen=True, gc=False):
    """The header lines of a response. Names are lower-case here."""

    lines: Sequence[tuple[bytes, bytes]]
    named: Mapping[bytes, bytes]
    """The first value of each name."""

    def first(self, name: bytes) -> str | None:
        """The first value of a header."""
        value = self.named.get(name)
        return None if value is None else value.decode("utf-8", "surrogateescape")

    def all(self, name: bytes) -> list[str]:
        """All values of a header, in order."""
        return [value.decode("utf-8", "surrogateescape") for key, value in self.lines if key.lower() == name]

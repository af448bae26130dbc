"""Reads heads of responses. Pure.

Nearly all responses are *plain*: their head is sound, and tells the length of the body. `read_plain_head` reads
these as aiohttp's parser would. That saves a page 15 µs of 90 in the fetcher, and a 304 8 µs of 57, because the parser
makes a dictionary of the headers, and a stream. It reads all others: in chunks, until the end of the connection, or
with a head that must be corrected.

aiohttp's parser refuses heads that browsers accept, and has no option for that. `fix_head` corrects what at least two
of Chromium, Firefox and curl accept, if that leaves no doubt where the body ends; `docs/fetching.md` has the table. The
parser refuses the rest.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import msgspec
from aiohttp.http_writer import HttpVersion, HttpVersion10, HttpVersion11

_SOUND = re.compile(
    rb"HTTP/1\.[01] [0-9]{3}(?: [^\r\n\0]*)?\r\n(?:[-!#$%&'*+.^_`|~0-9A-Za-z]+:[^\r\n\0]*\r\n|[ \t][^\r\n\0]*\r\n)*\r\n"
)
_STATUS = re.compile(rb"HTTP/([0-9]+\.[0-9]+)[ \t]+([0-9]{3})(?![0-9])[ \t]*([^\n]*)", re.IGNORECASE)
_LENGTH = re.compile(rb"^content-length[ \t]*:([^\n]*)", re.IGNORECASE | re.MULTILINE)
_BEGINNING = b"HTTP/"
_MAX_PLAIN_BYTES: Final = 16 * 1024
"""Of a plain head. Longer ones meet limits, which the parser checks."""
_MAX_LENGTH_DIGITS: Final = 15
_PLAIN = re.compile(
    rb"HTTP/1\.([01]) ([2-9][0-9]{2})(?: ([^\r\n\0 \t][^\r\n\0]*+)?)?\r\n"
    rb"((?:[-!#$%&'*+.^_`|~0-9A-Za-z]++:[^\r\n\0]*+\r\n)*)\r\n"
)
_LINE = re.compile(rb"([^:]++):[ \t]*+([^\r]*+)\r\n")
"""Of the fields of a plain head. That the parts exclude one byte each, and not more, saves a quarter of the time."""
_WITHOUT_BODY = frozenset({b"204", b"304"})
_FRAMING = frozenset({b"transfer-encoding", b"upgrade", b"proxy-connection"})


def end_of_head(received: bytes, searched: int = 0, /) -> int | None:
    """Where the first head ends; None if it is incomplete. No head ends in the first `searched` bytes."""
    start = max(0, searched - 2)
    crlf = received.find(b"\n\r\n", start)
    bare = received.find(b"\n\n", start, len(received) if crlf < 0 else crlf + 1)
    if bare >= 0:
        return bare + 2
    return None if crlf < 0 else crlf + 3


def may_be_head(received: bytes, /) -> bool:
    """Whether these bytes may be the beginning of a head."""
    line, ended, _ = received.lstrip(b"\r\n").partition(b"\n")
    if ended:
        return _STATUS.match(line) is not None
    return line[: len(_BEGINNING)].upper() == _BEGINNING[: len(line)]


def fix_head(head: bytes, /) -> bytes:
    """Correct a head, as far as that leaves no doubt."""
    lengths = _LENGTH.findall(head)
    if _SOUND.fullmatch(head) and (not lengths or (len(lengths) == 1 and lengths[0].strip().isdigit())):
        return head
    status, *fields = [line.removesuffix(b"\r") for line in head.lstrip(b"\r\n").split(b"\n")]
    return b"\r\n".join([_status_line(status), *_fields(fields, _one_length(lengths)), b"", b""])


def _status_line(line: bytes) -> bytes:
    found = _STATUS.match(line)
    if found is None or not found[1].startswith(b"1."):
        return line
    return b"HTTP/%s %s %s" % (found[1] if found[1] in (b"1.0", b"1.1") else b"1.1", found[2], found[3])


def _one_length(values: list[bytes]) -> bytes | None:
    """The length on which all values agree; None if they differ, or if there are none."""
    lengths = {part.strip().removeprefix(b"+") for value in values for part in value.split(b",")}
    [length, *others] = lengths or {b""}
    return length if length.isdigit() and not others else None


def _fields(lines: list[bytes], length: bytes | None) -> Iterator[bytes]:
    """The valid header lines, with one Content-Length."""
    is_kept = True
    for line in lines:
        if line[:1] in (b" ", b"\t"):
            if is_kept:
                yield line.replace(b"\r", b" ")  # continues the line before it
            continue
        name, colon, value = line.partition(b":")
        name = name.rstrip(b" \t")
        is_length = length is not None and name.lower() == b"content-length"
        is_kept = bool(name and colon) and not is_length
        if is_kept:
            yield b"%s:%s" % (name, value.replace(b"\r", b" "))
    if length is not None:
        yield b"Content-Length: %s" % length


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
    length: int
    """Bytes of the body."""
    chunked: bool = False


def read_plain_head(received: bytes, /) -> PlainHead | None:
    """The head with which these bytes begin; None if it is not plain, or incomplete."""
    found = _PLAIN.match(received, 0, _MAX_PLAIN_BYTES)
    if found is None:
        return None
    minor, status, reason, fields = found.groups()
    lines = [(name, value.rstrip(b" \t")) for name, value in _LINE.findall(fields)]
    named = first_by_name(lines)
    has_body = status not in _WITHOUT_BODY
    length = named.get(b"content-length", b"" if has_body else b"0")
    connection = named.get(b"connection", b"").lower()
    is_clear = length.isdigit() and len(length) <= _MAX_LENGTH_DIGITS and connection in (b"", b"close", b"keep-alive")
    if not is_clear or not named.keys().isdisjoint(_FRAMING) or (len(named) < len(lines) and _repeats_framing(lines)):
        return None
    if minor == b"1":
        version, should_close = HttpVersion11, connection == b"close"
    else:
        version, should_close = HttpVersion10, connection != b"keep-alive"
    phrase = "" if reason is None else reason.decode("utf-8", "surrogateescape")
    size = found.end()
    return PlainHead(version, int(status), phrase, lines, named, should_close, size, int(length) if has_body else 0)


def first_by_name(lines: Sequence[tuple[bytes, bytes]], /) -> dict[bytes, bytes]:
    """The first value of each header, by its name in lower case."""
    return {name.lower(): value for name, value in reversed(lines)}


def _repeats_framing(lines: Sequence[tuple[bytes, bytes]]) -> bool:
    names = [name.lower() for name, _ in lines]
    return names.count(b"content-length") > 1 or names.count(b"connection") > 1


class Headers:
    """The header lines of a response. Names are lower-case here."""

    __slots__ = ("_named", "lines")

    def __init__(self, lines: Sequence[tuple[bytes, bytes]], named: Mapping[bytes, bytes] | None = None) -> None:
        """`named`: the first of the lines of each name, if they are known."""
        self.lines = lines
        self._named = first_by_name(lines) if named is None else named

    def __contains__(self, name: bytes) -> bool:
        return name in self._named

    def first(self, name: bytes) -> str | None:
        """The first value of a header."""
        value = self._named.get(name)
        return None if value is None else value.decode("utf-8", "surrogateescape")

    def all(self, name: bytes) -> list[str]:
        """All values of a header, in order."""
        return [value.decode("utf-8", "surrogateescape") for key, value in self.lines if key.lower() == name]

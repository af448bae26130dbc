"""Corrects heads of responses before the parser reads them. Pure.

aiohttp's parser refuses heads that browsers accept, and has no option for that. We correct what at least two of
Chromium, Firefox and curl accept, if that leaves no doubt where the body ends; `docs/fetching.md` has the table. The
parser refuses the rest.
"""

import re
from collections.abc import Iterator

_SOUND = re.compile(
    rb"HTTP/1\.[01] [0-9]{3}(?: [^\r\n\0]*)?\r\n(?:[-!#$%&'*+.^_`|~0-9A-Za-z]+:[^\r\n\0]*\r\n|[ \t][^\r\n\0]*\r\n)*\r\n"
)
_STATUS = re.compile(rb"HTTP/([0-9]+\.[0-9]+)[ \t]+([0-9]{3})(?![0-9])[ \t]*([^\n]*)", re.IGNORECASE)
_LENGTH = re.compile(rb"^content-length[ \t]*:([^\n]*)", re.IGNORECASE | re.MULTILINE)
_BEGINNING = b"HTTP/"


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

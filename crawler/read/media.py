"""Parses Content-Type: "extract a MIME type" of the Fetch standard, by the parser of the MIME Sniffing standard.

We accept a charset exactly where a browser does.
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Final

import msgspec

_NAME: Final = r"[\w!#$%&'*+.^`|~-]+"
_ESSENCE = re.compile(rf"[ \t\r\n]*({_NAME}/{_NAME})[ \t\r\n]*(?=;|\Z)", re.ASCII)
_PARAMETER = re.compile(
    rf""";[ \t\r\n]*(?:({_NAME})(?==))?[^;=]*(?:=(?:"((?:[^"\\]|\\.)*\\?)"?[^;]*|([^;]*)))?""", re.ASCII | re.DOTALL
)
_QUOTED_VALUE = re.compile(r"[\t\x20-\x7e\x80-\xff]*")
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_BETWEEN_COMMAS = re.compile(r'(?:[^",]|"(?:[^"\\]|\\.)*(?:"|\\?\Z))+', re.DOTALL)

_LONGEST_REMEMBERED: Final = 1000
"""Characters of a value."""


class MediaType(msgspec.Struct, frozen=True):
    essence: str | None = None
    """The type without its parameters, in lower case; None if none was declared, or an invalid one."""
    charset: str | None = None


def extract_media_type(headers: Sequence[str], /) -> MediaType:
    """The last valid type counts. If it has no charset, it takes that of the same type before it."""
    found = MediaType()
    for header in headers:
        for value in _BETWEEN_COMMAS.findall(header) if "," in header else (header,):
            next_one = _parse_known(value) if len(value) <= _LONGEST_REMEMBERED else _parse(value)
            if next_one.essence is None or next_one.essence == "*/*":
                continue
            if next_one.charset is None and next_one.essence == found.essence:
                continue
            found = next_one
    return found


def _parse(value: str) -> MediaType:
    essence = _ESSENCE.match(value)
    if essence is None:
        return MediaType()
    for parameter in _PARAMETER.finditer(value, essence.end()):
        name, quoted, plain = parameter.groups()
        charset = _ESCAPED.sub(r"\1", quoted) if quoted is not None else (plain or "").rstrip(" \t\r\n")
        if name is None or name.lower() != "charset" or not _QUOTED_VALUE.fullmatch(charset):
            continue
        if charset or quoted is not None:
            return MediaType(essence[1].lower(), charset)
    return MediaType(essence[1].lower())


_parse_known = lru_cache(maxsize=256)(_parse)

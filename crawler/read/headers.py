"""Reads the HTTP headers that describe a page.

A Content-Type is read as "extract a MIME type" of the Fetch standard says, by the parser of the MIME Sniffing standard:
we accept a charset exactly where a browser does.
"""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Final

import msgspec

from crawler.page import wanted_headers

_WANTED: Final = (b"content-type", b"link", b"x-robots-tag", b"content-language", b"refresh")
_LINK = re.compile(r'<([^<>]*)>((?:[^<"]|"(?:[^"\\]|\\.)*"?)*)')
_LINK_PARAMETER = re.compile(r';\s*([^\s=;,"]+)\s*(?:=\s*(?:"((?:[^"\\]|\\.)*)"?|([^\s;,"]*)))?')

_NAME: Final = r"[\w!#$%&'*+.^`|~-]+"
_ESSENCE = re.compile(rf"[ \t\r\n]*({_NAME}/{_NAME})[ \t\r\n]*(?=;|\Z)", re.ASCII)
_TYPE_PARAMETER = re.compile(
    rf""";[ \t\r\n]*(?:({_NAME})(?==))?[^;=]*(?:=(?:"((?:[^"\\]|\\.)*\\?)"?[^;]*|([^;]*)))?""", re.ASCII | re.DOTALL
)
_QUOTED_VALUE = re.compile(r"[\t\x20-\x7e\x80-\xff]*")
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_BETWEEN_COMMAS = re.compile(r'(?:[^",]|"(?:[^"\\]|\\.)*(?:"|\\?\Z))+', re.DOTALL)

_LONGEST_REMEMBERED: Final = 1000
"""Characters or bytes of a value."""


class Headers(msgspec.Struct, frozen=True, kw_only=True):
    """The headers that we need to read a page."""

    media_type: str | None
    """The declared type without its parameters, in lower case."""
    charset: str | None
    links: tuple[tuple[str, str], ...]
    """URL and rel of each Link header value."""
    robots: tuple[str, ...]
    """X-Robots-Tag values."""
    language: str | None
    refresh: str | None


def read_headers(headers: Sequence[tuple[bytes, bytes]], /) -> Headers:
    said = wanted_headers(headers, _WANTED)
    # Most pages have one alone, the Content-Type, and it is that of others. A Link often differs for each page.
    if len(said) == 1 and len(said[0][1]) <= _LONGEST_REMEMBERED:
        return _read_known(said[0])
    return _read(*said)


def _read(*said: tuple[bytes, bytes]) -> Headers:
    wanted: dict[bytes, list[str]] = {}
    for name, value in said:
        wanted.setdefault(name, []).append(_text(value).strip())
    declared = extract_media_type(wanted.get(b"content-type", ()))
    return Headers(
        media_type=declared.essence,
        charset=declared.charset,
        links=tuple(link for value in wanted.get(b"link", ()) for link in _links(value)),
        robots=tuple(wanted.get(b"x-robots-tag", ())),
        language=wanted.get(b"content-language", [None])[0],
        refresh=wanted.get(b"refresh", [None])[0],
    )


_read_known = lru_cache(maxsize=256)(_read)


def _text(value: bytes) -> str:
    """A header as its sender meant it: UTF-8, else Latin-1."""
    try:
        return value.decode("utf-8")
    except UnicodeDecodeError:
        return value.decode("latin-1")


def _links(value: str) -> Iterator[tuple[str, str]]:
    """By RFC 8288, section 3.2. Text in quotes is not a parameter. The first of several rels counts. Links with an
    anchor are left out, as in browsers: they are links of another page, or of a part of this one."""
    for url, parameters in _LINK.findall(value):
        found: dict[str, str] = {}
        for name, quoted, plain in _LINK_PARAMETER.findall(parameters):
            found.setdefault(name.lower(), quoted or plain.strip("'"))
        if not found.get("anchor"):
            yield url.strip(), found.get("rel", "").lower()


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
    for parameter in _TYPE_PARAMETER.finditer(value, essence.end()):
        name, quoted, plain = parameter.groups()
        charset = _ESCAPED.sub(r"\1", quoted) if quoted is not None else (plain or "").rstrip(" \t\r\n")
        if name is None or name.lower() != "charset" or not _QUOTED_VALUE.fullmatch(charset):
            continue
        if charset or quoted is not None:
            return MediaType(essence[1].lower(), charset)
    return MediaType(essence[1].lower())


_parse_known = lru_cache(maxsize=256)(_parse)

"""Reads the HTTP headers that describe a page."""

import re
from collections.abc import Iterator, Sequence
from typing import Final

import msgspec

from crawler.page import wanted_headers
from crawler.read.media import extract_media_type

_WANTED: Final = (b"content-type", b"link", b"x-robots-tag", b"content-language", b"refresh")
_LINK = re.compile(r'<([^<>]*)>((?:[^<"]|"(?:[^"\\]|\\.)*"?)*)')
_PARAMETER = re.compile(r';\s*([^\s=;,"]+)\s*(?:=\s*(?:"((?:[^"\\]|\\.)*)"?|([^\s;,"]*)))?')


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
    wanted: dict[bytes, list[str]] = {}
    for name, value in wanted_headers(headers, _WANTED):
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
        for name, quoted, plain in _PARAMETER.findall(parameters):
            found.setdefault(name.lower(), quoted or plain.strip("'"))
        if not found.get("anchor"):
            yield url.strip(), found.get("rel", "").lower()

"""Hrefs that need no parser of URLs: nine of ten.

Of a plain href, every character is one that the URL standard leaves as it is, there are no dot segments, and where it
begins is known: at a host, at the root or in the directory of its base. What remains is to put these together.
"""

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Final, TypeVar

import msgspec
from ada_url import normalize_url

from crawler.url.canonical import MARKS
from crawler.url.hosts import is_name, split_port, surt_host

try:
    from crawler.url import _hrefs as compiled
except ImportError:
    # The extension is optional.
    _COMPILED_VERSION = 0
else:
    _COMPILED_VERSION = getattr(compiled, "VERSION", 0)

IS_COMPILED: Final = _COMPILED_VERSION == 4
"""False also where the extension was compiled from older code."""


Parts = tuple[str, str, str]
"""Origin, host and site of URLs."""
_Made = TypeVar("_Made")


class Place(msgspec.Struct, frozen=True, gc=False):
    """What all URLs of an origin have in common."""

    origin: str
    scheme: str
    host: str
    port: str
    site: str
    parts: Parts | None
    """The same as a tuple; None where a dot ends the host, which the standard rules change, and where DNS can't hold
    the host's name."""


class Base(msgspec.Struct, frozen=True, gc=False):
    """What relative hrefs are added to."""

    place: Place
    directory: str
    """The path, up to its last slash."""
    marks: str
    """The same if the standard rules may change it, otherwise empty."""


_PLAIN: Final = re.compile(
    r"(?:((?:https?:)?//[^/@]++)(?>(?:/(?!/)[!$&')-:=@-Z_a-z~]*+)?)"
    r"|/(?!/)[!$&')-:=@-Z_a-z~]*+|[0-9A-Z_a-z~-][!$&')-9=@-Z_a-z~]*+)"
    r"((?:(?=[%;(])[!$&-;=@-Z_a-z~]*+(?>(?:%(?!2[eE])[!$&-;=@-Z_a-z~]*+)*))?(?:\?[!$-&(-;=?-~]*+)?)"
)
"""Hrefs whose characters the standard leaves as they are, if there is no dot segment: a host, which remains to be
looked at, with or without a path; a path; or a relative path; and a query. The second group begins with the first
mark."""
_DOTS: Final = re.compile(r"[^?]*?/\.\.?(?:[/?]|$)")
_OPAQUE: Final = re.compile(r"(?!(?:https?|wss?|ftp|file):)[a-z][a-z0-9+.-]*+:[^/\t\n\r]", re.IGNORECASE | re.ASCII)
_LONGEST: Final = 2048
"""Characters of a plain href. What is learned of a base is remembered, and would be no less long."""
_LONGEST_ORIGIN: Final = 300
"""Characters. A host name may have 253; those of longer ones, which lead nowhere, would fill the memory."""


def joined(href: str, base: Base | None, /) -> tuple[Place, str, str] | None:
    """Where the URL of a plain href lies, its path and query, and what of these the standard rules may change; None of
    any other href, which a parser must read."""
    if len(href) > _LONGEST:
        return None
    if href[:1] == "." and base is not None:
        return _joined_above(href, base)
    if (plain := _PLAIN.fullmatch(href)) is None or ("/." in href and _DOTS.match(href)):
        return None
    origin, marks = plain.groups()
    if origin is None:
        if base is None:
            return None
        if href[0] == "/":
            return base.place, href, marks
        return base.place, base.directory + href, base.marks + marks
    if origin[0] == "h":
        place = _place_meant(origin)
    else:
        place = None if base is None else _place_meant(f"{base.place.scheme}:{origin}")
    return None if place is None else (place, href[len(origin) :] or "/", marks)


def _joined_above(href: str, base: Base) -> tuple[Place, str, str] | None:
    """`joined` of an href that begins with dots."""
    directory = base.directory
    while href[:1] == ".":
        step, slash, href = href.partition("/")
        if not slash or step not in (".", ".."):
            return None
        if step == "..":
            directory = directory[: directory.rfind("/", 0, -1) + 1] or "/"
    if not href or href[0] == "/":
        return None
    found = joined(href, base)
    if found is None or found[1] != base.directory + href:
        return None
    return base.place, directory + href, found[2]


def read_plain(
    hrefs: list[str],
    base: Base | None,
    /,
    *,
    make: Callable[[str, str, str, str, str, str], _Made],
    max_length: int,
    otherwise: Callable[[str], _Made],
) -> list[_Made]:
    """What `make` makes of URL, canonical URL, host, site, path and site for each plain href whose URL the standard
    rules do not change, and which has at most `max_length` characters; what `otherwise` makes of others. It may do so
    with any."""
    if not IS_COMPILED:
        return [otherwise(href) for href in hrefs]
    scheme, home, directory = None, None, ""
    if base is not None:
        scheme, home, directory = base.place.scheme, None if base.marks else base.place, base.directory
    return compiled.read_many(hrefs, scheme, home, directory, _known_place_meant, make, max_length, otherwise)


def may_repeat(path: str, least: int, /) -> bool:
    """Whether so many segments of a path may be equal to one of the four before them."""
    if IS_COMPILED:
        return compiled.may_repeat(path, least)
    segments = path.split("/")
    return len(segments) - len(set(segments)) >= least


def is_opaque(href: str, /) -> bool:
    """Whether the href is surely a URL, but of a scheme that has no hosts, as `data:` and `mailto:`; such may be
    long."""
    return _OPAQUE.match(href) is not None and href.isascii()


def base_of(url: str, /) -> Base | None:
    """What a base URL of http or https says, by the standard; None of any other, and of long ones."""
    return _base_of(url) if len(url) <= _LONGEST else None


@lru_cache(maxsize=1024)
def _base_of(url: str) -> Base | None:
    try:
        scheme, _, rest = normalize_url(url).partition("://")
    except ValueError:
        return None
    if scheme not in ("http", "https"):
        return None
    authority, _, path = rest.partition("/")
    path = path.partition("#")[0].partition("?")[0]
    directory = f"/{path[: path.rfind('/') + 1]}"
    marks = directory if MARKS.search(directory) else ""
    return Base(place_of(f"{scheme}://{authority.rpartition('@')[2]}"), directory, marks)


def _place_meant(origin: str) -> Place | None:
    """The place of an origin of http or https as an author wrote it; None of what is none."""
    return _known_place_meant(origin) if len(origin) <= _LONGEST_ORIGIN else None


@lru_cache(maxsize=65_536)
def _known_place_meant(origin: str) -> Place | None:
    try:
        url = normalize_url(f"{origin}/")
    except ValueError:
        return None
    return place_of(url[:-1]) if url.startswith(("http://", "https://")) and url.count("/") == 3 else None


def place_of(origin: str, /) -> Place:
    """The place of a serialised origin of http or https."""
    return _known_place(origin) if len(origin) <= _LONGEST_ORIGIN else _new_place(origin)


@lru_cache(maxsize=65_536)
def _known_place(origin: str) -> Place:
    return _new_place(origin)


def _new_place(origin: str) -> Place:
    scheme, _, authority = origin.partition("://")
    host, port = split_port(authority)
    site = f"{surt_host(host)}{port}"
    is_plain = not host.endswith(".") and is_name(host)
    return Place(origin, scheme, host, port, site, (origin, host, site) if is_plain else None)

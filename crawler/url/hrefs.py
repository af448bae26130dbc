"""Resolves plain hrefs without a URL parser: nine in ten.

A plain href contains only characters that the URL standard leaves unchanged, and no dot segments. It starts with a
host, at the root, or in the directory of its base. So it only needs to be appended to that.
"""

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Final, TypeVar

import msgspec
from ada_url import normalize_url

from crawler.url.canonical_rules import MARKS
from crawler.url.hosts import HOSTS_REMEMBERED, LONGEST_REMEMBERED, is_name, split_port, surt_host

try:
    from crawler.url import _hrefs as compiled
except ImportError:
    IS_COMPILED = False  # the extension is optional
else:
    IS_COMPILED = getattr(compiled, "VERSION", 0) == 8  # False if it was compiled from older code

_Target = TypeVar("_Target")


class Origin(msgspec.Struct, frozen=True, gc=False):
    """The components that all URLs of an origin share."""

    text: str
    """As `https://example.org:8443`."""
    scheme: str
    host: str
    port: str
    site: str
    parts: tuple[str, str, str] | None
    """`text`, `host` and `site`, for the compiled code. None if the host ends with a dot, which the default rules
    change, or if DNS can't contain its name."""


class Base(msgspec.Struct, frozen=True, gc=False):
    """The base of relative hrefs."""

    origin: Origin
    path: str
    """Path and query."""
    directory: str
    """The path up to its last slash."""
    marks: str
    """The directory if the default rules may change it, otherwise empty."""


_NORMALIZED: Final = re.compile(r"https?://(?!.*xn--)(?:[0-9_a-z-]+\.)*[a-z]{2,}(?::(?!(?:80|443)$)[1-9][0-9]{0,3})?")
"""An origin that the standard leaves unchanged; most are. Each call of the parser lets other threads run: if they read
large documents, the event loop waits for them, and a page may name thousands of hosts."""
_PLAIN: Final = re.compile(
    r"(?:((?:https?:)?//[^/@]++)(?>(?:/(?!/)[!$&')-:=@-Z_a-z~]*+)?)"
    r"|/(?!/)[!$&')-:=@-Z_a-z~]*+|[0-9A-Z_a-z~-][!$&')-9=@-Z_a-z~]*+)"
    r"((?:(?=[%;(])[!$&-;=@-Z_a-z~]*+(?>(?:%(?!2[eE])[!$&-;=@-Z_a-z~]*+)*))?(?:\?[!$-&(-;=?-~]*+)?)"
)
"""Hrefs whose characters the standard leaves unchanged, if there are no dot segments: a host, which still must be
parsed, with or without a path; a path; or a relative path; and a query. The second group begins with the first mark."""
_DOTS: Final = re.compile(r"[^?]*?/\.\.?(?:[/?]|$)")
_OPAQUE: Final = re.compile(
    r"(?!(?:https?|wss?|ftp|file):)[a-z][a-z0-9+.-]*+:[^/\t\n\r]|file:///", re.IGNORECASE | re.ASCII
)
_LONGEST: Final = 2048
"""Characters of a plain href, and of a base, which is cached."""


def join_plain(href: str, base: Base | None, /) -> tuple[Origin, str, str] | None:
    """Resolve a plain href: its origin, its path and query, and the part of these that the default rules may change.
    None for any other href, which a parser must read."""
    if len(href) > _LONGEST:
        return None
    if href[:1] == "." and base is not None:
        return _join_above(href, base)
    if (plain := _PLAIN.fullmatch(href)) is None or ("/." in href and _DOTS.match(href)):
        return None
    written_origin, marks = plain.groups()
    if written_origin is None:
        if base is None:
            return None
        if href[0] == "/":
            return base.origin, href, marks
        return base.origin, base.directory + href, base.marks + marks
    if written_origin[0] == "h":
        origin = _normalize_origin(written_origin)
    else:
        origin = None if base is None else _normalize_origin(f"{base.origin.scheme}:{written_origin}")
    return None if origin is None else (origin, href[len(written_origin) :] or "/", marks)


def _join_above(href: str, base: Base) -> tuple[Origin, str, str] | None:
    """`join_plain` for an href that begins with dots."""
    directory = base.directory
    while href[:1] == ".":
        step, slash, href = href.partition("/")
        if not slash or step not in (".", ".."):
            return None
        if step == "..":
            directory = directory[: directory.rfind("/", 0, -1) + 1] or "/"
    if not href or href[0] == "/":
        return None
    found = join_plain(href, base)
    if found is None or found[1] != base.directory + href:
        return None
    return base.origin, directory + href, found[2]


def read_plain(
    hrefs: list[str],
    base: Base | None,
    /,
    *,
    make: Callable[[str, str, str, str, str, str], _Target],
    max_length: int,
    fallback: Callable[[str], _Target],
) -> list[_Target]:
    """Resolve hrefs. For a plain href of at most `max_length` characters whose URL the default rules do not change,
    calls `make` with URL, canonical URL, host, site, path and queue key (the site). Calls `fallback` for the others,
    and perhaps for some of these."""
    if not IS_COMPILED:
        return [fallback(href) for href in hrefs]
    scheme, home, directory = None, None, ""
    if base is not None:
        scheme, home, directory = base.origin.scheme, None if base.marks else base.origin, base.directory
    return compiled.read_many(hrefs, scheme, home, directory, _known_normalized_origin, make, max_length, fallback)


def may_repeat(path: str, least: int, /) -> bool:
    """Whether at least `least` segments of a path may be equal to one of the four before them."""
    if IS_COMPILED:
        return compiled.may_repeat(path, least)
    segments = path.split("/")
    return len(segments) - len(set(segments)) >= least


def is_opaque(href: str, /) -> bool:
    """Whether the href is certainly a URL without a host, such as `data:` or `mailto:` ones. Such hrefs may be long."""
    return _OPAQUE.match(href) is not None and href.isascii()


def base_of(url: str, /) -> Base | None:
    """The base for a base URL of http or https, by the standard; None for any other, and for a long one."""
    return _base_of(url) if len(url) <= _LONGEST else None


@lru_cache(maxsize=1024)
def _base_of(url: str) -> Base | None:
    if found := join_plain(url, None):
        # Most are. To parse another takes 2 % of the time for a page.
        origin, path, _ = found
    else:
        try:
            scheme, _, rest = normalize_url(url).partition("://")
        except ValueError:
            return None
        if scheme not in ("http", "https"):
            return None
        authority, slash, path = rest.partition("/")
        origin = parse_origin(f"{scheme}://{authority.rpartition('@')[2]}")
        path = f"{slash}{path.partition('#')[0]}"
    before = path.partition("?")[0]
    directory = before[: before.rfind("/") + 1]
    return Base(origin, path, directory, directory if MARKS.search(directory) else "")


def _normalize_origin(origin: str) -> Origin | None:
    """The origin that an author wrote, of http or https; None if it is not one."""
    return _known_normalized_origin(origin) if len(origin) <= LONGEST_REMEMBERED else None


@lru_cache(maxsize=HOSTS_REMEMBERED)
def _known_normalized_origin(origin: str) -> Origin | None:
    if _NORMALIZED.fullmatch(origin):
        return parse_origin(origin)
    try:
        url = normalize_url(f"{origin}/")
    except ValueError:
        return None
    return parse_origin(url[:-1]) if url.startswith(("http://", "https://")) and url.count("/") == 3 else None


def parse_origin(origin: str, /) -> Origin:
    """Parse a serialised origin of http or https."""
    return _known_origin(origin) if len(origin) <= LONGEST_REMEMBERED else _new_origin(origin)


def _new_origin(origin: str) -> Origin:
    scheme, _, authority = origin.partition("://")
    host, port = split_port(authority)
    site = f"{surt_host(host)}{port}"
    is_plain = not host.endswith(".") and is_name(host)
    return Origin(origin, scheme, host, port, site, (origin, host, site) if is_plain else None)


_known_origin = lru_cache(maxsize=HOSTS_REMEMBERED)(_new_origin)

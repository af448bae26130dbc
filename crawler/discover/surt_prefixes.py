"""Reads lists of places on the web: hosts, domains, directories, SURT prefixes. Pure.

A place has one of these forms:

    www.example.org                     a host
    *.example.org                       a domain with all its hosts
    https://www.example.org/docs/a      a directory: the URL up to its last slash
    org,example,                        a SURT prefix: the same as *.example.org
    org,example,www)/docs               a SURT prefix: all that begins with it, including /docs2
    http://(org,example,www,)/docs      the same as Heritrix writes it, perhaps with a port, as in
                                        http://(org,example,www,:8080)/docs; the scheme does not count, nor does a
                                        + in front, with which Heritrix marks them in lists
"""

import re
import string
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from typing import Final
from urllib.parse import quote

from crawler.url.hosts import surt_host
from crawler.url.urls import Target, UrlReader

_HERITRIX = re.compile(r"\A\+?(?:https?://)?\(?", re.IGNORECASE)
_NAME = re.compile(r"(?:(?:[\w-]+(?:,[\w-]+)*|[0-9.]+|\[[0-9a-f:.]*(?:\](?::[0-9]{0,5})?)?),?)?", re.ASCII)
"""The beginning of a name in SURT order, or an address."""
_PORT = re.compile(r"[0-9]{0,5}", re.ASCII)
_HOST = re.compile(r"[\w.-]+(?::[0-9]{1,5})?|\[[0-9A-Fa-f:.]+\](?::[0-9]{1,5})?")
_DEFAULT_PORTS: Final = ("80", "443")
_ASCII: Final = string.printable


class SurtPrefixes:
    """Any number of places. A test takes as long as one search in a sorted list."""

    def __init__(self, entries: Iterable[str]) -> None:
        """Raises `ValueError`, with the entry, for an entry that is not a place."""
        self._prefixes = shortest(prefix for entry in entries for prefix in prefixes_of(entry))

    def __bool__(self) -> bool:
        return bool(self._prefixes)

    def cover(self, target: Target, /) -> bool:
        """Whether the URL lies in one of the places."""
        return is_covered(surt(target), self._prefixes)

    def touch(self, target: Target, /) -> bool:
        """Whether any of the places lies on the URL's site."""
        site = f"{target.site})"
        first = bisect_left(self._prefixes, site)
        return is_covered(site, self._prefixes) or any(
            prefix.startswith(site) for prefix in self._prefixes[first : first + 1]
        )


class QueuePrefixes:
    """Assigns URLs to queues by places: the URLs of a place share a queue; all others go to the queue of their host.

    A domain or host forms one queue, such as `com,example`. A directory has a queue of its own, such as
    `com,example,www#/docs/`; the text before the `#` is the key of the queue around it. The longest matching place
    wins.
    """

    def __init__(self, entries: Iterable[str]) -> None:
        """Raises `ValueError`, with the entry, for an entry that is not a place."""
        self._key_of_site: dict[str, str] = {}
        """Queue keys by SURT prefixes of sites."""
        self._directories: set[str] = set()
        """SURT prefixes of URLs."""
        for entry in entries:
            prefixes = list(prefixes_of(entry))
            for prefix in prefixes:
                if prefix.partition(")")[2] in ("", "/"):
                    self._key_of_site[prefix.removesuffix("/")] = prefixes[0].rstrip(",)/")
                else:
                    self._directories.add(prefix)
        self._site_lengths = sorted({len(prefix) for prefix in self._key_of_site}, reverse=True)
        self._directory_lengths = sorted({len(prefix) for prefix in self._directories}, reverse=True)

    @property
    def identity(self) -> str:
        """Two lists with the same identity assign all URLs alike."""
        return " ".join(sorted([*self._key_of_site, *self._directories]))

    @property
    def site_keys(self) -> list[str]:
        """The keys of queues that hold whole hosts."""
        return sorted(set(self._key_of_site.values()))

    def key(self, site: str, path: str, /) -> str:
        """The queue key of a URL, by its `Target.site` and `Target.path`."""
        name = f"{site})"
        keys = self._key_of_site
        site_key = next((keys[name[:end]] for end in self._site_lengths if name[:end] in keys), site)
        if not self._directories:
            return site_key
        name += path
        place = next((name[:end] for end in self._directory_lengths if name[:end] in self._directories), None)
        if place is None:
            return site_key
        return f"{site_key}#{place.removeprefix(f'{site})') if site_key == site else place}"


def surt(target: Target, /) -> str:
    """The SURT of a URL: host in SURT order, a bracket, path and query."""
    return f"{target.site}){target.path}"


def directory(target: Target, /) -> str:
    """The SURT of a URL up to the last slash of its path."""
    path = target.path.partition("?")[0]
    return f"{target.site}){path[: path.rindex('/') + 1]}"


def shortest(prefixes: Iterable[str], /) -> tuple[str, ...]:
    """Sort the prefixes, and drop those that another one covers."""
    kept: list[str] = []
    for prefix in sorted(prefixes):
        if not kept or not prefix.startswith(kept[-1]):
            kept.append(prefix)
    return tuple(kept)


def is_covered(name: str, prefixes: tuple[str, ...], /) -> bool:
    """Whether the name begins with one of the prefixes, which are a result of `shortest`."""
    # No prefix covers another, so only the last one that sorts before the name can match.
    index = bisect_right(prefixes, name)
    return index > 0 and name.startswith(prefixes[index - 1])


def parse_list(text: str, /) -> list[tuple[int, str]]:
    """The entries of a list, one on each line, with the numbers of the lines; # begins a comment."""
    lines = ((number, line.partition("#")[0].strip()) for number, line in enumerate(text.splitlines(), start=1))
    return [(number, entry) for number, entry in lines if entry]


def prefixes_of(entry: str, /) -> Iterator[str]:
    """The SURT prefixes of the URLs in a place. Raises `ValueError`, with the entry, if it is not a place."""
    entry = entry.strip()
    if entry.lower().startswith(("http://", "https://")) and not entry.partition("//")[2].startswith("("):
        yield directory(UrlReader().seed(entry, called="place"))
        return
    if "," in entry or "(" in entry:
        yield from _surt_prefixes(entry)
        return
    is_domain = entry.startswith("*.")
    if not _HOST.fullmatch(entry.removeprefix("*.")):
        raise ValueError(
            f"{entry!r} is not a place: expected a host, *.domain, a URL or a SURT prefix, "
            "as 'www.example.org', '*.example.org', 'https://example.org/docs/' or 'org,example,'"
        )
    if is_domain and ":" in entry:
        raise ValueError(f"{entry!r} is not a place: a domain has all ports of its hosts; leave the port out")
    # With a default port, a URL needs the scheme of that port. SURTs have neither.
    scheme = "http" if entry.endswith(":80") else "https"
    target = UrlReader().seed(f"{scheme}://{entry.removeprefix('*.')}/", called="place")
    yield from _domain(f"{surt_host(target.host)},") if is_domain else (f"{target.site})",)


def _surt_prefixes(entry: str) -> Iterator[str]:
    host, bracket, path = _HERITRIX.sub("", entry, count=1).partition(")")
    name, colon, port = host.lower().partition(":") if "[" not in host else (host.lower(), "", "")
    name = ",".join(label if label.isascii() else _ascii_label(label, entry) for label in name.split(","))
    port = port.rstrip(",")
    can_begin_so = _NAME.fullmatch(name) and _PORT.fullmatch(port)
    if not can_begin_so or (bracket and not name) or path[:1] not in ("", "/"):
        raise ValueError(
            f"{entry!r} is not a place: expected the beginning of a URL in SURT order, as 'org,example,www)/docs'"
        )
    if colon:
        name = name.rstrip(",")  # Heritrix writes a comma before a port
    is_default = port in _DEFAULT_PORTS
    if bracket:
        place = name if is_default else f"{name}{colon}{port}"
        yield f"{place.rstrip(',')}){quote(path, safe=_ASCII)}"
        return
    if is_default:
        yield f"{name})"  # the first one names the queue
    yield from _domain(f"{name}{colon}{port}")


def _ascii_label(label: str, entry: str) -> str:
    try:
        return UrlReader().seed(f"https://{label}/").host
    except ValueError:
        raise ValueError(f"{entry!r} is not a place: {label!r} can't be part of the name of a host") from None


def _domain(prefix: str) -> Iterator[str]:
    yield prefix
    if prefix.endswith(","):
        yield f"{prefix[:-1]})"
        yield f"{prefix[:-1]}:"

"""Lists of places on the web: hosts, domains, directories, SURT prefixes. Pure.

A place is written in any of these forms:

    www.example.org                     a host
    *.example.org                       a domain with all its hosts
    https://www.example.org/docs/a      a directory: what a URL begins with, up to its last slash
    org,example,                        a SURT prefix: the same as *.example.org
    org,example,www)/docs               a SURT prefix: what begins so, /docs2 too
    http://(org,example,www,)/docs      the same, as Heritrix writes it; the scheme does not count
"""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator

from crawler.url.hosts import surt_host
from crawler.url.urls import Target, UrlReader

_HERITRIX = re.compile(r"(?:https?://)?\(?", re.IGNORECASE)
_HOST = re.compile(r"[\w.-]+(?::[0-9]{1,5})?|\[[0-9A-Fa-f:.]+\](?::[0-9]{1,5})?")


class SurtPrefixes:
    """Any number of places; asking takes the time of finding one name in a sorted list."""

    def __init__(self, entries: Iterable[str]) -> None:
        """Raises `ValueError`, naming the entry, for one that is no place."""
        self._prefixes = shortest(prefix for entry in entries for prefix in prefixes_of(entry))

    def __bool__(self) -> bool:
        return bool(self._prefixes)

    def cover(self, target: Target, /) -> bool:
        """Whether the URL lies in one of the places."""
        return is_covered(surt(target), self._prefixes)


class QueuePrefixes:
    """Names queues by places: URLs in one of them share a queue, and others that of their host.

    A domain or host makes a queue of all that lies there, `com,example`. A directory of a host stands apart from the
    rest of it, as `com,example,www#/docs/`: what comes before the mark is what it is a part of. The longest place
    counts.
    """

    def __init__(self, entries: Iterable[str]) -> None:
        """Raises `ValueError`, naming the entry, for one that is no place."""
        self._whole: dict[str, str] = {}
        """Keys of queues, by what the SURT of a site begins with."""
        self._parts: set[str] = set()
        """What the SURT of a URL begins with."""
        for entry in entries:
            prefixes = list(prefixes_of(entry))
            for prefix in prefixes:
                if prefix.partition(")")[2] in ("", "/"):
                    self._whole[prefix.removesuffix("/")] = prefixes[0].rstrip(",)/")
                else:
                    self._parts.add(prefix)
        self._whole_lengths = sorted({len(prefix) for prefix in self._whole}, reverse=True)
        self._part_lengths = sorted({len(prefix) for prefix in self._parts}, reverse=True)

    @property
    def identity(self) -> str:
        """Equal for those that name all queues alike."""
        return " ".join(sorted([*self._whole, *self._parts]))

    def key(self, site: str, path: str, /) -> str:
        """The queue of a URL, by `Target.site` and `Target.path`."""
        name = f"{site})"
        whole = next((self._whole[name[:end]] for end in self._whole_lengths if name[:end] in self._whole), site)
        if not self._parts:
            return whole
        name += path
        part = next((name[:end] for end in self._part_lengths if name[:end] in self._parts), None)
        if part is None:
            return whole
        return f"{whole}#{part.removeprefix(f'{site})') if whole == site else part}"


def surt(target: Target, /) -> str:
    """Host in SURT order, a bracket, path and query."""
    return f"{target.site}){target.path}"


def directory(target: Target, /) -> str:
    """SURT of the URL up to the last slash of its path."""
    path = target.path.partition("?")[0]
    return f"{target.site}){path[: path.rindex('/') + 1]}"


def shortest(prefixes: Iterable[str], /) -> tuple[str, ...]:
    """Sorted, and without those that another prefix covers."""
    kept: list[str] = []
    for prefix in sorted(prefixes):
        if not kept or not prefix.startswith(kept[-1]):
            kept.append(prefix)
    return tuple(kept)


def is_covered(name: str, prefixes: tuple[str, ...], /) -> bool:
    """Whether it begins with one of the prefixes, which are as `shortest` gives them."""
    # No prefix covers another, so only the last one that sorts before can be one of this name.
    index = bisect_right(prefixes, name)
    return index > 0 and name.startswith(prefixes[index - 1])


def listed(text: str, /) -> list[str]:
    """The entries of a list: one on each line, # begins a comment."""
    lines = (line.partition("#")[0].strip() for line in text.splitlines())
    return [line for line in lines if line]


def prefixes_of(entry: str, /) -> Iterator[str]:
    """What the SURT of a URL in that place begins with. Raises `ValueError`, naming the entry, if it is no place."""
    entry = entry.strip()
    if entry.startswith(("http://", "https://")) and not entry.partition("//")[2].startswith("("):
        yield directory(UrlReader().seed(entry))
        return
    if "," in entry or "(" in entry:
        host, bracket, path = entry[_match_end(entry) :].partition(")")
        yield from (f"{host.rstrip(',').lower()}){path}",) if bracket else _domain(host.lower())
        return
    is_domain = entry.startswith("*.")
    if not _HOST.fullmatch(entry.removeprefix("*.")):
        raise ValueError(
            f"{entry!r} is no place: expected a host, *.domain, a URL or a SURT prefix, "
            "as 'www.example.org', '*.example.org', 'https://example.org/docs/' or 'org,example,'"
        )
    target = UrlReader().seed(f"https://{entry.removeprefix('*.')}/")
    yield from _domain(f"{surt_host(target.host)},") if is_domain else (f"{target.site})",)


def _domain(prefix: str) -> Iterator[str]:
    yield prefix
    if prefix.endswith(","):
        yield f"{prefix[:-1]})"
        yield f"{prefix[:-1]}:"


def _match_end(entry: str) -> int:
    match = _HERITRIX.match(entry)
    return match.end() if match else 0

"""URLs: read, joined and told apart. With `hrefs` and `canonical`, all that looks inside a URL.

What the web calls a URL is defined by the WHATWG URL standard, and the Ada library implements it: `join` reads an href
as a browser does. A `Target` is such a URL with what a crawl needs to know of it: `url`, which is fetched, and
`canonical`, under which the visited set knows it. Only the canonical form is changed by rules; the URL is fetched as it
was found, without credentials and fragment.
"""

from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import Final, Literal

import msgspec
from ada_url import join_url, normalize_url
from msgspec.structs import replace

from crawler.url import canonical_2
from crawler.url.canonical import (
    DEFAULT_RULES,
    MARKS,
    RULES_VERSION,
    UrlParts,
    canonicalizer,
    identity_of,
)
from crawler.url.hosts import domain_of_site, is_name, split_port
from crawler.url.hrefs import (
    Base,
    Place,
    base_of,
    is_opaque,
    joined,
    place_of,
    read_plain,
)

MAX_URL_LENGTH: Final = 2083
"""Longer URLs are refused unless configured otherwise: the limit that Heritrix and old browsers share, and about the
2,048 characters that the sitemap protocol allows. What is longer is a trap or an image inlined as data."""

QueueBy = Literal["host", "domain"]

VERSIONS: Final = (RULES_VERSION, canonical_2.VERSION)
"""Of the canonical rules, the latest first. What was crawled with one of the others goes on with it."""


class BadUrl(StrEnum):
    """Why an href is no URL to crawl."""

    INVALID = "invalid-url"
    """not a URL by the WHATWG standard"""
    SCHEME = "scheme"
    """neither http nor https"""
    TOO_LONG = "too-long"
    INVALID_HOST = "invalid-host"
    """DNS can't hold the name of its host"""


class Target(msgspec.Struct, frozen=True, gc=False):
    """An http or https URL, taken apart as far as a crawl needs it."""

    url: str
    """As it will be fetched: serialised by the standard, without credentials and fragment."""
    canonical: str
    """Under which the visited set knows it; for comparison only."""
    host: str
    """Lower-case ASCII name, IPv4 address, or IPv6 address in brackets."""
    site: str
    """Host in SURT order, with the port if it is not the scheme's own: `com,example,www:8080`."""
    path: str
    """Path and query, from the first slash on."""
    queue_key: str


class UrlReader:
    """Reads hrefs by one set of rules. Stateless but for a bounded memory of host names."""

    def __init__(
        self,
        *,
        rules: Sequence[str] = DEFAULT_RULES,
        version: int = RULES_VERSION,
        queue_by: QueueBy = "host",
        queue_of: Callable[[str, str], str] | None = None,
        max_length: int = MAX_URL_LENGTH,
    ) -> None:
        """`version` is that of the rules: the latest, or 2. `queue_of` names queues by site and path, where they are
        not by host or domain. Raises `ValueError` for a rule or a kind of queue that does not exist."""
        if queue_by not in ("host", "domain"):
            raise ValueError(f"queue_by must be host or domain, not {queue_by!r}")
        latest = version == RULES_VERSION
        self._canonicalize = canonicalizer(rules) if latest else canonical_2.canonicalizer(rules)
        self._rules_are_standard = set(rules) <= set(DEFAULT_RULES)
        self._queue_of = queue_of
        self._queues_are_hosts = queue_by == "host" and queue_of is None
        self._max_length = max_length
        self.identity = identity_of(rules) if latest else canonical_2.identity_of(rules)
        """Names the canonical form: stores that hold canonical URLs of another identity do not fit."""

    def read(self, href: str, base: str, /) -> Target | BadUrl:
        """The URL that an href in a document with that base URL means."""
        return self._read(href, base, base_of(base))

    def read_many(self, hrefs: list[str], base: str, /) -> list[Target | BadUrl]:
        """The same for all hrefs of a document, in order."""
        known = base_of(base)
        if not self._rules_are_standard:
            return [self._read(href, base, known) for href in hrefs]
        targets = read_plain(
            hrefs,
            known,
            make=Target,
            max_length=self._max_length,
            otherwise=lambda href: self._read(href, base, known),
        )
        return targets if self._queues_are_hosts else [self._queued(target) for target in targets]

    def _read(self, href: str, base: str, known: Base | None) -> Target | BadUrl:
        if found := joined(href, known):
            # Nine of ten links: what the standard does to them is known, and needs no parser.
            place, path, marks = found
            return self._at(place, path, marks)
        if known is not None and is_opaque(href):
            return BadUrl.SCHEME
        head, mark, _ = href.partition("#")
        too_long = len(head) > self._max_length
        if too_long:
            # Read only far enough to tell a long URL from an image inlined as data, which may have megabytes.
            head = head[: self._max_length]
        try:
            # The mark stays, because white space before it counts, but not at the end of an href.
            target = self._target(join_url(base, head + mark))
        except ValueError:
            return BadUrl.INVALID
        return BadUrl.TOO_LONG if too_long and target is not BadUrl.SCHEME else target

    def seed(self, text: str, /, *, called: str = "seed") -> Target:
        """A URL as a person wrote it. Raises `ValueError`, with what to do, if it can't be crawled; the message calls
        it so."""
        stripped = text.strip()
        if not stripped:
            raise ValueError(f"empty {called}: expected a URL such as https://example.org/")
        try:
            target: Target | BadUrl = self._target(normalize_url(stripped))
        except ValueError:
            target = BadUrl.INVALID
        if isinstance(target, Target):
            return target
        raise ValueError(f"{called} {_why_not(text, target, max_length=self._max_length)}")

    def _target(self, url: str) -> Target | BadUrl:
        if url.startswith("https://"):
            scheme, start = "https", 8
        elif url.startswith("http://"):
            scheme, start = "http", 7
        else:
            return BadUrl.SCHEME
        url = url.partition("#")[0]
        slash = url.index("/", start)
        path = url[slash:]
        place = place_of(f"{scheme}://{url[start:slash].rpartition('@')[2]}")
        return self._at(place, path, path)

    def _at(self, place: Place, path: str, marks: str) -> Target | BadUrl:
        """`marks` is what of the path the standard rules may change, if not all of it."""
        url = place.origin + path
        if len(url) > self._max_length:
            return BadUrl.TOO_LONG
        if place.parts is None and not is_name(place.host):
            return BadUrl.INVALID_HOST
        site = place.site
        if self._rules_are_standard and place.parts is not None and not (marks and MARKS.search(marks)):
            canonical = url
        else:
            canonical = self._canonical(url, place, path)
        queue_key = site if self._queues_are_hosts else self._queue_key(site, path)
        return Target(url, canonical, place.host, site, path, queue_key)

    def _queued(self, target: Target | BadUrl) -> Target | BadUrl:
        if isinstance(target, BadUrl):
            return target
        return replace(target, queue_key=self._queue_key(target.site, target.path))

    def _queue_key(self, site: str, path: str) -> str:
        return domain_of_site(site) if self._queue_of is None else self._queue_of(site, path)

    def _canonical(self, url: str, place: Place, path: str) -> str:
        before, mark, after = path.partition("?")
        found = UrlParts(place.scheme, place.host, place.port, before, after if mark else None)
        parts = self._canonicalize(found)
        return url if parts is found else str(parts)


def _why_not(text: str, problem: BadUrl, *, max_length: int) -> str:
    stripped = text.strip()
    shown = stripped if len(stripped) <= 100 else f"{stripped[:100]}…"
    if problem is BadUrl.INVALID_HOST:
        labels = "labels of 1 to 63 characters, 253 in all, and no *"
        return f"{shown!r} has a host name that DNS can't hold: expected {labels}"
    if problem is BadUrl.TOO_LONG:
        return f"{shown!r} has more than {max_length} characters"
    scheme, colon, rest = stripped.partition(":")
    if stripped.startswith("//"):
        stripped = stripped.lstrip("/")
        colon = ""
    if "//" not in stripped.partition("?")[0] and (not colon or "." in scheme or rest[:1].isdigit()):
        try:
            return f"{shown!r} has no scheme; write {normalize_url(f'https://{stripped}')!r}"
        except ValueError:
            return f"{shown!r} is not a URL: expected one such as https://example.org/"
    if problem is BadUrl.SCHEME:
        return f"{shown!r} can't be crawled: expected http or https, found {scheme!r}"
    return f"{shown!r} is not a URL by the WHATWG standard: expected one such as https://example.org/"


def join(base: str, href: str, /) -> str | None:
    """The absolute http or https URL of an href, as a browser reads it, fragment kept; None if there is none."""
    if found := joined(href, base_of(base)):
        place, path, _ = found
        return f"{place.origin}{path}"
    try:
        url = join_url(base, href)
    except ValueError:
        return None
    return url if url.startswith(("http://", "https://")) else None


def host_of(url: str, /) -> str:
    """Host of a serialised http or https URL, without port; IPv6 in brackets. Empty for what is no URL."""
    return split_port(_authority(url))[0] if "//" in url else ""


def origin_of(url: str, /) -> str:
    """Scheme, host and port of a serialised http or https URL, as `https://example.org:8443`."""
    return f"{url[: url.index(':')]}://{_authority(url)}"


def site_of(url: str, /) -> str:
    """The `Target.site` of a serialised http or https URL: `org,example,www:8443`."""
    return place_of(origin_of(url)).site


def path_of(url: str, /) -> str:
    """Path and query of a serialised http or https URL, from the first slash on."""
    slash = url.find("/", url.index("://") + 3)
    return url[slash:].partition("#")[0] if slash >= 0 else "/"


def _authority(url: str) -> str:
    return url.split("/", 3)[2].rpartition("@")[2]

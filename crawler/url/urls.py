"""Reads and joins URLs. Nothing outside this room looks inside a URL.

The WHATWG URL standard defines URLs, and the Ada library implements it: `join` reads an href as a browser does. A
`Target` is a URL with what a crawl needs to know: `url`, which is fetched, and `canonical`, by which the visited set
knows it. Rules change only the canonical form. The URL itself is fetched as it was found, without credentials and
fragment.
"""

import re
from collections.abc import Callable, Sequence
from enum import StrEnum
from functools import lru_cache
from typing import Final, Literal

import msgspec
from ada_url import join_url, normalize_url
from msgspec.structs import replace

from crawler.url.canonical import canonicalizer, identity_of
from crawler.url.canonical_rules import DEFAULT_RULES, MARKS
from crawler.url.components import NamedRule, UrlComponents
from crawler.url.hosts import domain_of_site, is_name, registered_domain, split_port
from crawler.url.hrefs import (
    Base,
    Origin,
    base_of,
    is_opaque,
    join_plain,
    parse_origin,
    read_plain,
)

MAX_URL_LENGTH: Final = 2083
"""The default limit, which Heritrix and old browsers share; the sitemap protocol allows 2,048 characters. Longer URLs
are traps or inlined images."""

LONGEST_URL: Final = 65_536
"""The highest limit that a crawl may set. Readers of pages know no settings: they keep a URL of up to this length, and
who judges it knows the limit of the crawl."""

_HEAD_CHARACTERS: Final = 200
"""Of an href that is too long; they show its scheme."""

QueueBy = Literal["host", "domain"]


class BadUrl(StrEnum):
    """Why an href is not a URL to crawl."""

    INVALID = "invalid-url"
    """not a URL by the WHATWG standard"""
    SCHEME = "scheme"
    """neither http nor https"""
    TOO_LONG = "too-long"
    INVALID_HOST = "invalid-host"
    """DNS can't contain the name of its host"""


class Target(msgspec.Struct, frozen=True, gc=False):
    """An http or https URL, with the components that a crawl needs."""

    url: str
    """The URL to fetch: serialised by the standard, without credentials and fragment."""
    canonical: str
    """The canonical URL, by which the visited set knows it; for comparison only."""
    host: str
    """Lower-case ASCII name, IPv4 address, or IPv6 address in brackets."""
    site: str
    """Host in SURT order, with the port if it is not the default of the scheme: `com,example,www:8080`."""
    path: str
    """Path and query, from the first slash on."""
    queue_key: str


class UrlReader:
    """Reads hrefs by one set of rules. Stateless, except for a bounded cache of host names."""

    def __init__(
        self,
        *,
        rules: Sequence[str | NamedRule] = DEFAULT_RULES,
        queue_by: QueueBy = "host",
        queue_of: Callable[[str, str], str] | None = None,
        max_length: int = MAX_URL_LENGTH,
    ) -> None:
        """`queue_of` returns the queue key for a site and a path, if queues are not by host or domain. Raises
        `ValueError` for an unknown rule or an unknown kind of queue."""
        if queue_by not in ("host", "domain"):
            raise ValueError(f"queue_by must be host or domain, not {queue_by!r}")
        self.identity = identity_of(rules)
        """Identifies the canonical form. A store with another identity does not fit."""
        self._canonicalize = canonicalizer(rules)
        self._rules_are_standard = set(rules) <= set(DEFAULT_RULES)
        self._queue_of = queue_of
        self._queues_are_hosts = queue_by == "host" and queue_of is None
        self._max_length = max_length

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
            fallback=lambda href: self._read(href, base, known),
        )
        return targets if self._queues_are_hosts else [self._set_queue(target) for target in targets]

    def _read(self, href: str, base: str, known: Base | None) -> Target | BadUrl:
        if href == "" and known is not None:
            # A mere fragment: nearly each large page has one.
            return self._at(known.origin, known.path, known.path)
        if found := join_plain(href, known):
            # Nine in ten links are plain, so they need no parser.
            origin, path, marks = found
            return self._at(origin, path, marks)
        if known is not None and is_opaque(href):
            return BadUrl.SCHEME
        head, mark, _ = href.partition("#")
        too_long = len(head) > self._max_length or (not head.isascii() and _escaped_bytes(head) > self._max_length)
        if too_long:
            # Read only enough to distinguish a long URL from an inlined image, which may have megabytes, and a host
            # beyond ASCII takes quadratic time.
            head = head[:_HEAD_CHARACTERS]
        try:
            # Keep the `#`: white space counts before it, but not at the end of an href.
            target = self._target(join_url(base, head + mark))
        except ValueError:
            return BadUrl.INVALID
        return BadUrl.TOO_LONG if too_long and target is not BadUrl.SCHEME else target

    def seed(self, text: str, /, *, called: str = "seed") -> Target:
        """Read a URL that a person wrote. Raises `ValueError`, with what to do, if it can't be crawled. `called` is the
        word for it in the message."""
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

    def canonical_of(self, url: str, /) -> str | None:
        """The canonical form of a URL that was met before; None if it can't be crawled by these rules."""
        try:
            return self.seed(url).canonical
        except ValueError:
            return None

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
        origin = parse_origin(f"{scheme}://{url[start:slash].rpartition('@')[2]}")
        return self._at(origin, path, path)

    def _at(self, origin: Origin, path: str, marks: str) -> Target | BadUrl:
        """`marks`: the part of the path that the default rules may change."""
        url = origin.text + path
        if len(url) > self._max_length:
            return BadUrl.TOO_LONG
        if origin.parts is None and not is_name(origin.host):
            return BadUrl.INVALID_HOST
        site = origin.site
        if self._rules_are_standard and origin.parts is not None and not (marks and MARKS.search(marks)):
            canonical = url
        else:
            canonical = self._canonical(url, origin, path)
        queue_key = site if self._queues_are_hosts else self._queue_key(site, path)
        return Target(url, canonical, origin.host, site, path, queue_key)

    def _set_queue(self, target: Target | BadUrl) -> Target | BadUrl:
        if isinstance(target, BadUrl):
            return target
        return replace(target, queue_key=self._queue_key(target.site, target.path))

    def _queue_key(self, site: str, path: str) -> str:
        return domain_of_site(site) if self._queue_of is None else self._queue_of(site, path)

    def _canonical(self, url: str, origin: Origin, path: str) -> str:
        before, mark, after = path.partition("?")
        found = UrlComponents(origin.scheme, origin.host, origin.port, before, after if mark else None)
        parts = self._canonicalize(found)
        return url if parts is found else str(parts)


def _escaped_bytes(href: str) -> int:
    """What the characters beyond ASCII take in a URL. In a host they take less, but a host is short."""
    return 3 * (len(href.encode("utf-8", "replace")) - len(href.encode("ascii", "ignore")))


_PASSWORD: Final = re.compile(
    r"^(?!mailto:)((?:[a-z][a-z0-9+.-]*:)?[^:@]*(?:://[^:@]*)?):(?!//).*@", re.IGNORECASE | re.DOTALL
)
"""All up to the password of a login, also in what is no URL, and the password."""


def without_password(text: str) -> str:
    """What a person wrote as a URL, to be quoted: with `:***@` for the password of its login."""
    return _PASSWORD.sub(r"\1:***@", text)


def _why_not(text: str, problem: BadUrl, *, max_length: int) -> str:
    stripped = text.strip()
    shown = without_password(stripped)
    shown = shown if len(shown) <= 100 else f"{shown[:100]}…"
    if problem is BadUrl.INVALID_HOST:
        labels = "labels of 1 to 63 characters, 253 in all, and no *"
        return f"{shown!r} has a host name that DNS can't contain: expected {labels}"
    if problem is BadUrl.TOO_LONG:
        return f"{shown!r} has more than {max_length} characters"
    scheme, colon, rest = stripped.partition(":")
    if stripped.startswith("//"):
        stripped = stripped.lstrip("/")
        colon = ""
    if stripped.startswith(("/", "./", "../", "~")):
        return f"{shown!r} is a path: expected a URL such as https://example.org/"
    if "//" not in stripped.partition("?")[0] and (not colon or "." in scheme or rest[:1].isdigit()):
        try:
            return f"{shown!r} has no scheme; write {without_password(normalize_url(f'https://{stripped}'))!r}"
        except ValueError:
            return f"{shown!r} is not a URL: expected one such as https://example.org/"
    if problem is BadUrl.SCHEME:
        return f"{shown!r} can't be crawled: expected http or https, found {scheme!r}"
    return f"{shown!r} is not a URL by the WHATWG standard: expected one such as https://example.org/"


def join(base: str, href: str, /) -> str | None:
    """The absolute http or https URL of an href, with its fragment, as a browser reads it; None if there is none."""
    if found := join_plain(href, base_of(base)):
        origin, path, _ = found
        return f"{origin.text}{path}"
    if is_opaque(href):
        return None
    try:
        url = join_url(base, href)
    except ValueError:
        return None
    return url if url.startswith(("http://", "https://")) else None


def join_beyond_web(base: str, href: str, /) -> str | None:
    """The absolute URL of an href if it is of another scheme than http and https; otherwise None."""
    try:
        url = join_url(base, href)
    except ValueError:
        return None
    return None if url.startswith(("http://", "https://")) else url


def host_of(url: str, /) -> str:
    """Host of a serialised http or https URL, without port; IPv6 in brackets. Empty if the text is not a URL."""
    return split_port(url.split("/", 3)[2].rpartition("@")[2])[0] if "//" in url else ""


def domain_of(url: str, /) -> str:
    """Registered domain of a serialised http or https URL; the host itself where it has none."""
    return registered_domain(host_of(url))


@lru_cache(maxsize=256)
def origin_of(url: str, /) -> str:
    """Scheme, host and port of a serialised http or https URL, as `https://example.org:8443`."""
    # Cached, because four steps of the crawl ask it of each page.
    scheme, _, authority, *_ = url.split("/", 3)
    return f"{scheme}//{authority.rpartition('@')[2]}"


def site_of(url: str, /) -> str:
    """The `Target.site` of a serialised http or https URL: `org,example,www:8443`."""
    return parse_origin(origin_of(url)).site


def path_of(url: str, /) -> str:
    """Path and query of a serialised http or https URL, from the first slash on."""
    slash = url.find("/", url.index("://") + 3)
    return url[slash:].partition("#")[0] if slash >= 0 else "/"

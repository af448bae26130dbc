"""URLs: read, joined and told apart. The one module that looks inside a URL.

What the web calls a URL is defined by the WHATWG URL standard, and the Ada library implements it: `join` reads an href
as a browser does. A `Target` is such a URL with what a crawl needs to know of it: `url`, which is fetched, and
`canonical`, under which the visited set knows it. The canonical form is made by an ordered list of named rules
(`RULES`), each of which removes a difference that does not lead to another page. Only the canonical form changes; the
URL is fetched as it was found, without credentials and fragment.

Hosts are written in SURT order, `com,example,www`, so that the hosts of a domain lie together. A port that is not its
scheme's own is part of it, `com,example,www:8080`; http and https of one host share one key. IP addresses stay whole.
"""

import re
from collections.abc import Callable, Sequence
from enum import StrEnum
from functools import lru_cache
from typing import Final, Literal

import msgspec
from ada_url import join_url, normalize_url
from msgspec.structs import replace
from publicsuffixlist import PublicSuffixList

RULES_VERSION: Final = 1
"""Raised when a rule changes what it does: stored canonical URLs are then of another kind."""

MAX_URL_LENGTH: Final = 2083
"""Longer URLs are refused unless configured otherwise: the limit that Heritrix and old browsers share, and about the
2,048 characters that the sitemap protocol allows. What is longer is a trap or an image inlined as data."""

QueueBy = Literal["host", "domain"]


class BadUrl(StrEnum):
    """Why an href is no URL to crawl."""

    INVALID = "invalid-url"
    """not a URL by the WHATWG standard"""
    SCHEME = "scheme"
    """neither http nor https"""
    TOO_LONG = "too-long"


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


class UrlParts(msgspec.Struct, frozen=True, gc=False):
    """What canonical rules work on: a serialised URL without credentials and fragment."""

    scheme: str
    host: str
    port: str
    """With its colon; empty if it is the scheme's own."""
    path: str
    query: str | None
    """Without its question mark; None if there is none, empty if there is only the mark."""

    def __str__(self) -> str:
        query = "" if self.query is None else f"?{self.query}"
        return f"{self.scheme}://{self.host}{self.port}{self.path}{query}"


Rule = Callable[[UrlParts], UrlParts]

_TRACKING = re.compile(
    r"(?:utm_\w+|utm|gclid|gclsrc|dclid|gbraid|wbraid|fbclid|msclkid|yclid|ysclid|twclid|ttclid|igshid|li_fat_id"
    r"|mc_cid|mc_eid|_openstat|_hsenc|_hsmi|mkt_tok|vero_id|oly_enc_id|oly_anon_id|pk_(?:campaign|kwd|source|medium)"
    r"|mtm_\w+|wickedid|s_cid|_ga|_gl)(?:=.*)?",
    re.IGNORECASE | re.DOTALL,
)
_SESSION_PARAMETER = re.compile(
    r"jsessionid(?:=.*)?|phpsessid=[0-9a-z,-]{16,}|(?:sid|sessid|sessionid|session_id|oscsid|zenid)=[0-9a-z]{26,}"
    r"|aspsessionid[a-z]{8}=[a-z]{24}|cf(?:id|token)=[0-9a-z-]+",
    re.IGNORECASE | re.DOTALL,
)
_SESSION_IN_PATH = re.compile(
    r";jsessionid=[^/?;]*|;(?:phpsessid|sid)=[0-9a-z]{16,}|/\([sS]\([0-9a-z]{24}\)\)(?=/)", re.IGNORECASE
)
_ESCAPE = re.compile("%[0-9a-fA-F]{2}")
_UNRESERVED = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
_DEFAULT_DOCUMENT = re.compile(r"/(?:index|default)\.(?:html?|xhtml|php[3-5]?|aspx?|jspx?|cgi)$", re.IGNORECASE)


def _without(parts: UrlParts, parameter: re.Pattern[str]) -> UrlParts:
    """Drop the query parameters that match the pattern as a whole; the others keep their order."""
    if not parts.query:
        return parts
    before = parts.query.split("&")
    kept = [each for each in before if not parameter.fullmatch(each)]
    if len(kept) == len(before):
        return parts
    return replace(parts, query="&".join(kept) if kept else None)


def _session_ids(parts: UrlParts) -> UrlParts:
    """`;jsessionid=…`, `PHPSESSID=…`, `sid=` and 26 characters or more, `(S(…))`, ColdFusion's and ASP's."""
    if ";" in parts.path or "(" in parts.path:
        parts = replace(parts, path=_SESSION_IN_PATH.sub("", parts.path))
    return _without(parts, _SESSION_PARAMETER)


def _tracking_parameters(parts: UrlParts) -> UrlParts:
    """`utm_source=…`, `gclid=…`, `fbclid=…` and the like: who sent the reader, not what he reads."""
    return _without(parts, _TRACKING)


def _empty_query(parts: UrlParts) -> UrlParts:
    """`/a?` is `/a`, and `?&x=1&&y=2&` is `?x=1&y=2`."""
    if parts.query is None:
        return parts
    kept = "&".join(filter(None, parts.query.split("&"))) or None
    return parts if kept == parts.query else replace(parts, query=kept)


def _normal_escape(match: re.Match[str]) -> str:
    char = chr(int(match[0][1:], 16))
    return char if char in _UNRESERVED else match[0].upper()


def _percent_encoding(parts: UrlParts) -> UrlParts:
    """`%7e` is `~` and `%c3` is `%C3` (RFC 3986, 6.2.2.1 and 6.2.2.2)."""
    if "%" in parts.path:
        parts = replace(parts, path=_ESCAPE.sub(_normal_escape, parts.path))
    if parts.query and "%" in parts.query:
        parts = replace(parts, query=_ESCAPE.sub(_normal_escape, parts.query))
    return parts


def _trailing_dot(parts: UrlParts) -> UrlParts:
    """`example.org.` is `example.org`."""
    return replace(parts, host=parts.host.rstrip(".") or parts.host) if parts.host.endswith(".") else parts


def _sort_query(parts: UrlParts) -> UrlParts:
    """`?b=1&a=2` is `?a=2&b=1`; parameters of one name keep their order."""
    if not parts.query or "&" not in parts.query:
        return parts
    return replace(parts, query="&".join(sorted(parts.query.split("&"), key=lambda each: each.partition("=")[0])))


def _strip_www(parts: UrlParts) -> UrlParts:
    """`www.example.org` and `www2.example.org` are `example.org`."""
    stripped = re.sub(r"^www\d*\.(?=[^.]+\.)", "", parts.host)
    return parts if stripped == parts.host else replace(parts, host=stripped)


def _default_document(parts: UrlParts) -> UrlParts:
    """`/a/index.html` is `/a/`."""
    return replace(parts, path=_DEFAULT_DOCUMENT.sub("/", parts.path))


def _trailing_slash(parts: UrlParts) -> UrlParts:
    """`/a/` is `/a`."""
    return replace(parts, path=parts.path.rstrip("/") or "/") if parts.path.endswith("/") else parts


def _extra_slashes(parts: UrlParts) -> UrlParts:
    """`/a//b` is `/a/b`."""
    return replace(parts, path=re.sub("/{2,}", "/", parts.path)) if "//" in parts.path else parts


def _lower_case(parts: UrlParts) -> UrlParts:
    """`/A?B=C` is `/a?b=c`: for servers that ignore case."""
    return replace(parts, path=parts.path.lower(), query=parts.query and parts.query.lower())


def _any_scheme(parts: UrlParts) -> UrlParts:
    """`http://example.org/` is `https://example.org/`."""
    return parts if parts.scheme == "https" or parts.port else replace(parts, scheme="https")


RULES: Final[dict[str, Rule]] = {
    "session-ids": _session_ids,
    "tracking-parameters": _tracking_parameters,
    "empty-query": _empty_query,
    "percent-encoding": _percent_encoding,
    "trailing-dot": _trailing_dot,
    "sort-query": _sort_query,
    "strip-www": _strip_www,
    "default-document": _default_document,
    "trailing-slash": _trailing_slash,
    "extra-slashes": _extra_slashes,
    "lower-case": _lower_case,
    "any-scheme": _any_scheme,
}
"""All canonical rules. Lower-case host, default port, dot segments, fragment and credentials are not among them: the
URL standard settles these, or the URL is never fetched with them."""

DEFAULT_RULES: Final = ("session-ids", "tracking-parameters", "empty-query", "percent-encoding", "trailing-dot")
"""Rules that hardly ever merge two pages. The others do on some sites, so they are for those who know theirs."""


_MARK: Final = re.compile(r"[?%;(]")
"""Without one of these in path or query, and a dot behind the host, the standard rules change nothing."""

_PLAIN: Final = re.compile(
    r"(?P<origin>https?://(?!(?:[a-z0-9-]*\.)*xn--)[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)*"
    r"\.[a-z]{2,}(?=/|$))?(?P<path>/(?!/)(?:[\w~!$()*,;=:@&+-]|(?<!/)\.|/(?!\.))*+(?:\?[\w~!$()*,;=:@&+./-]*)?)?",
    re.ASCII,
)
"""Hrefs that stand in the standard's form already: a plain host name or none, and a path without escapes and dot
segments."""


class UrlReader:
    """Reads hrefs by one set of rules. Stateless but for a bounded memory of host names."""

    def __init__(
        self,
        *,
        rules: Sequence[str] = DEFAULT_RULES,
        queue_by: QueueBy = "host",
        max_length: int = MAX_URL_LENGTH,
    ) -> None:
        unknown = [name for name in rules if name not in RULES]
        if unknown:
            raise ValueError(f"unknown canonical rule {unknown[0]!r}; known are {', '.join(RULES)}")
        if queue_by not in ("host", "domain"):
            raise ValueError(f"queue_by must be host or domain, not {queue_by!r}")
        self._rules = tuple(RULES[name] for name in rules)
        self._rules_need_marks = set(rules) <= set(DEFAULT_RULES)
        self._queue_by_domain = queue_by == "domain"
        self._max_length = max_length
        self.identity = f"{RULES_VERSION}:{','.join(rules)}"
        """Names the canonical form: stores that hold canonical URLs of another identity do not fit."""

    def read(self, href: str, base: str, /) -> Target | BadUrl:
        """The URL that an href in a document with that base URL means."""
        head, mark, _ = href.partition("#")
        too_long = len(head) > self._max_length
        if too_long:
            # Read only far enough to tell a long URL from an image inlined as data, which may have megabytes.
            head = head[: self._max_length]
        elif head and (plain := _PLAIN.fullmatch(head)):
            # Nine of ten links: what the standard would do to them is known, and needs no parser.
            origin = _origin(base)
            if origin is not None:
                return self._target(f"{plain['origin'] or origin}{plain['path'] or '/'}")
        try:
            # The mark stays, because white space before it counts, but not at the end of an href.
            target = self._target(join_url(base, head + mark))
        except ValueError:
            return BadUrl.INVALID
        return BadUrl.TOO_LONG if too_long and target is not BadUrl.SCHEME else target

    def seed(self, text: str, /) -> Target:
        """A URL as a person wrote it. Raises `ValueError`, with what to do, if it can't be crawled."""
        stripped = text.strip()
        if not stripped:
            raise ValueError("empty seed: expected a URL such as https://example.org/")
        try:
            target: Target | BadUrl = self._target(normalize_url(stripped))
        except ValueError:
            target = BadUrl.INVALID
        if isinstance(target, Target):
            return target
        raise ValueError(_seed_error(text, target, max_length=self._max_length))

    def _target(self, url: str) -> Target | BadUrl:
        if url.startswith("https://"):
            scheme, start = "https", 8
        elif url.startswith("http://"):
            scheme, start = "http", 7
        else:
            return BadUrl.SCHEME
        url = url.partition("#")[0]
        slash = url.index("/", start)
        authority = url[start:slash]
        path = url[slash:]
        if "@" in authority:
            authority = authority.rpartition("@")[2]
            url = f"{scheme}://{authority}{path}"
        if len(url) > self._max_length:
            return BadUrl.TOO_LONG
        host, port = split_port(authority)
        site = _site(authority)
        return Target(
            url=url,
            canonical=self._canonical(url, scheme, host, port=port, path=path),
            host=host,
            site=site,
            path=path,
            queue_key=domain_of_site(site) if self._queue_by_domain else site,
        )

    def _canonical(self, url: str, scheme: str, host: str, *, port: str, path: str) -> str:
        if self._rules_need_marks and not host.endswith(".") and _MARK.search(path) is None:
            return url
        before, mark, after = path.partition("?")
        parts = found = UrlParts(scheme, host, port, before, after if mark else None)
        for rule in self._rules:
            parts = rule(parts)
        return url if parts is found else str(parts)


def _seed_error(text: str, problem: BadUrl, *, max_length: int) -> str:
    stripped = text.strip()
    shown = stripped if len(stripped) <= 100 else f"{stripped[:100]}…"
    if problem is BadUrl.TOO_LONG:
        return f"seed {shown!r} has more than {max_length} characters"
    scheme, colon, rest = stripped.partition(":")
    if stripped.startswith("//"):
        stripped = stripped.lstrip("/")
        colon = ""
    if "//" not in stripped.partition("?")[0] and (not colon or "." in scheme or rest[:1].isdigit()):
        try:
            return f"seed {shown!r} has no scheme; write {normalize_url(f'https://{stripped}')!r}"
        except ValueError:
            return f"seed {shown!r} is not a URL: expected one such as https://example.org/"
    if problem is BadUrl.SCHEME:
        return f"seed {shown!r} can't be crawled: expected http or https, found {scheme!r}"
    return f"seed {shown!r} is not a URL by the WHATWG standard: expected one such as https://example.org/"


def split_port(authority: str, /) -> tuple[str, str]:
    """Host and port of a serialised authority; the port with its colon, or empty."""
    if ":" not in authority or authority.endswith("]"):
        return authority, ""
    host, _, port = authority.rpartition(":")
    return host, f":{port}"


def join(base: str, href: str, /) -> str | None:
    """The absolute http or https URL of an href, as a browser reads it, fragment kept; None if there is none."""
    try:
        url = join_url(base, href)
    except ValueError:
        return None
    return url if url.startswith(("http://", "https://")) else None


def host_of(url: str, /) -> str:
    """Host of a serialised http or https URL, without port; IPv6 in brackets."""
    return split_port(_authority(url))[0]


def origin_of(url: str, /) -> str:
    """Scheme, host and port of a serialised http or https URL, as `https://example.org:8443`."""
    return f"{url[: url.index(':')]}://{_authority(url)}"


def site_of(url: str, /) -> str:
    """The `Target.site` of a serialised http or https URL: `org,example,www:8443`."""
    return _site(_authority(url))


def path_of(url: str, /) -> str:
    """Path and query of a serialised http or https URL, from the first slash on."""
    slash = url.find("/", url.index("://") + 3)
    return url[slash:].partition("#")[0] if slash >= 0 else "/"


def _authority(url: str) -> str:
    return url.split("/", 3)[2].rpartition("@")[2]


def surt_host(host: str, /) -> str:
    """`www.example.org` as `org,example,www`; IP addresses stay as they are."""
    host = host.rstrip(".") or host
    if host.startswith("[") or _is_ipv4(host):
        return host
    return ",".join(reversed(host.split(".")))


def registered_domain(host: str, /) -> str:
    """The name that was registered, `example.co.uk` of `www.example.co.uk`; hosts without one are their own."""
    host = host.rstrip(".") or host
    if host.startswith("[") or _is_ipv4(host):
        return host
    return _suffixes().privatesuffix(host) or host


@lru_cache(maxsize=65_536)
def domain_of_site(site: str, /) -> str:
    """The SURT of the registered domain of a `Target.site`, port kept: `org,example:8080`."""
    host, port = split_port(site)
    if host.startswith("[") or _is_ipv4(host):
        return site
    return f"{surt_host(registered_domain('.'.join(reversed(host.split(',')))))}{port}"


@lru_cache(maxsize=1024)
def _origin(base: str) -> str | None:
    """Scheme, host and port of a base URL of http or https, by the standard; None of any other."""
    try:
        url = normalize_url(base)
    except ValueError:
        return None
    return origin_of(url) if url.startswith(("http://", "https://")) else None


def _is_ipv4(host: str) -> bool:
    # The standard serialises every host whose last label is a number as an IPv4 address.
    return host[-1:].isdigit() and host.rpartition(".")[2].isdigit()


@lru_cache(maxsize=1)
def _suffixes() -> PublicSuffixList:
    return PublicSuffixList(only_icann=False)


@lru_cache(maxsize=65_536)
def _site(authority: str) -> str:
    host, port = split_port(authority)
    return f"{surt_host(host)}{port}"

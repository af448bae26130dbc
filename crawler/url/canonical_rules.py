"""The named canonical rules, each of which removes a difference that does not lead to another page."""

import re
from functools import cache
from typing import Final

from msgspec.structs import replace

from crawler.url.components import Rule, UrlComponents

_TRACKING_NAMES: Final = (
    r"utm_\w+|gclid|gclsrc|dclid|gbraid|wbraid|fbclid|msclkid|yclid|ysclid|twclid|ttclid|igshid|li_fat_id"
    r"|mc_cid|mc_eid|_openstat|_hsenc|_hsmi|mkt_tok|vero_id|oly_enc_id|oly_anon_id|pk_(?:campaign|kwd|source|medium)"
    r"|mtm_\w+|wickedid|s_cid|_ga|_gl|gad_source|gad_campaignid|srsltid|igsh|__hstc|__hssc|__hsfp|hsctatracking"
)


@cache
def _tracking() -> re.Pattern[str]:
    return re.compile(rf"(?:{_TRACKING_NAMES})(?:=.*)?", re.IGNORECASE | re.DOTALL)


_SESSION_NAMES: Final = (
    r"[jo]?s\w*id|phpsessid|cgisessid|xtcsid|zenid|asp\.net_sessionid|aspsessionid[a-z]{8}|cfid|cftoken"
    r"|s(?==[0-9a-f]{32})"
)
"""All names that any version of the rules removes, and some more."""


@cache
def _session_parameter() -> re.Pattern[str]:
    """26 characters after `sid` or `sessionid` may be a ULID, which names a story or the session of a conference."""
    return re.compile(
        r"(?:^|(?<=[&;]))(?:jsessionid(?:=[^&;]*)?|phpsessid=[0-9a-z,-]{16,}"
        r"|(?:cgisessid|oscsid|xtcsid|zenid)=[0-9a-z]{26,}|(?:sid|sessid|sessionid|session_id)=[0-9a-z]{32,}"
        r"|(?:sessid|sessionid|session_id)=[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}"
        r"|asp\.net_sessionid=[0-9a-z]{24}|aspsessionid[a-z]{8}=[a-z]{24})(?:[&;]|$)",
        re.IGNORECASE,
    )


_COLDFUSION = re.compile(r"(?:^|(?<=[&;]))cf(id|token)=[0-9a-z-]+(?:[&;]|$)", re.IGNORECASE)
_VBULLETIN = re.compile(
    r"/(?:show(?:thread|post|groups)|forumdisplay|member(?:list)?|new(?:reply|thread)|printthread)\.php", re.IGNORECASE
)
_VBULLETIN_SESSION = re.compile(r"(?:^|(?<=[&;]))s=[0-9a-f]{32}(?:[&;]|$)", re.IGNORECASE)
_SESSION_IN_PATH = re.compile(
    r";jsessionid=[^/?;]*|;(?:phpsessid|sid)=[0-9a-z]{16,}"
    r"|/\((?:[0-9a-z]{24}|(?:[a-z]\([\w-]+\))*s\([0-9a-z]{24}\)(?:[a-z]\([\w-]+\))*)\)(?=/)",
    re.IGNORECASE | re.ASCII,
)
_ESCAPE = re.compile("(?<!%)(?<!%[0-9a-fA-F])%[0-9a-fA-F]{2}")
"""Not after a lone percent sign, where the decoded character could complete another escape: `%%34%31`."""
_ENDS_IN_NUMBER = re.compile(r"(?:^|\.)(?:[0-9]+|0x[0-9a-f]*)$")
"""Without its trailing dot, such a host would be read as an IPv4 address."""
_ANY_ESCAPE = re.compile("(%[0-9a-fA-F]{2})")
_UNRESERVED = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
_DEFAULT_DOCUMENT = re.compile(r"/(?:index|default)\.(?:html?|xhtml|php[3-5]?|aspx?|jspx?|cgi)$", re.IGNORECASE)


def without(url: UrlComponents, parameter: re.Pattern[str]) -> UrlComponents:
    """Drop the query parameters that match the whole pattern; the others keep their order."""
    if not url.query:
        return url
    before = url.query.split("&")
    kept = [each for each in before if not parameter.fullmatch(each)]
    if len(kept) == len(before):
        return url
    return replace(url, query="&".join(kept) if kept else None)


def _session_ids(url: UrlComponents) -> UrlComponents:
    """Drop `;jsessionid=…`, `PHPSESSID=…`, `sid=` and 32 characters or more, `(S(…))`, ColdFusion's and ASP's."""
    if ";" in url.path or "(" in url.path:
        url = replace(url, path=_SESSION_IN_PATH.sub("", url.path))
    if not url.query:
        return url
    kept = _session_parameter().sub("", url.query)
    if len({found[1].lower() for found in _COLDFUSION.finditer(kept)}) == 2:
        kept = _COLDFUSION.sub("", kept)
    if "s=" in kept.lower() and _VBULLETIN.search(url.path):
        kept = _VBULLETIN_SESSION.sub("", kept)
    return url if kept == url.query else replace(url, query=kept.rstrip("&;") or None)


def _tracking_parameters(url: UrlComponents) -> UrlComponents:
    """Drop `utm_source=…`, `gclid=…`, `fbclid=…` and the like, which tell where a reader came from."""
    return without(url, _tracking())


def _empty_query(url: UrlComponents) -> UrlComponents:
    """`/a?` is `/a`, and `?&x=1&&y=2&` is `?x=1&y=2`."""
    if url.query is None:
        return url
    kept = "&".join(filter(None, url.query.split("&"))) or None
    return url if kept == url.query else replace(url, query=kept)


def normal_escape(match: re.Match[str]) -> str:
    """The character of an escape that needs none; else the escape with capitals."""
    char = chr(int(match[0][1:], 16))
    return char if char in _UNRESERVED else match[0].upper()


def _percent_encoding(url: UrlComponents) -> UrlComponents:
    """`%7e` is `~` and `%c3` is `%C3` (RFC 3986, 6.2.2.1 and 6.2.2.2)."""
    if "%" in url.path:
        url = replace(url, path=_ESCAPE.sub(normal_escape, url.path))
    if url.query and "%" in url.query:
        url = replace(url, query=_ESCAPE.sub(normal_escape, url.query))
    return url


def _trailing_dot(url: UrlComponents) -> UrlComponents:
    """`example.org.` is `example.org`."""
    if not url.host.endswith("."):
        return url
    host = url.host.rstrip(".")
    return url if not host or _ENDS_IN_NUMBER.search(host) else replace(url, host=host)


def _sort_query(url: UrlComponents) -> UrlComponents:
    """`?b=1&a=2` is `?a=2&b=1`; parameters of one name keep their order."""
    if not url.query or "&" not in url.query:
        return url
    return replace(url, query="&".join(sorted(url.query.split("&"), key=lambda each: each.partition("=")[0])))


def _strip_www(url: UrlComponents) -> UrlComponents:
    """`www.example.org` and `www2.example.org` are `example.org`."""
    stripped = re.sub(r"^www\d*\.(?=[^.]+\.)", "", url.host)
    return url if stripped == url.host else replace(url, host=stripped)


def _default_document(url: UrlComponents) -> UrlComponents:
    """`/a/index.html` is `/a/`."""
    return replace(url, path=_DEFAULT_DOCUMENT.sub("/", url.path))


def _trailing_slash(url: UrlComponents) -> UrlComponents:
    """`/a/` is `/a`."""
    return replace(url, path=url.path.rstrip("/") or "/") if url.path.endswith("/") else url


def _extra_slashes(url: UrlComponents) -> UrlComponents:
    """`/a//b` is `/a/b`."""
    return replace(url, path=re.sub("/{2,}", "/", url.path)) if "//" in url.path else url


def _lower_case(url: UrlComponents) -> UrlComponents:
    """`/A?B=C` is `/a?b=c`, for servers that ignore case."""
    return replace(url, path=_lower(url.path), query=url.query and _lower(url.query))


def _lower(text: str) -> str:
    """Lower case, except for escapes, whose normal form has upper case."""
    if "%" not in text:
        return text.lower()
    pieces = _ANY_ESCAPE.split(text)
    pieces[::2] = map(str.lower, pieces[::2])
    pieces[1::2] = map(str.upper, pieces[1::2])
    return "".join(pieces)


def _any_scheme(url: UrlComponents) -> UrlComponents:
    """`http://example.org/` is `https://example.org/`."""
    return url if url.scheme == "https" or url.port else replace(url, scheme="https")


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
"""All canonical rules. There are none for the case of the host, the default port, dot segments, fragment and
credentials: the URL standard normalises these, or we never send them."""

DEFAULT_RULES: Final = ("session-ids", "tracking-parameters", "empty-query", "percent-encoding", "trailing-dot")
"""Rules that hardly ever merge two pages. The others do on some sites, so a user must know his site to choose them."""

MARKS: Final = re.compile(
    rf"[?&;(%](?:(?<=[?&;])(?i:{_SESSION_NAMES})(?=[=&;]|$)|(?<=[?&])(?:(?i:{_TRACKING_NAMES}|utm)(?=[=&]|$)|(?=&|$))"
    r"|(?<=;)[jpsJPS]|(?<=\()(?:[a-zA-Z]\(|[0-9a-zA-Z]{24}\))"
    r"|(?<=%)(?:[0-9A-Fa-f][a-f]|[a-f][0-9A-F]|2[DE]|3[0-9]|4[1-9A-F]|5[0-9AF]|6[1-9A-F]|7[0-9AE]))"
)
"""The default rules of any version change a URL only if its path or query contains one of these, or its host ends with
a dot."""

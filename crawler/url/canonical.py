"""The form under which the visited set knows a URL.

It is made by rules, each of which removes a difference that does not lead to another page: named ones (`RULES`), and
the user's own, `PATTERN => REPLACEMENT`, for what only he knows of a site. `urls` reads URLs and takes them apart;
nothing else looks inside.

Named rules run until none changes anything, so their order makes no difference, and a canonical URL is its own
canonical form. This ends, as rules only shorten, sort, or choose one of two ways to write the same. Rules of the user's
own run once, behind these, in their order.
"""

import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Final

import msgspec
import re2
from ada_url import normalize_url
from msgspec.structs import replace

RULES_VERSION: Final = 3
"""Raised when a rule changes what it does: stored canonical URLs are then of another kind. What the rules did before
stands in a module of its own, as crawls that were begun with them go on with them."""


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

_URL = re.compile(r"(https?)://([^/?#:\[\]]+|\[[0-9a-f:.]+\])(:[0-9]+)?(/[^?#]*)(?:\?([^#]*))?", re.ASCII)


def parts_of(url: str) -> UrlParts | None:
    """A URL taken apart again; None if it is none of the form in which `UrlParts` are written."""
    found = _URL.fullmatch(url)
    if found is None:
        return None
    return UrlParts(found[1], found[2], found[3] or "", found[4], found[5])


_TRACKING_NAMES: Final = (
    r"utm_\w+|gclid|gclsrc|dclid|gbraid|wbraid|fbclid|msclkid|yclid|ysclid|twclid|ttclid|igshid|li_fat_id"
    r"|mc_cid|mc_eid|_openstat|_hsenc|_hsmi|mkt_tok|vero_id|oly_enc_id|oly_anon_id|pk_(?:campaign|kwd|source|medium)"
    r"|mtm_\w+|wickedid|s_cid|_ga|_gl|gad_source|gad_campaignid|srsltid|igsh|__hstc|__hssc|__hsfp|hsctatracking"
)
_TRACKING = re.compile(rf"(?:{_TRACKING_NAMES})(?:=.*)?", re.IGNORECASE | re.DOTALL)
_SESSION_NAMES: Final = (
    r"[jo]?s\w*id|phpsessid|cgisessid|xtcsid|zenid|asp\.net_sessionid|aspsessionid[a-z]{8}|cfid|cftoken"
    r"|s(?==[0-9a-f]{32})"
)
"""These and some more, also those that only earlier versions removed."""
_SESSION_PARAMETER = re.compile(
    r"(?:^|(?<=[&;]))(?:jsessionid(?:=[^&;]*)?|phpsessid=[0-9a-z,-]{16,}"
    r"|(?:cgisessid|oscsid|xtcsid|zenid)=[0-9a-z]{26,}|(?:sid|sessid|sessionid|session_id)=[0-9a-z]{32,}"
    r"|(?:sessid|sessionid|session_id)=[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}"
    r"|asp\.net_sessionid=[0-9a-z]{24}|aspsessionid[a-z]{8}=[a-z]{24})(?:[&;]|$)",
    re.IGNORECASE,
)
"""26 characters behind `sid` or `sessionid` may be a ULID, which names a story or the session of a conference."""
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
"""Behind a lone percent sign, what an escape means could make another escape: `%%34%31`."""
_ENDS_IN_NUMBER = re.compile(r"(?:^|\.)(?:[0-9]+|0x[0-9a-f]*)$")
"""Such a host without the dots would be read as an IPv4 address."""
_ANY_ESCAPE = re.compile("(%[0-9a-fA-F]{2})")
UNRESERVED = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
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
    """`;jsessionid=…`, `PHPSESSID=…`, `sid=` and 32 characters or more, `(S(…))`, ColdFusion's and ASP's."""
    if ";" in parts.path or "(" in parts.path:
        parts = replace(parts, path=_SESSION_IN_PATH.sub("", parts.path))
    if not parts.query:
        return parts
    kept = _SESSION_PARAMETER.sub("", parts.query)
    if len({found[1].lower() for found in _COLDFUSION.finditer(kept)}) == 2:
        kept = _COLDFUSION.sub("", kept)
    if "s=" in kept.lower() and _VBULLETIN.search(parts.path):
        kept = _VBULLETIN_SESSION.sub("", kept)
    return parts if kept == parts.query else replace(parts, query=kept.rstrip("&;") or None)


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
    return char if char in UNRESERVED else match[0].upper()


def _percent_encoding(parts: UrlParts) -> UrlParts:
    """`%7e` is `~` and `%c3` is `%C3` (RFC 3986, 6.2.2.1 and 6.2.2.2)."""
    if "%" in parts.path:
        parts = replace(parts, path=_ESCAPE.sub(_normal_escape, parts.path))
    if parts.query and "%" in parts.query:
        parts = replace(parts, query=_ESCAPE.sub(_normal_escape, parts.query))
    return parts


def _trailing_dot(parts: UrlParts) -> UrlParts:
    """`example.org.` is `example.org`."""
    if not parts.host.endswith("."):
        return parts
    host = parts.host.rstrip(".")
    return parts if not host or _ENDS_IN_NUMBER.search(host) else replace(parts, host=host)


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
    return replace(parts, path=_lower(parts.path), query=parts.query and _lower(parts.query))


def _lower(text: str) -> str:
    """In lower case, but for escapes, which normally have upper case."""
    if "%" not in text:
        return text.lower()
    pieces = _ANY_ESCAPE.split(text)
    pieces[::2] = map(str.lower, pieces[::2])
    pieces[1::2] = map(str.upper, pieces[1::2])
    return "".join(pieces)


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

MARKS: Final = re.compile(
    rf"[?&;(%](?:(?<=[?&;])(?i:{_SESSION_NAMES})(?=[=&;]|$)|(?<=[?&])(?:(?i:{_TRACKING_NAMES}|utm)(?=[=&]|$)|(?=&|$))"
    r"|(?<=;)[jpsJPS]|(?<=\()(?:[a-zA-Z]\(|[0-9a-zA-Z]{24}\))"
    r"|(?<=%)(?:[0-9A-Fa-f][a-f]|[a-f][0-9A-F]|2[DE]|3[0-9]|4[1-9A-F]|5[0-9AF]|6[1-9A-F]|7[0-9AE]))"
)
"""Without one of these in path or query, and a dot behind the host, no version's standard rules change anything."""

_ARROW: Final = " => "
_REFERENCE = re.compile(r"\\(\\|[0-9])?")
_PATTERN_MEMORY_BYTES: Final = 8 << 20


def rule_of(text: str, /) -> Rule:
    """A named rule, or one of the user's: `PATTERN => REPLACEMENT`. Raises `ValueError`, with what is wrong."""
    if _ARROW in text:
        return _substitution(*text.split(_ARROW, 1))
    if text not in RULES:
        raise ValueError(
            f"unknown canonical rule {text!r}; known are {', '.join(RULES)}, and 'PATTERN{_ARROW}REPLACEMENT'"
        )
    return RULES[text]


def canonicalizer(rules: Sequence[str], /) -> Rule:
    """What makes the canonical form by these rules. Raises `ValueError` for one that can't be."""
    named = [RULES[name] for name in RULES if name in rules]
    own = [rule_of(rule) for rule in rules if rule not in RULES]

    def canonical(parts: UrlParts) -> UrlParts:
        changed = bool(named)
        while changed:
            before = parts
            for rule in named:
                parts = rule(parts)
            if changed := parts != before:
                parts = _without_dot_segments(parts)
        for rule in own:
            parts = rule(parts)
        return parts

    return canonical


def identity_of(rules: Sequence[str], /) -> str:
    """Names the rules: those with the same name make the same forms."""
    names = [name for name in RULES if name in rules] + [rule for rule in rules if rule not in RULES]
    return f"{RULES_VERSION}:{','.join(names)}"


def _without_dot_segments(parts: UrlParts) -> UrlParts:
    """As a parser would read it, where a session id had stood between a slash and dots."""
    if "/." not in parts.path:
        return parts
    with suppress(ValueError):
        return parts_of(normalize_url(str(parts))) or parts
    return parts


def _substitution(pattern: str, replacement: str) -> Rule:
    """Wherever the pattern is found in the URL, as the rules before have left it, the replacement takes its place. What
    makes no URL of it changes nothing."""
    options = re2.Options()
    options.log_errors = False
    options.max_mem = _PATTERN_MEMORY_BYTES
    try:
        compiled = re2.compile(pattern, options=options)
    except re2.error as error:
        reason = error.args[0].decode() if isinstance(error.args[0], bytes) else error.args[0]
        raise ValueError(
            f"{pattern!r} is not a pattern that RE2 can search for ({reason}); "
            "look-around and back-references are not available"
        ) from None
    for reference in _REFERENCE.finditer(replacement):
        if reference[1] is None or (reference[1] != "\\" and int(reference[1]) > compiled.groups):
            raise ValueError(
                f"replacement {replacement!r} has {reference[0]!r}: expected \\0 for what was found, \\1 to "
                f"\\{compiled.groups} for groups of the pattern, or two backslashes for one"
            )

    def substituted(parts: UrlParts) -> UrlParts:
        url = str(parts)
        made = compiled.sub(
            lambda found: _REFERENCE.sub(
                lambda reference: "\\" if reference[1] == "\\" else found[int(reference[1])] or "", replacement
            ),
            url,
        )
        return parts if made == url else parts_of(made) or parts

    return substituted

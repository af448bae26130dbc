"""The canonical rules of version 2, for the crawls that were begun with them: a directory keeps its rules.

They ran once each, in the order in which they were named. What `canonical` does now as it was done then is taken from
there.
"""

import re
from collections.abc import Sequence
from typing import Final

from msgspec.structs import replace

from crawler.url.canonical import (
    RULES,
    UNRESERVED,
    Rule,
    UrlParts,
    rule_of,
)

VERSION: Final = 2

_TRACKING = re.compile(
    r"(?:utm_\w+|utm|gclid|gclsrc|dclid|gbraid|wbraid|fbclid|msclkid|yclid|ysclid|twclid|ttclid|igshid|li_fat_id"
    r"|mc_cid|mc_eid|_openstat|_hsenc|_hsmi|mkt_tok|vero_id|oly_enc_id|oly_anon_id|pk_(?:campaign|kwd|source|medium)"
    r"|mtm_\w+|wickedid|s_cid|_ga|_gl)(?:=.*)?",
    re.IGNORECASE | re.DOTALL,
)
_SESSION_PARAMETER = re.compile(
    r"(?:^|(?<=[&;]))(?:jsessionid(?:=[^&;]*)?|phpsessid=[0-9a-z,-]{16,}"
    r"|(?:sid|sessid|sessionid|session_id|cgisessid|oscsid|xtcsid|zenid)=[0-9a-z]{26,}|s=[0-9a-f]{32}"
    r"|asp\.net_sessionid=[0-9a-z]{24}|aspsessionid[a-z]{8}=[a-z]{24}|cf(?:id|token)=[0-9a-z-]+)(?:[&;]|$)",
    re.IGNORECASE,
)
_SESSION_IN_PATH = re.compile(
    r";jsessionid=[^/?;]*|;(?:phpsessid|sid)=[0-9a-z]{16,}"
    r"|/\((?:[0-9a-z]{24}|(?:[a-z]\([\w-]+\))*s\([0-9a-z]{24}\)(?:[a-z]\([\w-]+\))*)\)(?=/)",
    re.IGNORECASE | re.ASCII,
)
_ESCAPE = re.compile("%[0-9a-fA-F]{2}")


def _session_ids(parts: UrlParts) -> UrlParts:
    if ";" in parts.path or "(" in parts.path:
        parts = replace(parts, path=_SESSION_IN_PATH.sub("", parts.path))
    if not parts.query or (kept := _SESSION_PARAMETER.sub("", parts.query)) == parts.query:
        return parts
    return replace(parts, query=kept.rstrip("&;") or None)


def _tracking_parameters(parts: UrlParts) -> UrlParts:
    if not parts.query:
        return parts
    before = parts.query.split("&")
    kept = [each for each in before if not _TRACKING.fullmatch(each)]
    return parts if len(kept) == len(before) else replace(parts, query="&".join(kept) if kept else None)


def _percent_encoding(parts: UrlParts) -> UrlParts:
    if "%" in parts.path:
        parts = replace(parts, path=_ESCAPE.sub(_normal_escape, parts.path))
    if parts.query and "%" in parts.query:
        parts = replace(parts, query=_ESCAPE.sub(_normal_escape, parts.query))
    return parts


def _normal_escape(match: re.Match[str]) -> str:
    char = chr(int(match[0][1:], 16))
    return char if char in UNRESERVED else match[0].upper()


def _trailing_dot(parts: UrlParts) -> UrlParts:
    return replace(parts, host=parts.host.rstrip(".") or parts.host) if parts.host.endswith(".") else parts


def _lower_case(parts: UrlParts) -> UrlParts:
    return replace(parts, path=parts.path.lower(), query=parts.query and parts.query.lower())


_RULES: Final = {
    **RULES,
    "session-ids": _session_ids,
    "tracking-parameters": _tracking_parameters,
    "percent-encoding": _percent_encoding,
    "trailing-dot": _trailing_dot,
    "lower-case": _lower_case,
}


def canonicalizer(rules: Sequence[str], /) -> Rule:
    """See `canonical.canonicalizer`."""
    each = [_RULES[rule] if rule in _RULES else rule_of(rule) for rule in rules]

    def canonical(parts: UrlParts) -> UrlParts:
        for rule in each:
            parts = rule(parts)
        return parts

    return canonical


def identity_of(rules: Sequence[str], /) -> str:
    """See `canonical.identity_of`."""
    return f"{VERSION}:{','.join(rules)}"

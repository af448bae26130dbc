"""The canonical rules of version 2, for crawls that began with them: a crawl directory keeps its rules.

Each rule ran once, in the configured order. Rules that have not changed come from `canonical_rules`.
"""

import re
from collections.abc import Sequence
from typing import Final

from msgspec.structs import replace

from crawler.url.canonical import rule_of
from crawler.url.canonical_rules import RULES, normal_escape, without
from crawler.url.components import NamedRule, Rule, UrlComponents

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


def _session_ids(url: UrlComponents) -> UrlComponents:
    if ";" in url.path or "(" in url.path:
        url = replace(url, path=_SESSION_IN_PATH.sub("", url.path))
    if not url.query or (kept := _SESSION_PARAMETER.sub("", url.query)) == url.query:
        return url
    return replace(url, query=kept.rstrip("&;") or None)


def _tracking_parameters(url: UrlComponents) -> UrlComponents:
    return without(url, _TRACKING)


def _percent_encoding(url: UrlComponents) -> UrlComponents:
    if "%" in url.path:
        url = replace(url, path=_ESCAPE.sub(normal_escape, url.path))
    if url.query and "%" in url.query:
        url = replace(url, query=_ESCAPE.sub(normal_escape, url.query))
    return url


def _trailing_dot(url: UrlComponents) -> UrlComponents:
    return replace(url, host=url.host.rstrip(".") or url.host) if url.host.endswith(".") else url


def _lower_case(url: UrlComponents) -> UrlComponents:
    return replace(url, path=url.path.lower(), query=url.query and url.query.lower())


_RULES: Final = {
    **RULES,
    "session-ids": _session_ids,
    "tracking-parameters": _tracking_parameters,
    "percent-encoding": _percent_encoding,
    "trailing-dot": _trailing_dot,
    "lower-case": _lower_case,
}


def canonicalizer(rules: Sequence[str | NamedRule], /) -> Rule:
    """See `canonical.canonicalizer`."""
    each = [_RULES[rule] if isinstance(rule, str) and rule in _RULES else rule_of(rule) for rule in rules]

    def canonical(url: UrlComponents) -> UrlComponents:
        for rule in each:
            url = rule(url)
        return url

    return canonical

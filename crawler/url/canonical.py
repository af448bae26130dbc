"""Makes canonical URLs, by which the visited set knows pages.

Each rule removes a difference that does not lead to another page. Rules have names (`canonical_rules`), or are the
user's own, `PATTERN => REPLACEMENT`, for what only he knows about a site, or those of other packages (`NamedRule`).

Named rules run until none changes anything, so their order does not matter, and a canonical URL is its own canonical
form. This ends, since rules only shorten, sort, or choose one of two spellings. All others run once, after the named
ones, in their order.
"""

import re
from collections.abc import Sequence
from contextlib import suppress
from typing import Final

from ada_url import normalize_url

from crawler.url.canonical_rules import RULES
from crawler.url.components import NamedRule, Rule, UrlComponents, split_url
from crawler.url.patterns import compile_pattern

RULES_VERSION: Final = 3
"""Raised when the effect of a rule changes, since stored canonical URLs then no longer fit."""

_ARROW: Final = " => "
_REFERENCE = re.compile(r"\\(\\|[0-9])?")
_PATTERN_MEMORY_BYTES: Final = 8 << 20


def rule_of(text: str | NamedRule, /) -> Rule:
    """A rule by its name, or a user's own: `PATTERN => REPLACEMENT`. Raises `ValueError`, with what is wrong."""
    if isinstance(text, NamedRule):
        return text.apply
    if _ARROW in text:
        return _substitution(*text.split(_ARROW, 1))
    if text not in RULES:
        raise ValueError(
            f"unknown canonical rule {text!r}; known are {', '.join(RULES)}, and 'PATTERN{_ARROW}REPLACEMENT'"
        )
    return RULES[text]


def canonicalizer(rules: Sequence[str | NamedRule], /) -> Rule:
    """A function that makes the canonical form by these rules. Raises `ValueError` for an invalid rule."""
    named = [RULES[name] for name in RULES if name in rules]
    own = [rule_of(rule) for rule in rules if rule not in RULES]

    def canonical(url: UrlComponents) -> UrlComponents:
        changed = bool(named)
        while changed:
            before = url
            for rule in named:
                url = rule(url)
            if changed := url != before:
                url = _without_dot_segments(url)
        for rule in own:
            url = rule(url)
        return url

    return canonical


def identity_of(rules: Sequence[str | NamedRule], /) -> str:
    """Identifies the rules: rules with the same identity make the same canonical URLs."""
    names = [name for name in RULES if name in rules] + [str(rule) for rule in rules if rule not in RULES]
    return f"{RULES_VERSION}:{','.join(names)}"


def _without_dot_segments(url: UrlComponents) -> UrlComponents:
    """Resolve dot segments, which appear when a rule removes a session id between a slash and dots."""
    if "/." not in url.path and "/%2" not in url.path:  # `/%2e` is a dot segment, too
        return url
    with suppress(ValueError):
        return split_url(normalize_url(str(url))) or url
    return url


def _substitution(pattern: str, replacement: str) -> Rule:
    """A rule that replaces each match of the pattern in the URL. It does nothing if the result is not a URL."""
    problem = f"{pattern!r} is not a pattern that RE2 can search for"
    compiled = compile_pattern(pattern, problem, max_bytes=_PATTERN_MEMORY_BYTES)
    for reference in _REFERENCE.finditer(replacement):
        if reference[1] is None or (reference[1] != "\\" and int(reference[1]) > compiled.groups):
            raise ValueError(
                f"replacement {replacement!r} has {reference[0]!r}: expected \\0 for the match, \\1 to "
                f"\\{compiled.groups} for groups of the pattern, or two backslashes for one"
            )

    def substitute(url: UrlComponents) -> UrlComponents:
        text = str(url)
        result = compiled.sub(
            lambda found: _REFERENCE.sub(
                lambda reference: "\\" if reference[1] == "\\" else found[int(reference[1])] or "", replacement
            ),
            text,
        )
        return url if result == text else split_url(result) or url

    return substitute

"""Finds links in style sheets: `url(…)`, `@import "…"` and `image-set("…" 1x, "…" 2x)`.

It scans the tokens of CSS Syntax (https://www.w3.org/TR/css-syntax-3/), skips comments and strings that are no links,
and resolves escapes.
"""

import re
from collections.abc import Iterator
from functools import cache
from typing import Final


@cache
def _token() -> re.Pattern[str]:
    return re.compile(
        # All alternatives begin with one set of rare characters, without flags, so the scanner jumps from one to the
        # next. No part can match in two ways, so it never backtracks. Possessive repeats would say so, but are wrong
        # before Python 3.11.5.
        r"""[(/@"'\\](?:"""
        r"""(?P<function>(?<=[uU][rR][lL]\()(?<![\w-]....)|(?<=[sS][rR][cC]\()(?<![\w-]....))[\t\n\f\r ]*"""
        r"""(?:(?P<bare>(?![\t\n\f\r "'()])[^\\\t\n\f\r "'()]*"""
        r"""(?:\\(?:[0-9a-fA-F]{1,6}[\t\n\f\r ]|.)[^\\\t\n\f\r "'()]*)*)[\t\n\f\r ]*(?:\)|\Z)"""
        r"""|(?![\t\n\f\r "'])[^\\)]*(?:\\(?:.|\n)[^\\)]*)*)?"""
        r"""|(?P<set>(?<=[iI][mM][aA][gG][eE]-[sS][eE][tT]\())"""
        r"""|(?<=/)\*(?:[^*]*\*+(?:[^*/][^*]*\*+)*/|[^*]*(?:\*(?!/)[^*]*)*)"""
        r"""|(?<=@)(?:(?P<import>(?ai:import)(?![\w\\-]))|(?ai:namespace)(?![\w\\-])[^;{}]*)"""
        # An escape in a name. The escaped character begins no string, comment or function.
        r"""|(?<=\\)."""
        r"""|(?<=")(?P<double>[^"\\\n]*(?:\\(?:.|\n)[^"\\\n]*)*)"?"""
        r"""|(?<=')(?P<single>[^'\\\n]*(?:\\(?:.|\n)[^'\\\n]*)*)'?)"""
    )


_LINK: Final = re.compile(r"[uUsS@](?:[rR][lLcC]\(|[iI][mM][pP]|[eE][tT]\()")
_END_OF_DECLARATION: Final = re.compile("[;{}]")
_WHITE_SPACE: Final = "\t\n\f\r "
_ESCAPED_LETTER: Final = re.compile(r"\\(?:0{0,4}[4-7][0-9a-fA-F](?![0-9a-fA-F])|[g-zG-Z])")
_ESCAPE: Final = re.compile(r"\\(?:([0-9a-fA-F]{1,6})[\t\n\f\r ]?|\n|(.))", re.DOTALL)


def css_urls(text: str, /) -> Iterator[str]:
    """URLs in document order, as written, with escapes resolved."""
    if _ESCAPED_LETTER.search(text) is not None:
        text = _ESCAPE.sub(_unescape_in_name, text)
    if _LINK.search(text) is None:
        return
    expected_at = -1
    last = 0
    in_set = False
    for token in _token().finditer(text):
        gap = text[last : token.start()] if in_set else ""
        last = token.end()
        in_set = in_set and _END_OF_DECLARATION.search(gap) is None
        if token["bare"] is not None:
            yield from _clean(token["bare"])
        elif token["function"] is not None or token["import"] or token["set"] is not None:
            expected_at = token.end()
            in_set = in_set or token["set"] is not None
        else:
            string = token["double"] if token["double"] is not None else token["single"]
            if string is not None and (
                (expected_at >= 0 and not text[expected_at : token.start()].strip(_WHITE_SPACE))
                # The other strings within a set are media types, each alone in its brackets.
                or (in_set and gap.rstrip(_WHITE_SPACE).endswith(","))
            ):
                yield from _clean(string)
            expected_at = token.end() if string is None and expected_at == token.start() else -1


def _clean(raw: str) -> Iterator[str]:
    url = _ESCAPE.sub(_unescape, raw).strip() if "\\" in raw else raw.strip()
    # Of CSS, `#here` is always in the document itself, whatever its base.
    if url and url[0] != "#":
        yield url


def _unescape_in_name(match: re.Match[str]) -> str:
    r"""A letter, as in `\75rl(…)`; or else the escape, which no letter behind it can extend."""
    character = _unescape(match)
    if character.isascii() and character.isalpha():
        return character
    # White space behind it would end the name that it is in.
    return f"\\{match[1]:0>6}" if match[1] and match[0][-1] not in _WHITE_SPACE else match[0]


def _unescape(match: re.Match[str]) -> str:
    if match[1]:
        number = int(match[1], 16)
        return chr(number) if 0 < number < 0x110000 and not 0xD800 <= number < 0xE000 else "\ufffd"
    return match[2] or ""

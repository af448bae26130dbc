"""Counts the markup of a page without a parser: upper bounds for its tree.

`_markup`, compiled C, counts in one pass. This module does the same with regular expressions, for installations without
compiled code; its bounds are wider.

We count an element as closed only if that is certain: it contains nothing but text, or nothing but text and such
elements. Its tags must also be unambiguous in any context: attributes follow white space, values contain no `<` or `>`,
and quotes stand behind `=` only. All other elements count as open until the end.
"""

import re
from functools import cache, lru_cache
from typing import Final

import msgspec

try:
    from crawler.read.elements import _markup as compiled
except ImportError:
    IS_COMPILED = False  # the extension is optional
else:
    IS_COMPILED = getattr(compiled, "VERSION", 0) == 1  # False if it was compiled from older code

_MOST_PASSES: Final = 64
_TIMES_READ: Final = 4
"""How many times over the page may be read to count the attributes of tags that begin within other tags."""


class Survey(msgspec.Struct, frozen=True, gc=False):
    """The counts of a page."""

    tags: int
    """Start tags, end tags, comments, and everything else that begins with `<`."""
    elements: int
    """Upper bound for the elements open at once."""
    formatting: int
    """Upper bound for the formatting elements open at once, without <a>."""
    formatting_ends: int
    """End tags of formatting elements that may close something other than the tag before them."""
    roots: int
    """<html> and <body> tags that may have attributes."""
    is_laden: bool
    """Whether a tag has more attributes than the limit, or so many tags begin within others that counting takes too
    long. Everything that some parser may take for a tag counts."""


ATTRIBUTE: Final = (
    rb"""[\t\n\f\r /]*+[^\t\n\f\r />][^\t\n\f\r />=]*+"""
    rb"""(?>(?:[\t\n\f\r ]*+=[\t\n\f\r ]*+(?:"[^"]*+"|'[^']*+'|(?!["'])[^\t\n\f\r >]*+))?)"""
)
"""One attribute, by the tokenizer of the standard. It uses atomic groups, because possessive repeats of groups match
wrongly before Python 3.11.5."""
_UNCLOSED_ATTRIBUTE: Final = (
    rb"""[\t\n\f\r /]*+[^\t\n\f\r />][^\t\n\f\r />=]*+"""
    rb"""(?>(?:[\t\n\f\r ]*+=[\t\n\f\r ]*+(?:"[^"]*+"?|'[^']*+'?|[^\t\n\f\r >]*+))?)"""
)
"""The same, but the document may end within it."""
_FORMATTING_NAME: Final = (
    rb"(?:[bBiIsSuU]|[bB][iI][gG]|[cC][oO][dD][eE]|[eE][mM]|[fF][oO][nN][tT]|[nN][oO][bB][rR]|[sS][mM][aA][lL][lL]"
    rb"|[sS][tT][rR][iI][kK][eE]|[sS][tT][rR][oO][nN][gG]|[tT][tT])"
)
"""Spelled in both cases, because the flag for case would make it three times slower."""
_FORMATTING: Final = rb"<%b[\t\n\f\r />]" % _FORMATTING_NAME
_WHOLE_FORMATTING: Final = rb"<(%b[\t\n\f\r />](?>(?:%b)*))" % (_FORMATTING_NAME, ATTRIBUTE)
_FORMATTING_END: Final = rb"</(?:[aA]|%b)[\t\n\f\r />]" % _FORMATTING_NAME
_BEGINNING: Final = rb"<(?=[a-zA-Z])"
_ROOT: Final = rb"<(?:[bB][oO][dD][yY]|[hH][tT][mM][lL])[\t\n\f\r /]"
_CLOSED: Final = (
    rb"<([a-zA-Z][a-zA-Z0-9]*+)(?>(?:[\t\n\f\r ]++[^\t\n\f\r \"'<>=/\0]++"
    rb"(?>(?:=\"[^\"<>\0]*+\"|='[^'<>\0]*+'|=[^\t\n\f\r \"'<>=`\0]++)?))*)[\t\n\f\r ]*+>[^<]*+</\1>"
)
_INSTEAD: Final = b"\0"
"""Replaces a closed element, so that the text on its two sides does not join to a tag."""


@cache
def _pattern(text: bytes) -> re.Pattern[bytes]:
    """Few pages need one of these. To compile all takes 1 % of a crawl of one page."""
    return re.compile(text)


def survey(html: bytes, /, *, most_attributes: int) -> Survey:
    """Count the markup. A tag with more than `most_attributes` is laden."""
    if IS_COMPILED:
        return Survey(*compiled.survey(html, most_attributes))
    return survey_by_patterns(html, most_attributes=most_attributes)


def survey_by_patterns(html: bytes, /, *, most_attributes: int) -> Survey:
    """`survey` without compiled code."""
    rest, elements, formatting = html, 0, 0
    starts, closed = _pattern(_FORMATTING), _pattern(_CLOSED)
    formatting_left = len(starts.findall(rest))
    for _ in range(_MOST_PASSES):
        rest, found = closed.subn(_INSTEAD, rest)
        if not found:
            break
        # Elements open at once lie within one another, so each pass finds one of them.
        elements += 1
        before, formatting_left = formatting_left, len(starts.findall(rest))
        formatting += formatting_left < before
    return Survey(
        tags=html.count(b"<"),
        elements=elements + rest.count(b"<") - rest.count(b"</"),
        formatting=formatting + formatting_left,
        formatting_ends=len(_pattern(_FORMATTING_END).findall(rest)),
        roots=len(_pattern(_ROOT).findall(html)),
        is_laden=_is_laden(html, most_attributes),
    )


def _is_laden(html: bytes, most_attributes: int) -> bool:
    pattern = _attributes(most_attributes)
    budget_bytes = _TIMES_READ * len(html)
    for beginning in _pattern(_BEGINNING).finditer(html):
        start = beginning.end()
        found = pattern.match(html, start)
        assert found is not None
        budget_bytes -= found.end() - start
        if found[1] is not None or budget_bytes < 0:
            return True
    return False


@lru_cache
def _attributes(most: int) -> re.Pattern[bytes]:
    """Matches a tag after its `<`: `most` attributes, and perhaps one more, which is the group."""
    return re.compile(
        rb"[^\t\n\f\r />]*+(?>(?:%b){0,%d})(%b)?[\t\n\f\r /]*+" % (_UNCLOSED_ATTRIBUTE, most, _UNCLOSED_ATTRIBUTE)
    )


def kinds_of_formatting(html: bytes, /) -> int:
    """How many formatting elements differ in name or attributes."""
    return len(set(_pattern(_WHOLE_FORMATTING).findall(html)))

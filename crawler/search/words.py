"""What a person types into a search, and how words are told apart. Pure.

A query has words, all of which a page must have:

    red shoes            both words
    "red shoes"          one after the other
    shoe*                words that begin so
    red OR blue          one of them; binds more strongly than the space
    -red                 pages without it
    title:shoes          in the title; path:shoes in the path of the URL
    site:example.org     pages of a host and those below it

Letters count without case and accents, as FTS5 (https://sqlite.org/fts5.html) compares them with `unicode61`.
"""

import re
from contextlib import suppress
from ipaddress import IPv6Address
from typing import Final

import msgspec

from crawler.search.letters import as_compared, spellings
from crawler.url.hosts import in_ascii

TOKENIZER: Final = "unicode61 remove_diacritics 2 categories 'L* N* Co Mn Mc'"
"""Vowel signs (Mn, Mc) are parts of a word, without which few words of Hindi or Tamil could be told apart."""
MOST_WORDS: Final = 100
_TERM: Final = re.compile(
    r'(?P<minus>-?)(?:(?P<field>title|path|site):)?(?:"(?P<phrase>[^"]*)"?(?P<more>\*?)|(?P<word>\S*))'
)
_HOST: Final = re.compile(r"[a-z0-9_.-]+")
_NO_TEXT: Final = re.compile("[\0\ud800-\udfff]")
"""What neither SQLite nor JSON takes; the shell gives bytes that are no UTF-8 as lone surrogates."""
_UNSPACED: Final = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"  # Thai, Lao, Burmese, Khmer
    "\u3040-\u30ff\u31f0-\u31ff"  # Hiragana, Katakana
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"  # Han
    "\uac00-\ud7af"  # Hangul: particles follow a word without a space
)
_HAS_UNSPACED: Final = re.compile(f"[{_UNSPACED}]")
_BETWEEN: Final = re.compile(rf"(?<=\w)(?=[{_UNSPACED}])|(?<=[{_UNSPACED}])(?=\w)")
BREAK: Final = "\u200b"
"""ZERO WIDTH SPACE: FTS5 takes it for a space, and people don't see it."""


class BadQuery(ValueError):
    """A query that names nothing to look for."""


class Query(msgspec.Struct, frozen=True):
    """What to look for."""

    match: str
    """An expression of FTS5."""
    any_of: str
    """One for a text that has at least one of the words."""
    hosts: tuple[str, ...]
    """Pages of one of these hosts, or of one below it. Without any, those of all."""
    hosts_without: tuple[str, ...]


def separated(text: str) -> str:
    """A text in which each letter of a script without spaces is a word. So any part of a sentence is found, as a phrase
    of such letters."""
    text = as_compared(text)
    return _BETWEEN.sub(BREAK, text) if _HAS_UNSPACED.search(text) else text


def read_query(text: str) -> Query:
    """Raises `BadQuery`."""
    if _NO_TEXT.search(text):
        raise BadQuery(f"expected words in UTF-8, without the character NUL; found {text!a}")
    groups: list[list[str]] = []
    without: list[str] = []
    hosts: list[str] = []
    hosts_without: list[str] = []
    joins = False
    for term in _TERM.finditer(text):
        if term[0] in ("AND", "OR"):
            joins = term[0] == "OR" and bool(groups)
            continue
        if term["field"] == "site":
            (hosts_without if term["minus"] else hosts).append(_host(term["word"] or term["phrase"] or ""))
            continue
        expression = _expression(term)
        if expression is None:
            continue
        if term["minus"]:
            without.append(expression)
        elif joins:
            groups[-1].append(expression)
        else:
            groups.append([expression])
        joins = False
    if not groups:
        raise BadQuery(f"expected a word to look for, such as: red shoes; found {text!r}")
    if (words := sum(map(len, (*groups, without, hosts, hosts_without)))) > MOST_WORDS:
        raise BadQuery(f"expected up to {MOST_WORDS} words, found {words}")
    any_of = " OR ".join(each for group in groups for each in group)
    match = " AND ".join(f"({' OR '.join(group)})" for group in groups)
    if without:
        match = f"({match}) NOT ({' OR '.join(without)})"
    return Query(match, any_of, tuple(hosts), tuple(hosts_without))


def _expression(term: re.Match[str]) -> str | None:
    """None for one without letters and digits: no page has it as a word."""
    phrase, word = term["phrase"], term["word"]
    is_beginning = bool(term["more"]) if word is None else word.endswith("*")
    words = phrase if word is None else word
    if words is None or not any(map(str.isalnum, words)):
        return None
    ways = ('"{}"'.format(separated(each).replace('"', " ")) for each in spellings(words))
    any_of = " OR ".join(f"{each} *" if is_beginning else each for each in ways)
    return f"({any_of})" if term["field"] is None else f"{term['field']} : ({any_of})"


def _host(text: str) -> str:
    """A host as URLs have it: in lower case, those with other letters in Punycode."""
    with suppress(ValueError):
        return IPv6Address(text.removeprefix("[").removesuffix("]")).compressed
    host = in_ascii(text.strip(".").lower())
    if not _HOST.fullmatch(host):
        raise BadQuery(f"expected a host without a port behind site:, such as site:example.org; found {text!r}")
    return host

"""Weighs links by the guide words of a crawl. Pure.

The worth of a text grows with each guide word in it, counted once: with weights w1, w2, … it is 1 - (1-w1)(1-w2)… The
weight of a link combines three texts by the same formula, each multiplied by its credit: its anchor text (1), its URL
(0.8), and the page around it (0.5). The worth of a page is that of its title and its description or first sentences,
but at least half the weight of the link that led to it; so a page off the subject may lie between two pages on it. The
weight decides precedence: the heaviest links are fetched first, wherever they were found.
"""

import re
from collections.abc import Mapping
from functools import cache
from typing import Final
from urllib.parse import unquote

URL_CREDIT: Final = 0.8
PAGE_CREDIT: Final = 0.5
INHERITED: Final = 0.5
WORST_PRECEDENCE: Final = 255
_BEST: Final = 1
"""Seeds have 0."""


@cache
def _unspaced() -> re.Pattern[str]:
    """Scripts without spaces between words, or with endings attached to them: Thai, Lao, Burmese, Khmer, Chinese,
    Japanese, Korean."""
    return re.compile(
        "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\ua4cf\uac00-\ud7af\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff]"
    )


class Focus:
    """Guide words and their weights. Without words, every weight is 0."""

    def __init__(self, words: Mapping[str, float], *, min_weight: float = 0.0) -> None:
        """`words`: words or phrases, in any case, with weights above 0 and up to 1. Raises `ValueError` for another
        weight or an empty word."""
        self.min_weight = min_weight
        """Links of less weight are not followed."""
        weight_of: dict[str, float] = {}
        for word, weight in words.items():
            key = " ".join(word.casefold().split())
            if not key or not 0 < weight <= 1:
                raise ValueError(f"guide word {word!r} has weight {weight!r}: expected a word, and above 0 and up to 1")
            weight_of[key] = max(weight, weight_of.get(key, 0.0))
        # Longest first, so that a phrase wins over a guide word within it. Each is a group.
        keys = sorted(weight_of, key=len, reverse=True)
        self._weights = [weight_of[key] for key in keys]
        self._found = re.compile("|".join(map(_group, keys))).finditer if keys else None

    def __bool__(self) -> bool:
        return self._found is not None

    def of_text(self, text: str, /) -> float:
        """The worth of a text, 0..1."""
        if self._found is None or not text:
            return 0.0
        numbers = {match.lastindex or 0 for match in self._found(text.casefold())}
        return 1.0 - _doubt(*(self._weights[number - 1] for number in numbers))

    def of_page(self, text: str, weight: float, /) -> float:
        """The worth of a page with that text, to which a link of that weight led."""
        return max(self.of_text(text), INHERITED * weight)

    def of_link(self, anchor: str, url: str, page: float, /) -> float:
        """The weight of a link on a page whose worth is `page`."""
        by_url = self.of_text(unquote(url) if "%" in url else url)
        return round(1.0 - _doubt(self.of_text(anchor), URL_CREDIT * by_url, PAGE_CREDIT * page), 4)


def _group(key: str) -> str:
    """A pattern for a word or phrase; it matches whole words only, if its script separates words."""
    before = "" if _unspaced().match(key[0]) else r"(?<![^\W_])"
    behind = "" if _unspaced().match(key[-1]) else r"(?![^\W_])"
    words = r"[\W_]+".join(map(re.escape, key.split()))
    return f"({before}{words}{behind})"


def precedence_of(weight: float, /) -> int:
    """The precedence of a link of that weight: 1 for weight 1, 255 for weight 0."""
    return WORST_PRECEDENCE - round(weight * (WORST_PRECEDENCE - _BEST))


def _doubt(*weights: float) -> float:
    doubt = 1.0
    for weight in weights:
        doubt *= 1.0 - weight
    return doubt

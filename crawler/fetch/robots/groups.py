"""Reads the groups of a robots.txt: what it says to which crawlers. How it is read: `crawler.fetch.robots.rules`."""

import math
import re
from collections.abc import Collection, Iterator
from functools import lru_cache
from typing import Final

from crawler.fetch.robots.patterns import PathRules
from crawler.preferences.signals import CONTENT_SIGNAL, CONTENT_USAGE

_MAX_LINE_CHARACTERS: Final = 8 * 2083 - 1
"""The rest of a longer line is ignored."""
_LINE_END = re.compile("\r\n|\r|\n")
_NAME = re.compile("[A-Za-z_-]*")
_NUMBER = re.compile(r"[0-9]+(?:\.[0-9]*)?|\.[0-9]+")
_GAP = re.compile(r"[ \t]+")
_WHITE_SPACE: Final = " \t\v\f"
"""Other characters, such as the no-break space, belong to the key or value."""

_KEYS: Final = (
    ("user-agent", "user-agent"),
    ("useragent", "user-agent"),
    ("user agent", "user-agent"),
    ("allow", "allow"),
    *((spelling, "disallow") for spelling in "disallow dissallow dissalow disalow diasllow disallaw".split()),
    ("sitemap", "sitemap"),
    ("site-map", "sitemap"),
    ("crawl-delay", "crawl-delay"),
    ("crawl delay", "crawl-delay"),
    *((name, name) for name in (CONTENT_USAGE.name, CONTENT_SIGNAL.name)),
)
_IS_NO_RULE: Final = re.compile(r"[ \t\v\f]*[usc]", re.IGNORECASE).match
"""Whether the key of a line begins as those do that are neither Allow nor Disallow."""
_RULES: Final = frozenset({"allow", "disallow"})


class Group:
    """What all groups of one name say."""

    def __init__(self) -> None:
        self.allowed: dict[str, None] = {}
        """The values of Allow, each once, but for empty ones."""
        self.disallowed: dict[str, None] = {}
        self.crawl_delay_s: float | None = None
        self.usage: dict[str, list[str]] = {}
        """The values of each usage preference, by its name."""

    def rules(self) -> PathRules:
        return PathRules(allowed=self.allowed, disallowed=self.disallowed)

    @property
    def forbids_all(self) -> bool:
        """Whether it disallows every path."""
        return not self.allowed and any(each.rstrip("*") in ("", "/") for each in self.disallowed)


class Groups:
    """The groups of one robots.txt that concern one crawler."""

    def __init__(self, text: str, /, *, agent: str, purposes: Collection[str]) -> None:
        """`agent`: the product token. `purposes`: names that stand for a purpose, in lower case."""
        self.sitemaps: dict[str, None] = {}
        """As written, each once."""
        self.of_purposes: dict[str, Group] = {}
        self._agent = agent.lower()
        self._purposes = purposes
        self._own = Group()
        self._everybodys = Group()
        self._is_named = False
        self._ignores_rules = False
        """Whether the next Allow or Disallow says nothing new: one for other crawlers has been read."""
        for_rules: set[Group] = set()
        """Those to which an Allow or Disallow belongs: of all names since the last rules."""
        above: set[Group] | None = None
        """Those to which another line belongs: of the names directly above it. None before the first name."""
        has_rules = names_follow = False
        for key, value in self._directives(text):
            if key == "user-agent":
                self._ignores_rules = False
                if has_rules:
                    for_rules, has_rules = set(), False
                if above is None or not names_follow:
                    above, names_follow = set(), True
                named = self._find_groups(value)
                for_rules |= named
                above |= named
            elif key == "sitemap":
                if url := value.strip():
                    self.sitemaps[url] = None
            elif key in _RULES:
                # Rules for other crawlers end the list of names too.
                has_rules, names_follow = True, False
                self._ignores_rules = not for_rules
                if value:
                    for group in for_rules:
                        (group.allowed if key == "allow" else group.disallowed)[value] = None
            else:
                names_follow = False
                if key != "crawl-delay":
                    for group in (self._own, self._everybodys) if above is None else above:
                        group.usage.setdefault(key, []).append(value)
                elif above and (delay_s := _delay(value)) is not None:
                    for group in above:
                        group.crawl_delay_s = delay_s

    @property
    def ours(self) -> Group:
        """What holds for this crawler."""
        return self._own if self._is_named else self._everybodys

    def _find_groups(self, value: str) -> set[Group]:
        """The groups that a name belongs to."""
        if value == "*" or (value.startswith("*") and value[1].isspace()):
            return {self._everybodys}
        match = _NAME.match(value)
        name = match[0].lower() if match else ""
        named = set()
        if name == self._agent:
            self._is_named = True
            named.add(self._own)
        if name in self._purposes:
            named.add(self.of_purposes.setdefault(name, Group()))
        return named

    def _directives(self, text: str) -> Iterator[tuple[str, str]]:
        """The known keys, by their standard names, with their values."""
        for line in _LINE_END.split(text):
            if self._ignores_rules and not _IS_NO_RULE(line):
                continue
            content = line[:_MAX_LINE_CHARACTERS].partition("#")[0].partition("\0")[0].strip(_WHITE_SPACE)
            key, colon, value = content.partition(":")
            if not colon:
                words = _GAP.split(content)
                if len(words) != 2:
                    continue
                key, value = words
            if (name := _name_of(key)) is not None:
                yield name, value.strip(_WHITE_SPACE)


@lru_cache(maxsize=64)
def _name_of(key: str) -> str | None:
    """The standard name of a key; None if it is unknown."""
    key = key.strip(_WHITE_SPACE).lower()
    return next((name for spelling, name in _KEYS if key.startswith(spelling)), None)


def _delay(value: str) -> float | None:
    """The number at the start of the value: some write `10s`, or a comment after it."""
    match = _NUMBER.match(value)
    delay_s = float(match[0]) if match else math.inf
    return delay_s if math.isfinite(delay_s) else None

"""What a robots.txt says about the use of pages, by their paths."""

from collections.abc import Sequence
from typing import Final

from crawler.fetch.robots.patterns import PathRules, Pattern, PatternIndex, decode, read_pattern
from crawler.page import Preference
from crawler.preferences.judging import MAX_PREFERENCES
from crawler.preferences.signals import ROBOTS_GROUP
from crawler.preferences.values import in_order, read_value

SOURCE: Final = "robots.txt"
_EVERYWHERE: Final = "/"
_VALUE_BYTES: Final = 140
"""What a preference takes, with its part of a list."""


class UsageRules:
    """The rules of one signal for one crawler, such as Content-Usage: draft-ietf-aipref-attach, section 3.

    The longest matching path decides, as for Allow and Disallow. All rules of that path count.
    """

    def __init__(self, signal: str, values: Sequence[str], /) -> None:
        """`values`: of all lines, each a preference, or a path and a preference."""
        self._signal = signal
        self._values: dict[Pattern, list[str]] = {}
        for value in dict.fromkeys(values):
            path, preference = _EVERYWHERE, value
            if value.startswith("/"):
                path, *rest = value.split(maxsplit=1)
                preference = "".join(rest)
            said = self._values.setdefault(read_pattern(path), [])
            if len(said) < MAX_PREFERENCES:
                said.append(preference)
        self._index = PatternIndex(self._values)
        self.size_bytes = self._index.size_bytes + sum(_VALUE_BYTES * len(said) for said in self._values.values())

    def of(self, path: str, /) -> list[Preference]:
        """What they say about a path with its query."""
        found: list[Preference] = []
        longest = 0
        path = decode(path)
        for pattern in self._index.matching(path):
            if pattern.length < longest:
                break
            longest = pattern.length
            found += [read_value(self._signal, SOURCE, value) for value in self._values[pattern]]
        return found


class GroupRules:
    """The Allow and Disallow of a group whose name stands for a purpose instead of a crawler."""

    def __init__(self, name: str, rules: PathRules, *, refuses: Sequence[str]) -> None:
        self._preference = Preference(ROBOTS_GROUP.name, SOURCE, name, in_order(refuses))
        self._rules = rules
        self.size_bytes = rules.size_bytes

    def of(self, path: str, /) -> list[Preference]:
        """What the group says about a path with its query: nothing, if it allows it."""
        return [] if self._rules.allows(path) else [self._preference]

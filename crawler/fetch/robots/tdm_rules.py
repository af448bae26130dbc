"""Reads `tdmrep.json`, in which an origin says for which of its pages it reserves the rights of text and data mining.

Source: https://www.w3.org/community/reports/tdmrep/CG-FINAL-tdmrep-20240510/, section "TDM File on the Origin Server".
"""

from collections.abc import Sequence
from typing import Final

import msgspec

from crawler.fetch.robots.occurrences import searchable
from crawler.fetch.robots.patterns import Pattern, decode, read_pattern
from crawler.page import Preference
from crawler.preferences.signals import TDM_POLICY, TDM_RESERVATION
from crawler.preferences.values import read_value

SOURCE: Final = "tdmrep.json"
MAX_TDM_BYTES: Final = 100 * 1024
"""A longer file is not read."""
_MAX_RULES: Final = 1000
_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"


class TdmRule(msgspec.Struct, frozen=True):
    """One rule of the file. The first whose location matches a path decides."""

    location: str
    reservation: int = msgspec.field(name="tdm-reservation")
    policy: str | None = msgspec.field(name="tdm-policy", default=None)


_DECODER: Final = msgspec.json.Decoder(list[msgspec.Raw])
_RULES: Final = msgspec.json.Decoder(TdmRule)


def read_tdm_rules(body: bytes, /) -> list[TdmRule]:
    """The rules of a file. What is not a rule is left out. Never raises."""
    try:
        entries = _DECODER.decode(body.removeprefix(_BYTE_ORDER_MARK))
    except (ValueError, RecursionError):
        return []
    rules = []
    for entry in entries[:_MAX_RULES]:
        try:
            rules.append(_RULES.decode(entry))
        except (ValueError, RecursionError):
            continue
    return rules


class TdmRules:
    """The rules of one file, ready to be asked."""

    def __init__(self, rules: Sequence[TdmRule]) -> None:
        self._rules: list[tuple[Pattern, TdmRule]] = [
            (read_pattern(rule.location), rule) for rule in rules if rule.location
        ]
        self._characters = sum(pattern.length for pattern, _ in self._rules)

    def of(self, path: str, /) -> list[Preference]:
        """What the file says about a path with its query."""
        path = decode(path)
        find = searchable(path, characters=self._characters).find
        rule = next((rule for pattern, rule in self._rules if pattern.matches(path, find)), None)
        if rule is None:
            return []
        found = [read_value(TDM_RESERVATION.name, SOURCE, str(rule.reservation))]
        return found if rule.policy is None else [*found, read_value(TDM_POLICY.name, SOURCE, rule.policy)]

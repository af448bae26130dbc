"""What visited sets cost for a number of URLs, by the formulas."""

from collections.abc import Iterable

import msgspec

from visited import sizing
from visited.descriptor import Descriptor


class Option(msgspec.Struct, frozen=True, kw_only=True):
    """What a backend would cost for a number of URLs."""

    backend: str
    memory_bytes: int
    disk_bytes: int
    false_positive_rate: float
    """After all URLs were added."""
    expected_lost: float
    """New URLs that it loses until then without verification."""


def options(count: int, error_rate: float, *, among: Iterable[Descriptor]) -> list[Option]:
    """Compute what each set would cost for `count` URLs at the rate. Sets without a formula for their cost are left
    out."""
    sizing.check(count, error_rate)
    found = (_option(each, count, error_rate) for each in among)
    return [option for option in found if option is not None]


def _option(each: Descriptor, count: int, error_rate: float) -> Option | None:
    if each.cost is None:
        return None
    cost = each.cost(count, error_rate, each.options())
    return Option(
        backend=each.name,
        memory_bytes=int(cost.memory_bytes),
        disk_bytes=int(cost.disk_bytes),
        false_positive_rate=cost.false_positive_rate,
        expected_lost=cost.expected_lost,
    )

"""How long samples are kept, and at which distance; which of them are shown. Pure."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final, TypeVar

import msgspec

_Value = TypeVar("_Value")


class Tier(msgspec.Struct, frozen=True, kw_only=True):
    """Samples at a distance of `step_s`, the last of each such span of time; `slots` of them."""

    step_s: int
    slots: int

    @property
    def span_s(self) -> int:
        return self.step_s * self.slots

    def slot(self, moment: float) -> int:
        """Where a sample lies. After `span_s` its place is taken by another."""
        return int(moment // self.step_s) % self.slots


TIERS: Final = (
    Tier(step_s=5, slots=720),  # an hour
    Tier(step_s=60, slots=1440),  # a day
    Tier(step_s=900, slots=8640),  # 90 days
)
PART_TIERS: Final = TIERS[:2]


def tiers_back_to(tiers: Iterable[Tier], begin: float, now: float) -> Iterator[int]:
    """The tiers with samples since `begin`, by number. A coarse tier has nothing to tell where a fine one reaches."""
    for number, tier in enumerate(tiers):
        yield number
        if now - tier.span_s <= begin:
            return


class Window(msgspec.Struct, frozen=True, kw_only=True):
    """A span of time that is shown by so many points at most."""

    begin: float
    end: float
    points: int

    @property
    def step_s(self) -> float:
        return (self.end - self.begin) / self.points


def thin(samples: Mapping[float, _Value], window: Window) -> list[tuple[float, _Value]]:
    """The last sample of each step of the window, by time. Counts lose nothing by this: a later one includes those
    before."""
    chosen: dict[int, float] = {}
    for moment in samples:
        if window.begin <= moment <= window.end:
            step = min(int((moment - window.begin) / window.step_s), window.points - 1) if window.step_s else 0
            chosen[step] = max(moment, chosen.get(step, moment))
    return [(chosen[step], samples[chosen[step]]) for step in sorted(chosen)]


def is_gap(before: float, after: float, window: Window, now: float, tiers: Iterable[Tier]) -> bool:
    """Whether samples are missing between two that follow each other in the window."""
    listed = list(tiers)
    kept = next((tier for tier in listed if now - before < tier.span_s), listed[-1])
    return after - before > 3 * max(kept.step_s, window.step_s)

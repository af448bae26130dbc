"""What all parts of a crawl must agree on, also while it changes. Pure."""

from collections.abc import Collection, Mapping

import msgspec


class Difference(msgspec.Struct, frozen=True):
    """Two parts have different values of something."""

    name: str
    own: str | None
    found: str | None
    passes: bool = False
    """Whether it passes by itself."""


class Agreement:
    """A part's values, by name.

    A change reaches the parts one after another. So from when it is proposed, a part accepts others with either values;
    and when it has adopted the new ones, others may still have the old ones, until the next change is proposed.
    """

    def __init__(self, values: Mapping[str, str], *, passing: Collection[str] = ()) -> None:
        """Differences of what is named in `passing` pass by themselves: a part that has missed a change gets it."""
        self.values = values
        self._passing = passing
        self._other: Mapping[str, str] | None = None

    def propose(self, values: Mapping[str, str]) -> None:
        """Other parts may adopt these values from now on."""
        self._other = values

    def adopt(self) -> None:
        """Change to the values that were proposed."""
        if self._other is not None:
            self.values, self._other = self._other, self.values

    def drop(self) -> None:
        """Nobody adopts the values that were proposed."""
        self._other = None

    def difference(self, found: Mapping[str, str]) -> Difference | None:
        """In what another part differs that can't work together with this one; None if it can."""
        if found == self._other:
            return None
        for name in sorted({*self.values, *found}):
            if self.values.get(name) != found.get(name):
                return Difference(name, self.values.get(name), found.get(name), name in self._passing)
        return None

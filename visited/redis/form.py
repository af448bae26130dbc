"""How URLs lie in Redis: what `redis_set` asks of a form."""

from collections.abc import Callable, Generator, Mapping, Sequence
from typing import Any, Final, Protocol

import msgspec

from visited.redis.server import Step

GONE: Final = -1
"""What a script returns if the set is not there, or is another one."""

Upkeep = Generator[Step, Any, None]
"""Calls of scripts, one after the other. Each gets the answer of the one before."""


Probe = tuple[Step, Callable[[Any], None]]
"""Asks a server whether it has what a form needs; and takes the answer, and raises `Unavailable` if it has not."""


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """Where a set lies: its keys are `{tag}:…`, and `head` is the key of what is known of the set as a whole."""

    tag: str

    @property
    def head(self) -> str:
        return f"{self.tag}:set"

    def key(self, name: str) -> str:
        return f"{self.tag}:{name}"


class Form(Protocol):
    """How URLs lie in Redis. A script for URLs gets the head of the set as its first key and the set's id as its first
    argument. It returns `GONE` if the id is another one, a layout other than the one it was called for, or the fields
    of an `Answer`."""

    @property
    def name(self) -> str: ...

    def probe(self) -> Probe | None:
        """What to ask the server before the set is joined; None if any server has what the form needs."""
        ...

    def first_layout(self) -> Mapping[str, str | int]:
        """The fields of the head of an empty set."""
        ...

    def adopt(self, head: Mapping[str, str]) -> None:
        """Take the layout from the head of the set."""
        ...

    def change(self, layout: Any) -> None:
        """Take the layout that a script has returned."""
        ...

    def add(self, urls: Sequence[str], set_id: str) -> Step: ...

    def fill(self, urls: Sequence[str], set_id: str) -> Step:
        """Add URLs that must be known from now on, also if the set takes them for known already."""
        ...

    def upkeep(self, told: Sequence[Any], set_id: str) -> Upkeep:
        """What is to be done after an answer, before URLs are asked again that it left undecided. `told` is what the
        answer has told beside the verdicts; nothing if it tells no more."""
        ...

    def ask(self, urls: Sequence[str], set_id: str) -> Step:
        """Ask whether URLs are known, without remembering them."""
        ...

    def forget(self, urls: Sequence[str], set_id: str) -> Step:
        """Raises `CannotForget`."""
        ...

    def sample(self, urls: Sequence[str], count: int) -> tuple[Sequence[str], float]:
        """Some keys of a set of `count` URLs, `urls` among them, and how many times as much all keys take."""
        ...

    def accuracy(self, count: int) -> "Accuracy":
        """How far a set of `count` URLs can be relied on."""
        ...


class Accuracy(msgspec.Struct, frozen=True, kw_only=True):
    """How far a set can be relied on."""

    rate: float
    """The probability that a new URL is called known."""
    lost: float
    """New URLs that were probably called known."""
    fill: float | None = None
    """Share of bits set."""
    details: Mapping[str, float | int | str] = {}


def nothing_to_ask() -> None:
    """The probe of a form that has none."""


def nothing_to_do(_told: Sequence[Any], _set_id: str) -> Upkeep:
    """The upkeep of a form that has none."""
    yield from ()


class Answer(msgspec.Struct, frozen=True):
    """What a script answers about URLs."""

    verdicts: bytes
    """A digit for each: whether the set has changed for it, or of `ask`, whether it is known. 2 for one that is
    undecided until the `upkeep` is done."""
    count: int
    """URLs in the set afterwards."""
    told: Sequence[Any] = ()
    """What the form tells its upkeep."""


def answer_of(found: Any) -> Answer | None:
    """What a script returned, as an answer; None if it is a layout."""
    if isinstance(found, list) and len(found) > 1 and isinstance(found[0], bytes):
        return Answer(found[0], int(found[1]), found[2:])
    return None

"""The kinds of backends, and where the descriptors of ours are."""

from collections.abc import Callable, Mapping
from typing import Any, Final, get_args

import msgspec

from frontier import StoreFailed, StoreRefused
from frontier.backends import BACKENDS as FRONTIERS
from frontier.descriptor import Descriptor as FrontierDescriptor
from frontier.descriptor import Need as FrontierNeed
from visited import DiskFull, Unavailable
from visited.backends import BACKENDS, PEERS
from visited.descriptor import CommonOptions, Need
from visited.descriptor import Descriptor as VisitedDescriptor


class Kind(msgspec.Struct, frozen=True, kw_only=True):
    """One kind of backends."""

    name: str
    """In entry points: `onceover.NAME`."""
    noun: str
    """For people."""
    ours: Mapping[str, str]
    """The places of our descriptors by name."""
    descriptor: type[msgspec.Struct]
    methods: tuple[str, ...]
    """What a component of this kind must have."""
    adopt: Callable[[str, Callable[..., Any]], msgspec.Struct]
    """The descriptor for a class or a function without one, with this name."""
    raises: tuple[type[Exception], ...] = ()
    """What a maker may raise, in addition to errors of a full disk and of a lack of memory."""
    needs: frozenset[str] = frozenset()
    """What they may need."""
    common: tuple[type[msgspec.Struct], ...] = ()
    """Options that all of them have."""

    @property
    def group(self) -> str:
        """The group of its entry points."""
        return f"onceover.{self.name}"


def _adopt_set(name: str, make: Callable[..., Any]) -> VisitedDescriptor:
    return VisitedDescriptor(name=name, make=lambda parameters, _: make(parameters))


VISITED: Final = Kind(
    name="visited",
    noun="visited set",
    ours={**BACKENDS, **PEERS},
    descriptor=VisitedDescriptor,
    methods=("add_many", "forget_many", "has_many", "describe", "dump", "load", "__len__", "aclose"),
    adopt=_adopt_set,
    raises=(DiskFull, Unavailable),
    needs=frozenset(get_args(Need)),
    common=(CommonOptions,),
)


def _adopt_frontier(name: str, make: Callable[..., Any]) -> FrontierDescriptor:
    return FrontierDescriptor(name=name, make=lambda parameters, _: make(parameters))


FRONTIER: Final = Kind(
    name="frontier",
    noun="frontier",
    ours=FRONTIERS,
    descriptor=FrontierDescriptor,
    methods=("knows_many", "describe", "restore", "open_frontier", "close"),
    adopt=_adopt_frontier,
    raises=(StoreFailed, StoreRefused),
    needs=frozenset(get_args(FrontierNeed)),
)
KINDS: Final = {kind.name: kind for kind in (VISITED, FRONTIER)}

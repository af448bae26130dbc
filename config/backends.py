"""What the configuration knows of backends: their names, options and needs.

It knows the visited sets and frontiers of this project by their descriptors. The caller of `load` may know more: other
kinds of backends, and those of other packages.
"""

from collections.abc import Iterable, Sequence
from typing import Any, Protocol, Self

import msgspec

from frontier.backends import BACKENDS as FRONTIERS
from frontier.backends import descriptor as frontier_descriptor
from visited.backends import BACKENDS, PEERS, REMOTE, descriptor
from visited.descriptor import CommonOptions


class Backend(msgspec.Struct, frozen=True, kw_only=True):
    """What a configuration must fulfil for a backend."""

    options: tuple[type[msgspec.Struct], ...] = ()
    """Their fields are its options."""
    needs: frozenset[str] = frozenset()
    is_persistent: bool = True
    """Whether a crawl can resume from this frontier."""
    can_be_part: bool = True
    """Whether a part of a crawl can use this frontier."""
    min_free_bytes: int = 0
    """The free space that this frontier needs to go on after the disk was full."""

    @classmethod
    def of(cls, descriptor: Any, *common: type[msgspec.Struct]) -> Self:
        """The backend of that descriptor, which has the `common` options of its kind, too."""
        facts = {name: getattr(descriptor, name) for name in cls.__struct_fields__ if hasattr(descriptor, name)}
        facts["options"] = (descriptor.options, *common)
        return cls(**facts)


class Backends(Protocol):
    """The backends that a configuration may name. The `kind` is the one that a setting of the schema names."""

    def plugins(self, kind: str, /) -> Sequence[str]:
        """The names of the plug-ins: backends that other packages have registered."""
        ...

    def is_plugin(self, kind: str, name: str, /) -> bool:
        """Whether a plug-in has that name or path. Raises ValueError if it can't be used, or if two backends have that
        name."""
        ...

    def find(self, kind: str, name: str, /) -> Backend:
        """The backend of that name, ours or a plug-in; one without options and needs if there is none."""
        ...

    def all(self, kind: str, /) -> Iterable[Backend]:
        """Ours, and the plug-ins that can be used. This imports them."""
        ...


class OwnBackends:
    """The backends of this project."""

    def plugins(self, _kind: str, /) -> Sequence[str]:
        return ()

    def is_plugin(self, _kind: str, _name: str, /) -> bool:
        return False

    def all(self, kind: str, /) -> Iterable[Backend]:
        return [
            self.find(kind, name) for name in {"visited": (*BACKENDS, *REMOTE), "frontier": FRONTIERS}.get(kind, ())
        ]

    def find(self, kind: str, name: str, /) -> Backend:
        """This imports the backend."""
        if kind == "visited" and name in (*BACKENDS, *REMOTE, *PEERS):
            return Backend.of(descriptor(name), CommonOptions)
        if kind == "frontier" and name in FRONTIERS:
            return Backend.of(frontier_descriptor(name))
        return Backend()

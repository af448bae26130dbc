"""Finds backends by their names or paths."""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from config import Backend
from crawler.wiring.plugins.kinds import KINDS, Kind
from crawler.wiring.plugins.loading import NamedBackend, PluginRefused, load
from crawler.wiring.plugins.packages import package_of_module, registrations

_PATH = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_][\w.]*")
_FRONTIER_FACTS = ("is_persistent", "min_free_bytes")


def find(kind: Kind, name: str) -> NamedBackend:
    """The backend of that name or path. Raises KeyError if there is none, and `PluginRefused` if there are several."""
    if _PATH.fullmatch(name):
        return NamedBackend(kind=kind, name=name, place=name, package=package_of_module(name.partition(":")[0]))
    found = [
        NamedBackend(kind=kind, name=name, place=each.place, package=each.package)
        for each in registrations(kind.group, name)
    ]
    if name in kind.ours:
        found.insert(0, NamedBackend(kind=kind, name=name, place=kind.ours[name], package=None, is_ours=True))
    if len(found) > 1:
        places = " and ".join(f'"{each.place}" of {"onceover" if each.is_ours else each.package}' for each in found)
        raise PluginRefused(f'"{name}" is the name of {len(found)} {kind.noun}s: name the path of one, {places}')
    if not found:
        raise KeyError(name)
    return found[0]


def find_all(kind: Kind) -> Iterator[NamedBackend]:
    """Ours, and what other packages have registered, clashing names included."""
    for name, place in kind.ours.items():
        yield NamedBackend(kind=kind, name=name, place=place, package=None, is_ours=True)
    for each in registrations(kind.group):
        yield NamedBackend(kind=kind, name=each.name, place=each.place, package=each.package)


def descriptor(kind: Kind, name: str) -> Any:
    """The descriptor of the backend of that name or path. Raises KeyError and `PluginRefused`."""
    return load(find(kind, name))


class Catalog:
    """What a configuration may name; `config.Backends`."""

    def others(self, kind: str, /) -> Sequence[str]:
        return [each.name for each in registrations(KINDS[kind].group)]

    def is_other(self, kind: str, name: str, /) -> bool:
        try:
            found = find(KINDS[kind], name)
        except KeyError:
            return False
        if not found.is_ours:
            load(found)
        return not found.is_ours

    def find(self, kind: str, name: str, /) -> Backend:
        try:
            found = load(find(KINDS[kind], name))
        except KeyError:
            return Backend()
        return _facts(KINDS[kind], found)

    def all(self, kind: str, /) -> Iterable[Backend]:
        for each in find_all(KINDS[kind]):
            try:
                yield _facts(KINDS[kind], load(each))
            except PluginRefused:
                continue


def _facts(kind: Kind, descriptor: Any) -> Backend:
    facts = {name: getattr(descriptor, name) for name in _FRONTIER_FACTS if hasattr(descriptor, name)}
    return Backend(
        options=(descriptor.options, *kind.common), needs=frozenset(getattr(descriptor, "needs", ())), **facts
    )

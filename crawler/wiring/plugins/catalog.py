"""Finds backends by their names or paths."""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from config import Backend
from crawler.wiring.plugins.kinds import KINDS, Kind
from crawler.wiring.plugins.loading import NamedBackend, PluginRefused, load
from crawler.wiring.plugins.packages import package_of_module, registrations

_PATH = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_][\w.]*")


def find(kind: Kind, name: str) -> NamedBackend:
    """The backend of that name or path. Raises KeyError if there is none, and `PluginRefused` if several packages have
    registered the name. A name of ours is ours: that takes no look at what is installed, which slows the start."""
    if _PATH.fullmatch(name):
        return NamedBackend(kind=kind, name=name, place=name, package=package_of_module(name.partition(":")[0]))
    if name in kind.ours:
        return _our(kind, name)
    found = _registered(kind, name)
    if not found:
        raise KeyError(name)
    _refuse_clash(found)
    return found[0]


def refuse_clash(backend: NamedBackend) -> None:
    """Raises `PluginRefused` if the name of a plug-in is also that of another backend."""
    ours = [_our(backend.kind, backend.name)] if backend.name in backend.kind.ours else []
    _refuse_clash([*ours, *_registered(backend.kind, backend.name)])


def _refuse_clash(found: Sequence[NamedBackend]) -> None:
    if len(found) > 1:
        name, noun = found[0].name, found[0].kind.noun
        places = " and ".join(f'"{each.place}" of {"onceover" if each.is_ours else each.package}' for each in found)
        raise PluginRefused(f'"{name}" is the name of {len(found)} {noun}s: name the path of one, {places}')


def _our(kind: Kind, name: str) -> NamedBackend:
    return NamedBackend(kind=kind, name=name, place=kind.ours[name], package=None, is_ours=True)


def _registered(kind: Kind, name: str | None = None) -> list[NamedBackend]:
    return [
        NamedBackend(kind=kind, name=each.name, place=each.place, package=each.package)
        for each in registrations(kind.group, name)
    ]


def find_all(kind: Kind) -> Iterator[NamedBackend]:
    """Ours, and what other packages have registered, clashing names included."""
    for name in kind.ours:
        yield _our(kind, name)
    yield from _registered(kind)


def descriptor(kind: Kind, name: str) -> Any:
    """The descriptor of the backend of that name or path. Raises KeyError and `PluginRefused`."""
    return load(find(kind, name))


class Catalog:
    """What a configuration may name; `config.Backends`."""

    def plugins(self, kind: str, /) -> Sequence[str]:
        return [each.name for each in registrations(KINDS[kind].group)]

    def is_plugin(self, kind: str, name: str, /) -> bool:
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
        return Backend.of(found, *KINDS[kind].common)

    def all(self, kind: str, /) -> Iterable[Backend]:
        for each in find_all(KINDS[kind]):
            try:
                yield Backend.of(load(each), *KINDS[kind].common)
            except PluginRefused:
                continue

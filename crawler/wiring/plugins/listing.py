"""Describes all backends that are installed, and says what is wrong with those that can't be used."""

from collections.abc import Iterator
from importlib.metadata import version
from typing import Any

import msgspec

from config import settings_of
from crawler.wiring.plugins.catalog import find_all, refuse_clash
from crawler.wiring.plugins.kinds import KINDS
from crawler.wiring.plugins.loading import NamedBackend, PluginRefused, load


class ListedOption(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    default: Any
    """None if it is unset by default, or required."""
    required: bool
    expected: str
    """What its value must be, for people."""
    meaning: str


class ListedBackend(msgspec.Struct, frozen=True, kw_only=True):
    """A backend, as `onceover plugins --json` shows it."""

    kind: str
    name: str
    package: str
    version: str
    place: str
    """`package.module:NAME`"""
    options: tuple[ListedOption, ...] = ()
    broken: str | None = None
    """Why it can't be used; None if it can."""


def list_backends() -> Iterator[ListedBackend]:
    """All backends by kind, ours first. This imports them."""
    for kind in KINDS.values():
        for backend in find_all(kind):
            yield _listed(backend)


def _listed(backend: NamedBackend) -> ListedBackend:
    listed = ListedBackend(
        kind=backend.kind.name,
        name=backend.name,
        package="onceover" if backend.package is None else backend.package.name,
        version=version("onceover-crawler") if backend.package is None else backend.package.version,
        place=backend.place,
    )
    try:
        if not backend.is_ours:
            refuse_clash(backend)
        descriptor = load(backend)
    except PluginRefused as error:
        return msgspec.structs.replace(listed, broken=str(error))
    structs = (descriptor.options, *backend.kind.common)
    settings = [setting for struct in structs for setting in settings_of(struct, "options")]
    options = tuple(msgspec.convert(setting, ListedOption, from_attributes=True) for setting in settings)
    return msgspec.structs.replace(listed, options=options)

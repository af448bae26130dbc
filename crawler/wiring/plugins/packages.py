"""What installed packages have registered, and to which package a module belongs."""

import sys
from collections.abc import Sequence
from functools import cache
from importlib import import_module
from types import ModuleType

import msgspec


class Package(msgspec.Struct, frozen=True):
    name: str
    version: str

    def __str__(self) -> str:
        return f"{self.name} {self.version}"


class Registration(msgspec.Struct, frozen=True):
    """The entry point of a plug-in."""

    name: str
    place: str
    """`package.module:NAME`"""
    package: Package


def registrations(group: str, name: str | None = None) -> Sequence[Registration]:
    """What the installed packages have registered in a group, of that name if one is given; by name and package."""
    return [each for each in _read_registrations(group, tuple(sys.path)) if name is None or each.name == name]


@cache
def _read_registrations(group: str, _path: tuple[str, ...]) -> Sequence[Registration]:
    """Reads what is installed once for each path of imports, because that takes milliseconds."""
    found = []
    for entry in _metadata().entry_points(group=group):
        assert entry.dist is not None
        found.append(Registration(entry.name, entry.value, Package(entry.dist.name, entry.dist.version)))
    return sorted(found, key=lambda each: (each.name, each.package.name))


def package_of_module(module: str) -> Package | None:
    """The package that has installed a module; None if it is just a file on the path of imports."""
    return _read_package_of(module.partition(".")[0], tuple(sys.path))


@cache
def _read_package_of(top: str, _path: tuple[str, ...]) -> Package | None:
    # Most packages have the name of their module. Looking for another one reads the metadata of all.
    return _package(top) or next(filter(None, map(_package, _metadata().packages_distributions().get(top, ()))), None)


def _package(name: str) -> Package | None:
    try:
        return Package(name, _metadata().distribution(name).version)
    except _metadata().PackageNotFoundError:
        return None


def _metadata() -> ModuleType:
    """Takes as long to import as a fifth of an empty Python, and a crawl without plug-ins needs it for nothing."""
    return import_module("importlib.metadata")

"""Imports the descriptor of a backend, and checks it."""

from collections.abc import Callable
from functools import reduce, wraps
from importlib import import_module
from typing import Any

import msgspec

from config import settings_of
from crawler.codes.full_disk import DISK_FULL
from crawler.wiring.plugins.checks import find_misfit, missing_methods
from crawler.wiring.plugins.guarded_stores import guarded_cost, guarded_read
from crawler.wiring.plugins.kinds import KINDS, Kind
from crawler.wiring.plugins.packages import Package

_WIDTH = 300


class PluginRefused(ValueError):
    """A plug-in can't be used. The message is one line, which names it and its package."""


class NamedBackend(msgspec.Struct, frozen=True, kw_only=True):
    """A backend that was found, but not imported yet."""

    kind: Kind
    name: str
    """As the configuration names it."""
    place: str
    """`package.module:NAME` of its descriptor."""
    package: Package | None
    """None if it is ours, or just a file."""
    is_ours: bool = False

    @property
    def title(self) -> str:
        """What it is, for messages."""
        return f'the {self.kind.noun} "{self.name}"{"" if self.package is None else f" of {self.package}"}'

    def refuse(self, why: BaseException | str, *, what: str = "can't be used") -> PluginRefused:
        """An error in one line."""
        return PluginRefused(f"{self.title} {what}: {in_one_line(why)}")


def in_one_line(error: BaseException | str) -> str:
    """What went wrong, without line breaks. A ValueError has a message for people."""
    text = " ".join(str(error).split())
    text = text if len(text) <= _WIDTH else f"{text[:_WIDTH]}…"
    if text and isinstance(error, str | ValueError):
        return text
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def load(backend: NamedBackend) -> Any:
    """The descriptor of a backend, which is imported. Raises `PluginRefused`.

    The descriptor of a plug-in gets the name by which it was named. What it makes is checked, and any error but a lack
    of memory or of disk space becomes a `PluginRefused`.
    """
    try:
        module, _, attributes = backend.place.partition(":")
        descriptor = _descriptor(backend, reduce(getattr, attributes.split("."), import_module(module)))
        if backend.is_ours:
            return descriptor
        _check(backend.kind, descriptor)
    except PluginRefused:
        raise
    except (Exception, SystemExit) as error:
        raise backend.refuse(_is_missing(error, backend.place) or error) from error
    changes = {"name": backend.name, "make": _checked_maker(backend, descriptor.make)}
    if getattr(descriptor, "cost", None) is not None:
        changes["cost"] = _refuse_errors(backend, guarded_cost(descriptor.cost), what="can't tell its cost")
    if getattr(descriptor, "read", None) is not None:
        changes["read"] = guarded_read(descriptor.read, backend.title)
    if getattr(descriptor, "check", None) is not None:
        changes["check"] = _checked_check(backend, descriptor.check)
    return msgspec.structs.replace(descriptor, **changes)


def _is_missing(error: BaseException, place: str) -> str | None:
    """What to do if the module of the plug-in itself is not there."""
    module = place.partition(":")[0]
    if (
        not isinstance(error, ModuleNotFoundError)
        or error.name is None
        or not f"{module}.".startswith(f"{error.name}.")
    ):
        return None
    return f"there is no module {error.name}: install its package, or put its folder on PYTHONPATH"


def _descriptor(backend: NamedBackend, thing: Any) -> Any:
    """The descriptor of that thing: itself; or the one beside a class or a function, which makes its components by it;
    or a new one without options."""
    kind = backend.kind
    if isinstance(thing, kind.descriptor):
        return thing
    for other in KINDS.values():
        if isinstance(thing, other.descriptor):
            raise backend.refuse(f"expected the descriptor of {kind.a_noun}, found that of {other.a_noun}")
    if not callable(thing):
        expected = f"{kind.descriptor.__module__}.{kind.descriptor.__name__}"
        raise backend.refuse(f"expected a {expected} or a class at {backend.place}, found {type(thing).__name__}")
    beside = vars(import_module(backend.place.partition(":")[0])).values()
    found = (each for each in beside if isinstance(each, kind.descriptor) and getattr(each, "make", None) is thing)
    return next(found, None) or kind.descriptor(name=backend.name, make=kind.maker_of(thing))


def _check(kind: Kind, descriptor: Any) -> None:
    """Raises TypeError for a descriptor that can't be used, which would only show later."""
    if not callable(descriptor.make):
        raise TypeError(f"expected a function or a class as make, found {type(descriptor.make).__name__}")
    options = descriptor.options
    if not (isinstance(options, type) and issubclass(options, msgspec.Struct)):
        raise TypeError(f"expected a msgspec.Struct as options, found {options!r}")
    taken = {setting.name for struct in kind.common for setting in settings_of(struct, "options")}
    for setting in settings_of(options, "options"):
        if setting.name in taken:
            raise TypeError(f"its option {setting.name} has the name of one that each {kind.noun} has")
    if unknown := set(getattr(descriptor, "needs", ())) - kind.needs:
        raise TypeError(f"needs may have {', '.join(sorted(kind.needs))}, found {', '.join(sorted(unknown))}")
    folder = getattr(descriptor, "folder", None)
    if folder is not None and not folder.isidentifier():
        raise TypeError(f"expected a plain name as folder, found {folder!r}")


def _checked_maker(backend: NamedBackend, make: Callable[..., Any]) -> Callable[..., Any]:
    make_any = _refuse_errors(backend, make, what="can't be made")

    @wraps(make)
    def make_component(*arguments: Any) -> Any:
        component = make_any(*arguments)
        kind = backend.kind
        if missing := missing_methods(component, kind.methods):
            found = f"its maker returned {type(component).__name__}, which has no {', '.join(missing)}"
            raise backend.refuse(f"expected {kind.a_noun}, but {found}", what="can't be made")
        if misfit := find_misfit(component, (*kind.methods, *kind.optional)):
            raise backend.refuse(misfit, what="can't be made")
        return kind.guard(component, backend.title)

    return make_component


def _checked_check(backend: NamedBackend, check: Callable[..., Any]) -> Callable[..., Any]:
    """A function that checks a server like this one. Its errors but ValueError become a `PluginRefused`."""

    async def check_it(*arguments: Any) -> None:
        try:
            await check(*arguments)
        except ValueError:
            raise
        except (Exception, SystemExit) as error:
            raise backend.refuse(error, what="can't be checked") from error

    return check_it


def _refuse_errors(backend: NamedBackend, call: Callable[..., Any], *, what: str) -> Callable[..., Any]:
    """A function like this one, whose errors become a `PluginRefused`."""
    passed: tuple[type[Exception], ...] = (MemoryError, *backend.kind.raises)

    @wraps(call)
    def call_it(*arguments: Any) -> Any:
        try:
            return call(*arguments)
        except passed:
            raise
        except (Exception, SystemExit) as error:
            if isinstance(error, OSError) and error.errno in DISK_FULL:
                raise
            raise backend.refuse(error, what=what) from error

    return call_it

"""Whether a component has the methods of its protocol, as the protocol writes them, and returns what it must."""

from collections.abc import Callable, Iterable
from inspect import Parameter, Signature, iscoroutinefunction, isfunction, signature
from types import MethodType
from typing import Any, TypeVar

Method = Callable[..., Any]
"""A method of a protocol."""


def methods_of(protocol: type) -> tuple[Method, ...]:
    """The methods of a protocol, after those of protocols that it extends."""
    written = (each for base in reversed(protocol.__mro__) for each in vars(base).values())
    return tuple(each for each in written if isfunction(each) and each.__module__ != "typing")


def missing_methods(component: object, methods: Iterable[Method]) -> list[str]:
    return [each.__name__ for each in methods if not callable(getattr(component, each.__name__, None))]


def find_misfit(component: object, methods: Iterable[Method]) -> str | None:
    """Which of its methods can't be called, or awaited, as the protocol says; for people. None if all can."""
    for method in methods:
        found = getattr(component, method.__name__, None)
        if found is None:
            continue
        called: Any = component if isfunction(component) else found
        if not (_waits_as(method, called) and _takes_what(method, called)):
            return f"expected `{_written(method)}` in {type(component).__name__}, found `{_written(called)}`"
    return None


def _waits_as(method: Method, found: Any) -> bool:
    if iscoroutinefunction(found) or not iscoroutinefunction(method):
        return iscoroutinefunction(found) == iscoroutinefunction(method)
    # What is not written in Python may return whatever can be awaited.
    return not (isinstance(found, MethodType) and isfunction(found.__func__))


def _takes_what(method: Method, found: Any) -> bool:
    try:
        takes = signature(found)
    except (TypeError, ValueError):
        return True  # nobody knows
    arguments = list(signature(method).parameters.values())[1:]
    try:
        takes.bind(
            *(each.name for each in arguments if each.kind is not Parameter.KEYWORD_ONLY),
            **{each.name: each.name for each in arguments if each.kind is Parameter.KEYWORD_ONLY},
        )
    except TypeError:
        return False
    return True


def _written(function: Any) -> str:
    """How it is written, without types."""
    function = getattr(function, "__func__", function)
    parameters = [each.replace(annotation=Parameter.empty) for each in signature(function).parameters.values()]
    return f"{'async ' * iscoroutinefunction(function)}def {function.__name__}{Signature(parameters)}"


_Value = TypeVar("_Value")


class PluginFailed(Exception):
    """A plug-in raised what it must not raise, or returned a wrong value. The message is one line; the traceback is in
    the log."""


def failed(title: str, why: str) -> PluginFailed:
    """The error of a plug-in, which `title` names."""
    return PluginFailed(f"{title} failed: {why}")


def checked(value: Any, expected: type[_Value], where: str, title: str) -> _Value:
    """What a plug-in has returned, if it is of the expected type. Raises `PluginFailed`."""
    if not isinstance(value, expected):
        raise failed(title, f"expected {expected.__name__} {where}, found {type(value).__name__}")
    return value

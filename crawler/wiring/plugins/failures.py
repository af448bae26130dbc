"""What a plug-in may do wrong while the crawl runs."""

from typing import Any, TypeVar

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

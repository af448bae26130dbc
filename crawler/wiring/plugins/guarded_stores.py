"""Checks what visited sets and sinks of others return. By a wrong answer of a set, a page would be taken for known that
nobody has fetched."""

import sys
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import wraps
from typing import Any, BinaryIO, Final, TypeVar

import msgspec

from crawler.wiring.plugins.checks import checked, failed
from crawler.write.descriptor import Parameters, Read, Written
from visited import LocalSet, SharedSet, VisitedStats, WrongValue, is_prompt, list_urls
from visited.descriptor import Cost

_PLAIN: Final = frozenset({bool})
_Value = TypeVar("_Value", bound=msgspec.Struct)


def guarded_set(visited: LocalSet, title: str) -> LocalSet:
    """The visited set of a plug-in, which `title` names. One on a server promises more, and is not checked."""
    return visited if isinstance(visited, SharedSet) else GuardedSet(visited, title)


class GuardedSet:
    """A visited set that raises `PluginFailed` instead of returning a wrong value."""

    def __init__(self, visited: LocalSet, title: str) -> None:
        self._visited = visited
        self._title = title

    @property
    def is_prompt(self) -> bool:
        return is_prompt(self._visited)

    async def add_many(self, urls: Sequence[str], /) -> list[bool]:
        with self._named():
            return self._checked(await self._visited.add_many(urls), len(urls), "add_many")

    def has_many(self, urls: Sequence[str], /) -> list[bool]:
        return self._checked(self._visited.has_many(urls), len(urls), "has_many")

    async def forget_many(self, urls: Sequence[str], /) -> int:
        with self._named():
            forgotten: Any = await self._visited.forget_many(urls)
        if not isinstance(forgotten, int):
            raise failed(self._title, f"expected a count from forget_many, found {type(forgotten).__name__}")
        return forgotten

    def urls(self) -> Iterator[str]:
        return list_urls(self._visited)

    def describe(self) -> VisitedStats:
        return _checked_fields(self._visited.describe(), VisitedStats, "describe", self._title)

    def dump(self, file: BinaryIO, /) -> None:
        with self._named():
            self._visited.dump(file)

    def load(self, file: BinaryIO, /) -> None:
        self._visited.load(file)

    def __len__(self) -> int:
        try:
            return len(self._visited)
        except (TypeError, ValueError) as error:  # Python raises them for what is no count
            raise failed(self._title, f"no count from __len__: {error}") from error

    async def aclose(self) -> None:
        await self._visited.aclose()

    def _checked(self, answers: Any, count: int, method: str) -> list[bool]:
        try:
            found = list(answers)
        except TypeError:
            raise failed(
                self._title, f"expected a list from {method}, an answer for each URL, found {type(answers).__name__}"
            ) from None
        if len(found) != count:
            raise failed(self._title, f"expected an answer from {method} for each of {count} URLs, found {len(found)}")
        if not set(map(type, found)) <= _PLAIN:
            for answer in found:
                if answer not in (True, False):
                    raise failed(self._title, f"expected True or False from {method}, found {type(answer).__name__}")
        return found

    @contextmanager
    def _named(self) -> Iterator[None]:
        try:
            yield
        except WrongValue as error:
            raise failed(self._title, str(error)) from error


def guarded_cost(cost: Callable[[int, float, Any], Cost]) -> Callable[[int, float, Any], Cost]:
    """A formula that raises TypeError or ValueError instead of returning what is no cost."""

    @wraps(cost)
    def checked_cost(count: int, error_rate: float, options: Any) -> Cost:
        found: Any = cost(count, error_rate, options)
        if not isinstance(found, Cost):
            raise TypeError(f"expected a Cost, found {type(found).__name__}")
        figures = msgspec.structs.asdict(found)
        for name, figure in figures.items():
            most = 1.0 if name == "false_positive_rate" else sys.float_info.max
            if not 0 <= figure <= most:
                raise ValueError(f"expected {name} to be {'0 to 1' if most == 1 else '0 or more'}, found {figure}")
        return msgspec.convert(figures, Cost)

    return checked_cost


def guarded_read(read: Read, title: str) -> Read:
    """A function that reads a sink, which `title` names. It raises `PluginFailed` instead of returning a wrong value,
    which would be told as a difference between outputs, or end `inspect verify` with a traceback."""

    async def read_checked(parameters: Parameters, options: Any) -> AsyncIterator[Sequence[Written]]:
        found: Any = read(parameters, options)
        if not isinstance(found, AsyncIterator):
            raise failed(title, f"expected an asynchronous iterator from read, found {type(found).__name__}")
        async for rows in found:
            if not isinstance(rows, Iterable):
                raise failed(title, f"expected batches of Written from read, found {type(rows).__name__}")
            yield [_checked_fields(row, Written, "read", title) for row in rows]

    return read_checked


def _checked_fields(value: Any, expected: type[_Value], function: str, title: str) -> _Value:
    """What a function of a plug-in has returned, as `checked`, with fields of the expected types."""
    found = checked(value, expected, f"from {function}", title)
    try:
        return msgspec.convert(msgspec.structs.asdict(found), expected)
    except msgspec.ValidationError as error:
        raise failed(title, f"wrong {expected.__name__} from {function}: {error}") from error

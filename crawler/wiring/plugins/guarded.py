"""Keeps what a plug-in raises, or returns by mistake, for a single page from ending the crawl.

A canonical rule ends the crawl: by a wrong canonical URL, a page would be taken for known that nobody has fetched.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence
from enum import Enum
from operator import is_
from time import time
from typing import Any, TypeVar

import msgspec

from crawler.page import Extract, Failure, FailureKind, Fetched, Page, Request, WithBody
from crawler.seams import Fetcher, LinkExtractor
from crawler.url.components import Rule, UrlComponents
from crawler.wiring.plugins.checks import failed
from crawler.wiring.plugins.loading import in_one_line

log = logging.getLogger(__name__)

_Value = TypeVar("_Value", bound=msgspec.Struct)


class GuardedExtractor:
    """An extractor that never raises. The record of a page that broke the plug-in tells its error."""

    def __init__(self, extractor: LinkExtractor, title: str) -> None:
        """`title` names the plug-in."""
        self._extractor = extractor
        self._title = title

    def extract(self, page: Page, /) -> Extract:
        try:
            extract = self._extractor.extract(page)
            if not isinstance(extract, Extract):
                raise TypeError(f"expected an Extract, found {type(extract).__name__}")
            return _checked(extract, Extract)
        # Nothing awaits, so nobody can have cancelled it.
        except (Exception, SystemExit, asyncio.CancelledError) as error:
            log.warning("%s failed: %s (%s)", self._title, in_one_line(error), page.url)
            log.info("the traceback", exc_info=error)
            return Extract(
                content_type="application/octet-stream",
                base_url=page.url,
                error=f"{self._title} failed: {in_one_line(error)}",
            )


class GuardedFetcher:
    """A fetcher that never raises. The URL that broke the plug-in has failed."""

    def __init__(self, fetcher: Fetcher, title: str, before_request: Callable[[], object] | None = None) -> None:
        """`title` names the plug-in. `before_request` is called before each."""
        self._fetcher = fetcher
        self._title = title
        self._before_request = before_request

    async def fetch(self, request: Request, /) -> Fetched:
        fetched_at = time()
        if self._before_request is not None:
            self._before_request()
        try:
            fetched = await self._fetcher.fetch(request)
            if not isinstance(fetched, Fetched):
                raise TypeError(f"expected a page or a failure, found {type(fetched).__name__}")
            declared: Fetched = _as_declared(fetched, _checked(fetched, type(fetched)))
            return declared
        except (Exception, SystemExit, asyncio.CancelledError) as error:
            if isinstance(error, asyncio.CancelledError) and is_cancelled():
                raise
            log.warning("%s failed: %s (%s)", self._title, in_one_line(error), request.url)
            log.info("the traceback", exc_info=error)
            return Failure(
                url=request.url,
                kind=FailureKind.UNEXPECTED,
                message=f"{self._title} failed: {in_one_line(error)}",
                fetched_at=fetched_at,
                duration_s=time() - fetched_at,
            )

    async def aclose(self) -> None:
        await self._fetcher.aclose()


def guarded_rule(rule: Rule, title: str) -> Rule:
    """A canonical rule that raises only `PluginFailed`, which `title` names."""

    def apply(url: UrlComponents) -> UrlComponents:
        try:
            made = rule(url)
            if not isinstance(made, UrlComponents):
                raise TypeError(f"expected UrlComponents, found {type(made).__name__}")
            return _checked(made, UrlComponents)
        except Exception as error:
            raise failed(title, f"{in_one_line(error)} ({url})") from error

    return apply


def is_cancelled() -> bool:
    """Whether somebody wants this task to end, and not just a future of the plug-in was cancelled."""
    try:
        this = asyncio.current_task()
    except RuntimeError:
        return False  # no event loop runs, so there is no task
    return this is not None and this.cancelling() > 0


def _checked(value: msgspec.Struct, expected: type[_Value]) -> _Value:
    """A copy of a value, with each of its parts in the type that it must have. A struct does not check what it is made
    of. Raises TypeError and ValueError."""
    plain = msgspec.to_builtins(value, builtin_types=(bytes, bytearray, memoryview), enc_hook=_plain)
    return msgspec.convert(plain, expected, builtin_types=(bytes,))


def _plain(value: object) -> str | list[object]:
    if isinstance(value, str):
        return str(value)  # parsers return texts of types of their own
    if isinstance(value, Sequence):
        return list(value)  # the links of our extractor, for example
    raise TypeError(f"expected a plain value, found {type(value).__name__}")


def _as_declared(value: Any, checked: Any) -> Any:
    """A value with the types of its checked copy: words made members of their enums, and lists and buffers made pairs
    and bytes. If nothing has to be changed, it is no copy, so that what the body of a page of ours takes still counts
    in the budget of memory."""
    if not isinstance(value, msgspec.Struct) or type(value) is not type(checked):
        return value if _has_types_of(value, checked) else checked
    changes = {}
    for name in value.__struct_fields__:
        found = getattr(value, name)
        made = _checked_loads(found) if name == "loads" else _as_declared(found, getattr(checked, name))
        if made is not found:
            changes[name] = made
    return msgspec.structs.replace(value, **changes) if changes else value


def _has_types_of(value: object, checked: object) -> bool:
    """Whether a value, and each of its parts, has the type that it has after the check."""
    if type(checked) is str and not isinstance(value, Enum):
        return isinstance(value, str)  # texts of parsers serve as well
    if type(value) is not type(checked):
        return False
    if isinstance(value, list | tuple) and isinstance(checked, list | tuple):
        return all(map(_has_types_of, value, checked))
    if isinstance(value, msgspec.Struct):
        return all(_has_types_of(getattr(value, name), getattr(checked, name)) for name in value.__struct_fields__)
    return True


def _checked_loads(loads: Sequence[object]) -> tuple[object, ...]:
    """What a page has loaded, each in its own class, which the type of the field does not tell."""
    made = []
    for number, each in enumerate(loads):
        if not isinstance(each, WithBody):
            raise TypeError(f"expected a Page or a Redirect, found {type(each).__name__} - at `$.loads[{number}]`")
        try:
            made.append(_as_declared(each, _checked(each, type(each))))
        except (TypeError, ValueError) as error:
            raise TypeError(f"{error}, of `$.loads[{number}]`") from error
    return loads if isinstance(loads, tuple) and all(map(is_, made, loads)) else tuple(made)

"""A request to the API, and what it does."""

from collections.abc import Awaitable, Callable
from functools import cache
from http import HTTPStatus
from inspect import getdoc
from typing import Any, Final, Literal, get_type_hints

import msgspec
from aiohttp import web

from crawler.serve.api.actions import Actions

BASE: Final = "/api/v1"
NAMED: Final = f"{BASE}/crawls/{{name}}"

_Reply = Awaitable[msgspec.Struct | web.StreamResponse | None]
Action = Callable[[Actions, web.Request], _Reply] | Callable[[Actions, web.Request, Any], _Reply]
"""One that also takes a `query`, the parameters behind the path, or a `body`, in JSON, says by its annotation what that
has to be."""

_hints = cache(get_type_hints)


class Route(msgspec.Struct, frozen=True):
    """A request, and what it does."""

    method: Literal["GET", "PUT", "POST", "DELETE"]
    path: str
    action: Action
    refusals: tuple[HTTPStatus, ...] = ()
    """Besides those that follow from its method, path, parameters and body."""
    status: HTTPStatus = HTTPStatus.OK
    streams: str | None = None
    """The media type of a reply that is not JSON."""
    has_ranges: bool = False
    """Whether parts of the reply can be asked for."""
    takes_toml: bool = False

    @property
    def name(self) -> str:
        """What clients call it: `showCrawl` for the action `show_crawl`."""
        first, *others = self.action.__name__.split("_")
        return first + "".join(map(str.capitalize, others))

    @property
    def meaning(self) -> str:
        """The first paragraph of its action's docstring."""
        meaning, _, _ = (getdoc(self.action) or "").partition("\n\n")
        return " ".join(meaning.split()).removesuffix(".")

    @property
    def query(self) -> type[msgspec.Struct] | None:
        return _hints(self.action).get("query")

    @property
    def body(self) -> type[msgspec.Struct] | None:
        return _hints(self.action).get("body")

    @property
    def reply(self) -> type[msgspec.Struct] | None:
        """What its action returns, if that is written as JSON."""
        kind: Any = _hints(self.action)["return"]
        return kind if issubclass(kind, msgspec.Struct) else None

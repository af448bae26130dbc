"""A request to the API, and what it does."""

from collections.abc import Awaitable, Callable
from http import HTTPStatus
from typing import Any, Final, Literal, get_type_hints

import msgspec
from aiohttp import web

from crawler.serve.api.actions import Actions

BASE: Final = "/api/v1"
NAMED: Final = f"{BASE}/crawls/{{name}}"

Action = Callable[[Actions, web.Request], Awaitable[msgspec.Struct | web.StreamResponse | None]]


class Route(msgspec.Struct, frozen=True, kw_only=True):
    """A request, and what it does."""

    method: Literal["GET", "PUT", "POST", "DELETE"]
    path: str
    name: str
    meaning: str
    action: Action
    query: type[msgspec.Struct] | None = None
    """The parameters behind the path."""
    body: type[msgspec.Struct] | None = None
    """A body in JSON."""
    streams: str | None = None
    """The media type of a reply that is not JSON."""
    has_ranges: bool = False
    """Whether parts of the reply can be asked for."""
    takes_toml: bool = False
    status: HTTPStatus = HTTPStatus.OK
    refusals: tuple[HTTPStatus, ...] = ()
    """Besides those that follow from its method, path, parameters and body."""

    @property
    def reply(self) -> type[msgspec.Struct] | None:
        """What its action returns, if that is written as JSON."""
        kind: Any = get_type_hints(self.action)["return"]
        return kind if issubclass(kind, msgspec.Struct) else None

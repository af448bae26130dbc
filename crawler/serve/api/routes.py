"""Which request does what."""

from collections.abc import Awaitable, Callable
from http import HTTPStatus
from typing import Final, Literal

import msgspec
from aiohttp import web

from crawler.serve.api.actions import TOML, Actions
from crawler.serve.api.forms import CrawlDetails, CrawlList, PauseBody, ReloadForm

BASE: Final = "/api/v1"
_NAMED: Final = f"{BASE}/crawls/{{name}}"

Action = Callable[[Actions, web.Request], Awaitable[msgspec.Struct | None]]


class Route(msgspec.Struct, frozen=True, kw_only=True):
    """A request, and what it does."""

    method: Literal["GET", "PUT", "POST", "DELETE"]
    path: str
    name: str
    meaning: str
    action: Action
    reply: type[msgspec.Struct] | None
    body: type[msgspec.Struct] | None = None
    """A body in JSON."""
    takes_toml: bool = False
    status: HTTPStatus = HTTPStatus.OK
    refusals: tuple[HTTPStatus, ...] = ()


_MISSING: Final = (HTTPStatus.NOT_FOUND,)
_CONFLICT: Final = (HTTPStatus.NOT_FOUND, HTTPStatus.CONFLICT)
_BODY: Final = (HTTPStatus.REQUEST_ENTITY_TOO_LARGE, HTTPStatus.UNPROCESSABLE_ENTITY)

ROUTES: Final = (
    Route(
        method="GET",
        path=f"{BASE}/crawls",
        name="listCrawls",
        meaning="All crawls, also those that have finished, with their states",
        action=Actions.list_crawls,
        reply=CrawlList,
    ),
    Route(
        method="GET",
        path=_NAMED,
        name="showCrawl",
        meaning="A crawl with its history",
        action=Actions.show,
        reply=CrawlDetails,
        refusals=_MISSING,
    ),
    Route(
        method="PUT",
        path=_NAMED,
        name="createCrawl",
        meaning=f"Create a crawl from its configuration ({TOML}); a repetition changes nothing",
        action=Actions.create,
        reply=CrawlDetails,
        takes_toml=True,
        refusals=(HTTPStatus.CONFLICT, HTTPStatus.UNSUPPORTED_MEDIA_TYPE, *_BODY),
    ),
    Route(
        method="DELETE",
        path=_NAMED,
        name="deleteCrawl",
        meaning="Remove a crawl that does not run from the list, with its configuration; its directory is kept",
        action=Actions.delete,
        reply=None,
        status=HTTPStatus.NO_CONTENT,
        refusals=_CONFLICT,
    ),
    Route(
        method="POST",
        path=f"{_NAMED}/start",
        name="startCrawl",
        meaning="Let a crawl run: one that was stopped or is held; one that waits for its schedule begins anew",
        action=Actions.start,
        reply=CrawlDetails,
        status=HTTPStatus.ACCEPTED,
        refusals=_CONFLICT,
    ),
    Route(
        method="POST",
        path=f"{_NAMED}/stop",
        name="stopCrawl",
        meaning="Let a crawl finish what is in flight, and keep it stopped",
        action=Actions.stop,
        reply=CrawlDetails,
        status=HTTPStatus.ACCEPTED,
        refusals=_CONFLICT,
    ),
    Route(
        method="POST",
        path=f"{_NAMED}/pause",
        name="pauseCrawl",
        meaning="Let a crawl fetch nothing until it is resumed",
        action=Actions.pause,
        reply=CrawlDetails,
        body=PauseBody,
        refusals=(*_CONFLICT, *_BODY),
    ),
    Route(
        method="POST",
        path=f"{_NAMED}/resume",
        name="resumeCrawl",
        meaning="End a pause",
        action=Actions.resume,
        reply=CrawlDetails,
        refusals=_CONFLICT,
    ),
    Route(
        method="POST",
        path=f"{BASE}/reload",
        name="reload",
        meaning="Read the folder again, as SIGHUP does",
        action=Actions.reload,
        reply=ReloadForm,
    ),
)

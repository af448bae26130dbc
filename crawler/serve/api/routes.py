"""Which request does what."""

from http import HTTPStatus
from typing import Final

from crawler.serve.api.actions import TOML, Actions
from crawler.serve.api.data.export_routes import EXPORT_ROUTES
from crawler.serve.api.data.routes import DATA_ROUTES
from crawler.serve.api.events.streaming import EVENT_STREAM, stream_events
from crawler.serve.api.forms import PauseBody
from crawler.serve.api.measured import show_history
from crawler.serve.api.route import BASE, NAMED, Route
from crawler.serve.measure.columns import HistoryQuery

ROUTES: Final = (
    Route(
        method="GET",
        path=f"{BASE}/crawls",
        name="listCrawls",
        meaning="All crawls, also those that have finished, with their states",
        action=Actions.list_crawls,
    ),
    Route(
        method="GET",
        path=NAMED,
        name="showCrawl",
        meaning="A crawl with its history",
        action=Actions.show,
    ),
    Route(
        method="GET",
        path=f"{NAMED}/history",
        name="showHistory",
        meaning="What a crawl did over time, as columns of numbers",
        action=show_history,
        query=HistoryQuery,
        refusals=(HTTPStatus.CONFLICT,),
    ),
    Route(
        method="PUT",
        path=NAMED,
        name="createCrawl",
        meaning=f"Create a crawl from its configuration ({TOML}); a repetition changes nothing",
        action=Actions.create,
        takes_toml=True,
        refusals=(HTTPStatus.CONFLICT, HTTPStatus.UNSUPPORTED_MEDIA_TYPE),
    ),
    Route(
        method="DELETE",
        path=NAMED,
        name="deleteCrawl",
        meaning="Remove a crawl that does not run from the list, with its configuration; its directory is kept",
        action=Actions.delete,
        status=HTTPStatus.NO_CONTENT,
        refusals=(HTTPStatus.CONFLICT,),
    ),
    Route(
        method="POST",
        path=f"{NAMED}/start",
        name="startCrawl",
        meaning="Let a crawl run: one that was stopped or is held; one that waits for its schedule begins anew",
        action=Actions.start,
        status=HTTPStatus.ACCEPTED,
    ),
    Route(
        method="POST",
        path=f"{NAMED}/stop",
        name="stopCrawl",
        meaning="Let a crawl finish what is in flight, and keep it stopped",
        action=Actions.stop,
        status=HTTPStatus.ACCEPTED,
    ),
    Route(
        method="POST",
        path=f"{NAMED}/pause",
        name="pauseCrawl",
        meaning="Let a crawl fetch nothing until it is resumed",
        action=Actions.pause,
        body=PauseBody,
        refusals=(HTTPStatus.GATEWAY_TIMEOUT,),
    ),
    Route(
        method="POST",
        path=f"{NAMED}/resume",
        name="resumeCrawl",
        meaning="End a pause",
        action=Actions.resume,
        refusals=(HTTPStatus.GATEWAY_TIMEOUT,),
    ),
    Route(
        method="POST",
        path=f"{BASE}/reload",
        name="reload",
        meaning="Read the folder again, as SIGHUP does",
        action=Actions.reload,
    ),
    Route(
        method="GET",
        path=f"{BASE}/events",
        name="streamEvents",
        meaning="What happens, as server-sent events; goes on until the client closes it",
        action=stream_events,
        streams=EVENT_STREAM,
    ),
    *DATA_ROUTES,
    *EXPORT_ROUTES,
)

"""What crawls did over time."""

import time
from http import HTTPStatus

from aiohttp import web

from crawler.serve.api.actions import Actions, query_of
from crawler.serve.api.problems import Refused
from crawler.serve.measure.columns import History, HistoryQuery, as_columns, window_of


async def show_history(actions: Actions, request: web.Request) -> History:
    keeper, query, now = actions.keeper(request), query_of(request, HistoryQuery), time.time()
    window = window_of(query, now)
    if window is None:
        raise Refused(HTTPStatus.UNPROCESSABLE_ENTITY, "expected `from` to be before `to`")
    return as_columns(await actions.recorder.show(keeper.name, window, now, query.part), window)

"""What crawls did over time, and what Prometheus is told."""

import time
from http import HTTPStatus
from importlib.metadata import version
from typing import get_args

from aiohttp import web

from crawler.serve.api.actions import Actions
from crawler.serve.api.problems import Refused
from crawler.serve.life.summary import State
from crawler.serve.measure.columns import History, HistoryQuery, as_columns, window_of


async def show_history(actions: Actions, request: web.Request, query: HistoryQuery) -> History:
    """What a crawl did over time, as columns of numbers."""
    keeper, now = actions.keeper(request), time.time()
    window = window_of(query, now)
    if window is None:
        raise Refused(HTTPStatus.UNPROCESSABLE_ENTITY, "expected `from` to be before `to`")
    found = await actions.recorder.show(keeper.name, window, now, query.part)
    if query.part is not None and not found:
        actions.directory(keeper, query.part)  # which refuses a part that does not exist; one that did may have samples
    return as_columns(found, window)


async def show_metrics(actions: Actions, request: web.Request) -> web.Response:
    """What Prometheus scrapes. It is made of what was seen last; no crawl is asked."""
    await actions.wait_for_start()
    # Only who scrapes pays for the import.
    from prometheus_client import CollectorRegistry  # noqa: PLC0415
    from prometheus_client.exposition import choose_encoder  # noqa: PLC0415

    from crawler.serve.measure.exposition import CrawlCollector, CrawlReadings  # noqa: PLC0415

    crawls = [
        CrawlReadings(
            name=keeper.name,
            state=keeper.summary.state,
            crashes=len(keeper.facts.record.falls),
            is_running=keeper.facts.crawl_process is not None,
            readings=actions.recorder.readings(keeper.name),
        )
        for _, keeper in sorted(actions.keepers.items())
    ]
    registry = CollectorRegistry()
    registry.register(CrawlCollector(crawls, get_args(State), version("onceover-crawler")))
    encode, content_type = choose_encoder(request.headers.get("Accept", ""))
    return web.Response(body=encode(registry), headers={"Content-Type": content_type})

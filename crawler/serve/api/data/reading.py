"""Answers from the files of a crawl, which are read in threads."""

import asyncio
from collections.abc import Callable
from functools import partial
from http import HTTPStatus
from pathlib import Path
from typing import Final, TypeVar

from aiohttp import web

from crawler.control.requests import InspectUrl
from crawler.disk.directory import DirectoryRefused
from crawler.operate.diff.forms import Diff
from crawler.operate.report.forms import Report
from crawler.page import rfc3339
from crawler.search.forms import Found
from crawler.search.words import BadQuery, read_query
from crawler.serve.api.actions import Actions, answering
from crawler.serve.api.data import files
from crawler.serve.api.data.forms import (
    DiffQuery,
    LogQuery,
    LogTail,
    PageList,
    PagesQuery,
    ReportPageQuery,
    ReportQuery,
    SearchQuery,
    Settings,
    UrlQuery,
    UrlStory,
)
from crawler.serve.api.gate.caller import caller_of
from crawler.serve.api.problems import Refused
from crawler.serve.inspection import ask_status
from crawler.serve.keeper import Keeper
from crawler.url.urls import join

_Found = TypeVar("_Found")
_PAGE_HEADERS: Final = {
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; "
    "base-uri 'none'; form-action 'none'",
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
"""The page shows what strangers have written, and has no script."""


async def show_url(actions: Actions, request: web.Request, query: UrlQuery) -> UrlStory:
    """What the crawl knows about a URL, with the record of its page."""
    keeper = actions.keeper(request)
    found = await actions.ask_crawl(keeper, InspectUrl(url=query.url))
    return await _read(partial(files.story_of, actions.directory(keeper), found))


async def list_pages(actions: Actions, request: web.Request, query: PagesQuery) -> PageList:
    """The last pages, the newest first; or the last failures."""
    directory = actions.directory(actions.keeper(request))
    return await _read(partial(files.last_pages, directory, limit=query.limit, failed=query.failed))


async def show_report(actions: Actions, request: web.Request, query: ReportQuery) -> Report:
    """What the crawl has found, summed up, with the hosts that have most; all records are read for it."""
    directory = actions.directory(actions.keeper(request), query.part)
    with answering(HTTPStatus.CONFLICT):
        return await actions.reporter.report(directory, query.section, limit=query.limit)


async def show_report_page(actions: Actions, request: web.Request, query: ReportPageQuery) -> web.Response:
    """The report as a page with plots and all lists, in one file of HTML."""
    directory = actions.directory(actions.keeper(request), query.part)
    with answering(HTTPStatus.CONFLICT):
        page = await actions.reporter.page(directory, limit=query.limit)
    return web.Response(body=page, content_type="text/html", charset="utf-8", headers=_PAGE_HEADERS)


async def search_pages(actions: Actions, request: web.Request, query: SearchQuery) -> Found:
    """The pages that have some words, the best first. The first search reads all records, later ones what is new."""
    directory = actions.directory(actions.keeper(request))
    try:
        read_query(query.words)
    except BadQuery as error:
        raise Refused(HTTPStatus.UNPROCESSABLE_ENTITY, str(error)) from error
    with answering(HTTPStatus.CONFLICT):
        return await actions.reporter.search(directory, query.words, limit=query.limit, skip=query.skip)


async def show_diff(actions: Actions, request: web.Request, query: DiffQuery) -> Diff:
    """What has changed since a moment, an earlier run of its schedule, or another crawl; reads all records."""
    if [query.since, query.run, query.against].count(None) != 2:
        raise Refused(HTTPStatus.UNPROCESSABLE_ENTITY, "expected one of `since`, `run` and `against`")
    since, renaming, keeper = _since(query.since), _renaming(query.map), actions.keeper(request)
    before, after = _compared_with(actions, keeper, query), actions.directory(keeper)
    with answering(HTTPStatus.CONFLICT):
        return await actions.reporter.diff(
            before, after, since=since, renaming=renaming, only=query.only, limit=query.limit
        )


def _compared_with(actions: Actions, keeper: Keeper, query: DiffQuery) -> Path:
    if query.run is None:
        return actions.directory(keeper if query.against is None else actions.named(query.against))
    directories = (Path(each.directory) for each in keeper.facts.record.runs)
    runs = {each.name: each for each in directories if each.is_dir()}
    if query.run not in runs:
        name = keeper.name
        detail = f"{name} has no run {query.run!r}, or it was deleted; GET /api/v1/crawls/{name} lists some"
        raise Refused(HTTPStatus.NOT_FOUND, detail)
    return runs[query.run]


def _renaming(text: str) -> tuple[tuple[str, str], ...]:
    urls = [join(each, each) for each in text.split()]
    found = tuple((old, new) for old, new in zip(urls[::2], urls[1::2], strict=False) if old and new)
    if 2 * len(found) != len(urls):
        detail = (
            f"expected pairs of URLs in `map`, such as http://staging.test/ http://site.test/; found {text[:200]!r}"
        )
        raise Refused(HTTPStatus.UNPROCESSABLE_ENTITY, detail)
    return found


def _since(moment: float | None) -> str | None:
    if moment is None:
        return None
    return rfc3339(moment) if moment > 0 else f"{abs(moment):.3f} s"


async def show_log(actions: Actions, request: web.Request, query: LogQuery) -> LogTail:
    """The last lines of its log."""
    return await _read(partial(files.log_tail, actions.directory(actions.keeper(request), query.part), query.lines))


async def show_configuration(actions: Actions, request: web.Request) -> Settings:
    """Its settings, and where each value comes from."""
    keeper = actions.keeper(request)
    process = keeper.facts.crawl_process
    running = None if process is None else Path(process.directory)
    status = None if running is None else await ask_status(running)
    waiting = [] if status is None else status.next_settings
    with_secrets = caller_of(request).may_change
    loaded = actions.configuration(keeper)
    return await _read(partial(files.settings_of, loaded, running, waiting, with_secrets=with_secrets))


async def _read(read: Callable[[], _Found]) -> _Found:
    try:
        return await asyncio.to_thread(read)
    except DirectoryRefused as error:
        raise Refused(HTTPStatus.CONFLICT, str(error)) from error

"""Exports: asks for them, tells of them, gives out their files."""

import asyncio
import os
import re
from contextlib import suppress
from http import HTTPStatus
from typing import Final
from urllib.parse import quote

from aiohttp import hdrs, web
from aiohttp.abc import AbstractStreamWriter
from aiohttp.web_request import BaseRequest
from multidict import CIMultiDict

from crawler.serve.api.actions import Actions, audit
from crawler.serve.api.problems import Refused
from crawler.serve.exports.forms import ENDED, ExportBody, ExportForm, ExportList, FileQuery, StoredExport
from crawler.serve.exports.stored import StillWritten, TooMany

FILE = "application/octet-stream"
_NO_BYTES: Final = re.compile(r"bytes=-0+", re.ASCII | re.IGNORECASE)
"""The last 0 bytes. That can't be sent, by RFC 9110, section 14.1.2; aiohttp sends the whole file."""


async def start_export(actions: Actions, request: web.Request, body: ExportBody) -> ExportForm:
    """Export what the crawl has written, as tables or as one file that replays; one at a time."""
    _check(body)
    keeper = actions.keeper(request)
    directory = actions.directory(keeper)
    if not (directory / "crawl.toml").exists():
        detail = f"there is nothing to export in {directory}: the crawl has not begun yet, or its directory was deleted"
        raise Refused(HTTPStatus.CONFLICT, detail)
    try:
        export = await actions.exporter.ask_for(keeper.name, str(directory), body)
    except TooMany as error:
        raise Refused(HTTPStatus.CONFLICT, str(error)) from error
    audit(request, f"{keeper.name}: asked for the export {export.id} as {body.format}")
    return export


def _check(what: ExportBody) -> None:
    if what.format == "wacz" and what.table != "pages":
        raise Refused(HTTPStatus.UNPROCESSABLE_ENTITY, f"wacz packs the archive, and has no table of {what.table}")
    is_pages = what.format != "wacz" and what.table == "pages"
    if what.partition_by and not is_pages:
        raise Refused(HTTPStatus.UNPROCESSABLE_ENTITY, "partition_by is for the table of pages")
    if len({*what.partition_by}) < len(what.partition_by):
        raise Refused(HTTPStatus.UNPROCESSABLE_ENTITY, "partition_by names a column twice")


async def list_exports(actions: Actions, request: web.Request) -> ExportList:
    """Its exports, the newest first, and how far each is."""
    keeper = actions.keeper(request)
    folders = actions.exporter.folders
    return await asyncio.to_thread(
        lambda: ExportList(exports=tuple(folders.form(each) for each in folders.all_of(keeper.name)))
    )


async def show_export(actions: Actions, request: web.Request) -> ExportForm:
    """An export: how far it is, and its files."""
    return await actions.exporter.tell(await _find(actions, request))


async def cancel_export(actions: Actions, request: web.Request) -> ExportForm:
    """End an export that waits or runs; its complete files are kept."""
    export = await _find(actions, request)
    if export.state in ENDED:
        raise Refused(HTTPStatus.CONFLICT, f"the export {export.id} has ended: {export.state}")
    audit(request, f"{export.crawl}: cancels the export {export.id}")
    return await actions.exporter.tell(await actions.exporter.cancel(export))


async def delete_export(actions: Actions, request: web.Request) -> None:
    """Delete an export that has ended, with its files."""
    export = await _find(actions, request)
    if export.state not in ENDED:
        raise Refused(HTTPStatus.CONFLICT, f"the export {export.id} is {export.state}: cancel it first")
    try:
        await asyncio.to_thread(actions.exporter.folders.delete, export)
    except StillWritten as error:
        raise Refused(HTTPStatus.CONFLICT, str(error)) from error
    audit(request, f"{export.crawl}: deleted the export {export.id}")


async def download_file(actions: Actions, request: web.Request, query: FileQuery) -> web.StreamResponse:
    """A complete file of an export; ranges of it can be asked for.

    A client that has begun with another file gets all of this one.
    """
    export, file = await _find(actions, request), query.file
    path = await asyncio.to_thread(actions.exporter.folders.path_of, export, file)
    if path is None:
        raise Refused(HTTPStatus.NOT_FOUND, f"the export {export.id} has no complete file {file[:200]!r}")
    name = f"{export.crawl}-{path.name}" if export.what.format != "wacz" else path.name
    # What a crawled site says must never become a page of the daemon.
    headers = {
        hdrs.CONTENT_TYPE: FILE,
        hdrs.CONTENT_DISPOSITION: f"attachment; filename*=UTF-8''{quote(name, safe='')}",
        "X-Content-Type-Options": "nosniff",
    }
    response = _FileResponse(path, headers=headers)
    # With this, aiohttp reads the file itself, and compresses nothing. If a connection is aborted while asyncio lets
    # the system send a file, the next connection with its number is never answered.
    response.enable_compression(web.ContentCoding.identity)
    return response


class _FileResponse(web.FileResponse):
    """It sends each range as RFC 9110 demands."""

    async def prepare(self, request: BaseRequest) -> AbstractStreamWriter | None:
        if hdrs.RANGE in request.headers:
            with suppress(OSError):  # aiohttp tells it
                request = _with_range(request, await asyncio.to_thread(os.stat, self._path))
        return await super().prepare(request)


def _with_range(request: BaseRequest, status: os.stat_result) -> BaseRequest:
    """The request with a range of which aiohttp makes what it should, or without one that is to be ignored."""
    headers = CIMultiDict(request.headers)
    if request.method != "GET" or not (_is_known_range(request) and _has_begun_with(_tag_of(status), request)):
        del headers[hdrs.RANGE]
    elif _NO_BYTES.fullmatch(headers[hdrs.RANGE]):
        headers[hdrs.RANGE] = f"bytes={status.st_size}-"
    else:
        return request
    return request.clone(headers=headers)


def _tag_of(status: os.stat_result) -> str:
    """The entity tag of a file, as aiohttp writes it."""
    return f'"{status.st_mtime_ns:x}-{status.st_size:x}"'


def _is_known_range(request: BaseRequest) -> bool:
    """Others are ignored, by RFC 9110, section 14.2; aiohttp refuses them."""
    try:
        return request.http_range is not None
    except ValueError:
        return False


def _has_begun_with(tag: str, request: BaseRequest) -> bool:
    """Whether a range may be sent, by RFC 9110, section 13.1.5. Of If-Range, aiohttp compares dates alone."""
    return hdrs.IF_RANGE not in request.headers or request.if_range is not None or request.headers[hdrs.IF_RANGE] == tag


async def _find(actions: Actions, request: web.Request) -> StoredExport:
    keeper, name = actions.keeper(request), request.match_info["export"]
    export = await actions.exporter.find(keeper.name, name)
    if export is None:
        raise Refused(HTTPStatus.NOT_FOUND, f"{keeper.name} has no export {name[:100]!r}")
    return export

"""Exports: asks for them, tells of them, gives out their files."""

import asyncio
from http import HTTPStatus
from urllib.parse import quote

from aiohttp import hdrs, web

from crawler.serve.api.actions import Actions, audit, body_of, query_of
from crawler.serve.api.problems import Refused
from crawler.serve.exports.forms import ENDED, ExportBody, ExportForm, ExportList, FileQuery, StoredExport
from crawler.serve.exports.stored import StillWritten, TooMany

FILE = "application/octet-stream"


async def ask_for_export(actions: Actions, request: web.Request) -> ExportForm:
    what = await body_of(request, ExportBody)
    _check(what)
    keeper = actions.keeper(request)
    directory = actions.directory(keeper)
    if not (directory / "crawl.toml").exists():
        raise Refused(HTTPStatus.CONFLICT, f"{keeper.name} has not begun yet, so there is nothing to export")
    try:
        export = await actions.exporter.ask_for(keeper.name, str(directory), what)
    except TooMany as error:
        raise Refused(HTTPStatus.CONFLICT, str(error)) from error
    audit(request, f"{keeper.name}: asked for the export {export.id} as {what.format}")
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
    keeper = actions.keeper(request)
    folders = actions.exporter.folders
    return await asyncio.to_thread(
        lambda: ExportList(exports=tuple(folders.form(each) for each in folders.all_of(keeper.name)))
    )


async def show_export(actions: Actions, request: web.Request) -> ExportForm:
    return await actions.exporter.tell(await _find(actions, request))


async def cancel_export(actions: Actions, request: web.Request) -> ExportForm:
    export = await _find(actions, request)
    if export.state in ENDED:
        raise Refused(HTTPStatus.CONFLICT, f"the export {export.id} has ended: {export.state}")
    audit(request, f"{export.crawl}: cancels the export {export.id}")
    return await actions.exporter.tell(await actions.exporter.cancel(export))


async def delete_export(actions: Actions, request: web.Request) -> None:
    export = await _find(actions, request)
    if export.state not in ENDED:
        raise Refused(HTTPStatus.CONFLICT, f"the export {export.id} is {export.state}: cancel it first")
    try:
        await asyncio.to_thread(actions.exporter.folders.delete, export)
    except StillWritten as error:
        raise Refused(HTTPStatus.CONFLICT, str(error)) from error
    audit(request, f"{export.crawl}: deleted the export {export.id}")


async def download_file(actions: Actions, request: web.Request) -> web.FileResponse:
    """A file of an export, or a range of it."""
    export, file = await _find(actions, request), query_of(request, FileQuery).file
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
    response = web.FileResponse(path, headers=headers)
    # With this, aiohttp reads the file itself, and compresses nothing. If a connection is aborted while asyncio lets
    # the system send a file, the next connection with its number is never answered.
    response.enable_compression(web.ContentCoding.identity)
    return response


async def _find(actions: Actions, request: web.Request) -> StoredExport:
    keeper, name = actions.keeper(request), request.match_info["export"]
    export = await actions.exporter.find(keeper.name, name)
    if export is None:
        raise Refused(HTTPStatus.NOT_FOUND, f"{keeper.name} has no export {name[:100]!r}")
    return export

"""Which request about exports does what."""

from http import HTTPStatus
from typing import Final

from crawler.serve.api.data import exports
from crawler.serve.api.route import NAMED, Route
from crawler.serve.exports.forms import ExportBody, FileQuery

_EXPORTS: Final = f"{NAMED}/exports"
_EXPORT: Final = f"{_EXPORTS}/{{export}}"

EXPORT_ROUTES: Final = (
    Route(
        method="GET",
        path=_EXPORTS,
        name="listExports",
        meaning="Its exports, the newest first, and how far each is",
        action=exports.list_exports,
    ),
    Route(
        method="POST",
        path=_EXPORTS,
        name="startExport",
        meaning="Export what the crawl has written, as tables or as one file that replays; one at a time",
        action=exports.ask_for_export,
        body=ExportBody,
        status=HTTPStatus.ACCEPTED,
    ),
    Route(
        method="GET",
        path=_EXPORT,
        name="showExport",
        meaning="An export: how far it is, and its files",
        action=exports.show_export,
    ),
    Route(
        method="POST",
        path=f"{_EXPORT}/cancel",
        name="cancelExport",
        meaning="End an export that waits or runs; its complete files are kept",
        action=exports.cancel_export,
        status=HTTPStatus.ACCEPTED,
    ),
    Route(
        method="DELETE",
        path=_EXPORT,
        name="deleteExport",
        meaning="Delete an export that has ended, with its files",
        action=exports.delete_export,
        status=HTTPStatus.NO_CONTENT,
        refusals=(HTTPStatus.CONFLICT,),
    ),
    Route(
        method="GET",
        path=f"{_EXPORT}/file",
        name="downloadFile",
        meaning="A complete file of an export; ranges of it can be asked for",
        action=exports.download_file,
        streams=exports.FILE,
        has_ranges=True,
        query=FileQuery,
    ),
)

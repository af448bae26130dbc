"""Errors, in the form of RFC 9457."""

import logging
from collections.abc import Mapping
from http import HTTPStatus
from types import MappingProxyType
from typing import Final

import msgspec
from aiohttp import web
from aiohttp.typedefs import Handler

from config import shortened

log = logging.getLogger(__name__)

MEDIA_TYPE: Final = "application/problem+json"
_MAX_CHARACTERS: Final = 20_000
"""Of `detail`. A line of it may have 2,000."""


class Problem(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Why a request was not carried out. Nothing has changed."""

    title: str
    status: int
    detail: str
    """What was expected, what was found, and what to do."""
    problems: tuple[str, ...] = ()
    """What is wrong with a configuration, with the lines."""


class Refused(Exception):
    """A request is not carried out."""

    def __init__(
        self,
        status: HTTPStatus,
        detail: str,
        problems: tuple[str, ...] = (),
        *,
        headers: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        super().__init__(detail)
        self.headers = headers
        lines = "\n".join(map(shortened, detail.split("\n")))
        lines = shortened(lines, longest=_MAX_CHARACTERS, shown=_MAX_CHARACTERS)
        self.problem = Problem(title=status.phrase, status=status, detail=lines, problems=problems)


def response(problem: Problem, headers: Mapping[str, str] | None = None) -> web.Response:
    body = msgspec.json.encode(problem)
    return web.Response(status=problem.status, body=body, content_type=MEDIA_TYPE, headers=headers)


@web.middleware
async def as_problems(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Answer all errors as problems."""
    try:
        return await handler(request)
    except Refused as refused:
        return response(refused.problem, refused.headers)
    except web.HTTPException as error:
        if error.status < HTTPStatus.BAD_REQUEST:
            raise
        detail = _DETAILS.get(error.status, error.reason)
        found = response(Problem(title=error.reason, status=error.status, detail=detail))
        if "Allow" in error.headers:
            found.headers["Allow"] = error.headers["Allow"]
        return found
    except OSError as error:
        detail = f"the daemon can't do this now: {error.strerror or error}"
        return response(Refused(HTTPStatus.SERVICE_UNAVAILABLE, detail).problem)
    except Exception:
        # A bug in an answer must not end the daemon.
        log.exception("a request could not be answered: %s %s", request.method, request.path)
        return response(Refused(HTTPStatus.INTERNAL_SERVER_ERROR, "the log of the daemon says more").problem)


_DETAILS: Final = {
    404: "there is nothing here; /api/v1/openapi.json lists what there is",
    405: "this can't be done here; /api/v1/openapi.json lists what can",
    413: "the body of a request has at most 1 MiB",
}

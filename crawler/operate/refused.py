"""Why a request of an operator is not carried out."""

from typing import TypeVar

import msgspec

from crawler.codes.exit_codes import USAGE
from crawler.control.replies import Refusal
from crawler.control.requests import Request
from crawler.control.wire import encode_request

_Reply = TypeVar("_Reply")


class Refused(Exception):
    """A request was not carried out, or by some parts of the crawl only. The message says what has changed, if anything
    has, and what to do."""

    def __init__(self, message: str, exit_code: int = USAGE) -> None:
        super().__init__(message)
        self.exit_code = exit_code


def check_request(request: Request[msgspec.Struct]) -> None:
    """Raise `Refused` for what can't be sent to a running crawl, so that one that does not run takes the same."""
    try:
        encode_request(request)
    except ValueError as error:
        raise Refused(f"this can't be sent to the crawl: {error}") from error


def reply_or_raise(reply: _Reply | Refusal) -> _Reply:
    """The reply. Raises `Refused` if it is a refusal."""
    if isinstance(reply, Refusal):
        raise Refused(reply.message, reply.exit_code)
    return reply

"""Parameters and bodies of requests."""

from typing import Annotated

import msgspec

from crawler.control.requests import MAX_BUDGET, MAX_ITEMS, MAX_PRECEDENCE, MAX_REFUSALS, MAX_URLS, QueueOrder
from crawler.disk.layout import MAX_PARTS

MAX_MATCH = 300
MAX_URL = 65_536

Match = Annotated[str, msgspec.Meta(max_length=MAX_MATCH, description="Only hosts that contain this.")]
Limit = Annotated[int, msgspec.Meta(ge=1, le=MAX_ITEMS)]


class PartQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The whole crawl, or one part of it."""

    part: Annotated[int, msgspec.Meta(ge=0, lt=MAX_PARTS, description="Only this part of a crawl in parts.")] | None = (
        None
    )


class HostQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which hosts."""

    match: Match = ""
    limit: Limit = 50


class QueueQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which queues."""

    sort: QueueOrder = "size"
    match: Match = ""
    retired: bool = False
    limit: Limit = 50
    after_rank: float | None = None
    """With `after_key`: begin behind the queue with this rank and key, the last of an earlier reply."""
    after_key: Annotated[str, msgspec.Meta(max_length=MAX_MATCH)] = ""


class RefusedQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which refusals."""

    match: Match = ""
    limit: Annotated[int, msgspec.Meta(ge=1, le=MAX_REFUSALS)] = 50


class SeedsBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """URLs to add to a crawl."""

    urls: Annotated[list[str], msgspec.Meta(min_length=1, max_length=MAX_URLS)]
    precedence: Annotated[int, msgspec.Meta(ge=0, le=MAX_PRECEDENCE)] | None = None
    """When they are fetched: 0 first, 255 last."""
    force: bool = False
    """Whether known URLs, and those out of scope, are fetched as well."""


class BudgetBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a host may spend in all."""

    cost: Annotated[int, msgspec.Meta(ge=0, le=MAX_BUDGET)] | None
    """With null, the general budget applies again."""

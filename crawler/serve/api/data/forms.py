"""Parameters and bodies of requests."""

from typing import Annotated, Literal

import msgspec

from crawler.control.known_urls import UrlForm
from crawler.control.requests import (
    MAX_BUDGET,
    MAX_PRECEDENCE,
    MAX_REFUSALS,
    MAX_SETTINGS,
    MAX_URLS,
    HostState,
    Limit,
    QueueOrder,
)
from crawler.control.selections import Selection
from crawler.operate.diff.forms import Field, Kind
from crawler.operate.report.lists.forms import ListName
from crawler.page import PageRecord
from frontier import MAX_PARTS

MAX_MATCH = 300
MAX_URL = 65_536
MAX_LINES = 1000
MAX_WORDS = 1000
MAX_SKIP = 1_000_000

Match = Annotated[str, msgspec.Meta(max_length=MAX_MATCH, description="Only hosts that contain this.")]
Part = Annotated[int, msgspec.Meta(ge=0, lt=MAX_PARTS, description="Only this part of a crawl in parts.")]


class PartQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The whole crawl, or one part of it."""

    part: Part | None = None


class HostQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which hosts."""

    match: Match = ""
    state: HostState | None = None
    limit: Limit = 50
    after: Annotated[str, msgspec.Meta(max_length=MAX_URL)] | None = None
    """The place `after` of an earlier reply, as JSON."""


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


class UrlsBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """URLs of a crawl."""

    urls: Annotated[list[str], msgspec.Meta(min_length=1, max_length=MAX_URLS)]


class ForgetBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which URLs to forget: those to which all of `which` applies. `after` is the place of an earlier reply."""

    which: Selection
    after: Annotated[str, msgspec.Meta(max_length=MAX_URL)] = ""


class RecrawlBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which URLs to fetch again: those to which all of `which` applies. `after` is the place of an earlier reply."""

    which: Selection = Selection()
    whole: bool = False
    """Whether servers must send whole pages, also of copies that are still current."""
    after: Annotated[str, msgspec.Meta(max_length=MAX_URL)] = ""


class BudgetBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a host may spend in all."""

    cost: Annotated[int, msgspec.Meta(ge=0, le=MAX_BUDGET)] | None
    """With null, the general budget applies again."""


class UrlQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A URL."""

    url: Annotated[str, msgspec.Meta(min_length=1, max_length=MAX_URL)]


class UrlStory(msgspec.Struct, frozen=True, kw_only=True):
    """What is known about a URL, and the record of its page."""

    canonical: str
    found: UrlForm | None
    """Null if the crawl does not know it."""
    refused: str | None = None
    """Why links to a URL that the crawl does not know are not followed; null if they are, where pages have some."""
    record: PageRecord | None
    """Null if there is none: the URL still waits, or the crawl writes no records."""
    searched_all: bool
    """Whether all records were searched; if not, an old one was not found."""


class PagesQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which pages."""

    limit: Limit = 50
    failed: bool = False


class ReportQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How many hosts of each kind, or rows of a list; with which list; of which part."""

    limit: Limit = 10
    section: ListName | None = None
    part: Part | None = None


class ReportPageQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How many rows of each table; of which part."""

    limit: Limit = 100
    part: Part | None = None


class SearchQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What to look for, and which of the pages that have it, the best first."""

    words: Annotated[str, msgspec.Meta(min_length=1, max_length=MAX_WORDS, pattern=r"^[^\x00]*$")]
    """As `onceover search` takes them. No command takes a NUL."""
    limit: Limit = 10
    skip: Annotated[int, msgspec.Meta(ge=0, le=MAX_SKIP)] = 0


class DiffQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a crawl is compared with: itself at a moment, an earlier run of its schedule, or another crawl. And which
    URLs to list."""

    since: Annotated[float, msgspec.Meta(ge=-1e9, le=1e11)] | None = None
    """In seconds since 1970; a moment that is not positive counts from now."""
    run: Annotated[str, msgspec.Meta(max_length=MAX_MATCH)] | None = None
    """The name of its directory."""
    against: Annotated[str, msgspec.Meta(max_length=MAX_MATCH)] | None = None
    """The name of the other crawl, which counts as the earlier one."""
    map: Annotated[str, msgspec.Meta(max_length=MAX_URL)] = ""
    """Pairs of URLs, with spaces between: how URLs of the earlier crawl begin, and how those of the later one do."""
    only: Kind | Field | None = None
    """Only URLs of this kind, or pages in which this has changed."""
    limit: Limit = 50
    """URLs of each kind."""


class PageList(msgspec.Struct, frozen=True, kw_only=True):
    """Page records without their links, the newest first."""

    pages: list[PageRecord]
    searched_all: bool
    """Whether all records were searched; if not, there may be older ones."""


class LogQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How much of which log."""

    lines: Annotated[int, msgspec.Meta(ge=1, le=MAX_LINES)] = 100
    part: Part | None = None


class LogTail(msgspec.Struct, frozen=True, kw_only=True):
    """The last lines of a log, the oldest first."""

    path: str
    lines: list[str]


class SettingsBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """New values of settings: all of them change, or none."""

    settings: Annotated[list[str], msgspec.Meta(min_length=1, max_length=MAX_SETTINGS)]
    """Each as KEY=VALUE."""
    dry_run: bool = False
    """Whether they are only checked."""


class ConfigurationText(msgspec.Struct, frozen=True, kw_only=True):
    """The file of a crawl."""

    text: str
    """TOML."""


class TextBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Another text for the file of a crawl."""

    text: str
    """TOML."""
    before: str
    """The text that it replaces. If the file has another one by then, nothing changes."""


class ReloadBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Whether the configuration is only checked."""

    dry_run: bool = False


class SettingForm(msgspec.Struct, frozen=True, kw_only=True):
    """A setting."""

    key: str
    value: str
    """As TOML; `unset` if it has none."""
    origin: str
    """Where the value comes from: `default`, or a file with its line, a preset, the environment."""
    meaning: str
    running: str | None
    """The value that the running crawl has now, if that is another one."""
    holds: Literal["now", "restart"] | None
    """When a change of it holds in a crawl that runs, if nothing in that crawl is in the way, which the reply to the
    change tells; null if it can only be changed by hand, or not at all."""
    reason: str | None
    """Why it does not hold at once, or can't be changed."""


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """The settings of a crawl, in their order."""

    settings: list[SettingForm]

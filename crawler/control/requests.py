"""What can be asked of a crawl."""

from typing import Annotated, Final, Generic, Literal, TypeVar, get_args

import msgspec

from crawler.control.frozen import Frozen, Held
from crawler.control.known_urls import UrlFound
from crawler.control.replies import (
    Changed,
    Checkpoint,
    CrawlStatus,
    ExportPiece,
    HostList,
    Imported,
    Judged,
    NextList,
    PauseState,
    QueueList,
    Reconfigured,
    RefusedList,
    RobotsList,
    Stopping,
)
from crawler.control.selections import Selected, Selection
from visited import VisitedStats

_Reply = TypeVar("_Reply", bound=msgspec.Struct)
_Reply_co = TypeVar("_Reply_co", bound=msgspec.Struct, covariant=True)

MAX_URLS: Final = 1000
"""URLs or lines in one request."""
MAX_SETTINGS: Final = 1000
MAX_ITEMS: Final = 1000
"""Queues, hosts or refusals in one reply."""
MAX_REFUSALS: Final = 2 * MAX_ITEMS
"""The same for refusals: more than a crawl counts."""
MAX_BUDGET: Final = 1 << 53
MAX_PRECEDENCE: Final = 255
MAX_REASON: Final = 2000
_MAX_OFFSET: Final = 1_000_000
_PIECE_BYTES: Final = 1 << 19
_MAX_PIECE_BYTES: Final = 1 << 24
_MAX_HOLD_S: Final = 3600.0

Urls = Annotated[list[str], msgspec.Meta(max_length=MAX_URLS)]
Settings = Annotated[list[str], msgspec.Meta(min_length=1, max_length=MAX_SETTINGS)]
"""Each as KEY=VALUE."""
Reason = Annotated[
    str,
    # Unlike `$`, the end does not match before a final line feed.
    msgspec.Meta(min_length=1, max_length=MAX_REASON, pattern=r"^[^\x00-\x1f\x7f-\x9f]+(?![\s\S])"),
]
Limit = Annotated[int, msgspec.Meta(ge=1, le=MAX_ITEMS)]


def checked_reason(text: str, /) -> Reason:
    """The same text. Raises `ValueError` if it can't be the reason of a pause, and `TypeError` if it is no text."""
    if not isinstance(text, str):  # a program without types gives it
        raise TypeError(f"expected the reason of a pause as text, found {text!r}")
    try:
        return msgspec.convert(text, Reason)
    except msgspec.ValidationError:
        shown = repr(text) if len(text) <= MAX_REASON else f"{len(text):,}"
        raise ValueError(f"expected 1 to {MAX_REASON:,} characters without control characters, found {shown}") from None


class Request(msgspec.Struct, Generic[_Reply_co], frozen=True, kw_only=True):
    """A request to a crawl, and the form of its reply."""


class Query(Request[_Reply_co], frozen=True, kw_only=True):
    """A request that changes nothing."""


def reply_type(request: Request[_Reply]) -> type[_Reply]:
    (form,) = vars(type(request))["__orig_bases__"]  # such as `Query[CrawlStatus]`
    reply: type[_Reply] = get_args(form)[0]
    return reply


class GetStatus(Query[CrawlStatus], frozen=True, tag="status"):
    """The state of the crawl."""


class Pause(Request[PauseState], frozen=True, tag="pause"):
    """Lease nothing until `Resume`, also after a restart. URLs in flight are finished."""

    reason: Reason


class Resume(Request[PauseState], frozen=True, tag="resume"):
    """End a pause."""


class Stop(Request[Stopping], frozen=True, tag="stop"):
    """Finish the URLs in flight and end the process; with `now`, drop them. If that happens at once, there is no
    reply."""

    now: bool = False


class TakeCheckpoint(Request[Checkpoint], frozen=True, tag="checkpoint"):
    """Bring onto the disk what the crawl has done until now, its output included."""


class Freeze(Request[Frozen], frozen=True, tag="freeze"):
    """Keep all files of the crawl as they are at this moment, in the folder `copying` of its directory, until somebody
    deletes that. For `onceover backup`, which makes and deletes the folder."""


class HoldParcels(Request[Held], frozen=True, tag="hold-parcels"):
    """Delete no links that are safe at other parts of the crawl, for so long, or go on if that is 0."""

    seconds: Annotated[float, msgspec.Meta(ge=0, le=_MAX_HOLD_S)]


class Add(Request[Judged], frozen=True, tag="add"):
    """Enqueue URLs.

    A URL that the crawl knows or that is out of scope is not enqueued, unless with `force`.
    """

    urls: Urls
    precedence: Annotated[int, msgspec.Meta(ge=0, le=MAX_PRECEDENCE)] | None = None
    force: bool = False


class Forget(Request[Judged], frozen=True, tag="forget"):
    """Remove settled URLs from ledger and visited set, so that they are new again."""

    urls: Urls


class ForgetSelected(Request[Selected], frozen=True, tag="forget-selected"):
    """Forget all URLs of a selection, a piece at a time."""

    which: Selection
    after: str = ""
    """Begin behind this place, which an earlier reply gives."""


class Recrawl(Request[Selected], frozen=True, tag="recrawl"):
    """Fetch all URLs of a selection again, a piece at a time, except for those that rules have excluded, unless it is
    these that are selected."""

    which: Selection = Selection()
    after: str = ""
    """Begin behind this place, which an earlier reply gives."""
    whole: bool = False
    """Whether servers must send whole pages, also of copies that are still current."""


class Retire(Request[Changed], frozen=True, tag="retire"):
    """Stop serving a host."""

    host: str


class Unretire(Request[Changed], frozen=True, tag="unretire"):
    """Serve a host again."""

    host: str


class SetBudget(Request[Changed], frozen=True, tag="budget"):
    """Set the total budget of a host; None restores the general one."""

    host: str
    cost: Annotated[int, msgspec.Meta(ge=0, le=MAX_BUDGET)] | None


class Set(Request[Reconfigured], frozen=True, tag="set"):
    """Change settings, all of them or none.

    With `dry_run` they are checked as ever, and nothing changes. Whoever has several crawls to change asks all of them
    that first.
    """

    settings: Settings
    dry_run: bool = False


class Reload(Request[Reconfigured], frozen=True, tag="reload"):
    """Read the configuration again with which the crawl was started, and change what is different, all of it or
    nothing."""

    dry_run: bool = False


class InspectUrl(Query[UrlFound], frozen=True, tag="inspect-url"):
    """What the crawl knows about a URL."""

    url: str


QueueOrder = Literal["size", "wake", "errors", "key"]


class InspectQueues(Query[QueueList], frozen=True, tag="inspect-queues"):
    """The queues that have URLs."""

    sort: QueueOrder = "size"
    match: str = ""
    retired: bool = False
    offset: Annotated[int, msgspec.Meta(ge=0, le=_MAX_OFFSET)] = 0
    """Leave out this many."""
    after: tuple[float, str] | None = None
    """Begin behind the queue with this rank and key, the last of an earlier reply."""
    limit: Limit = 50


class InspectNext(Query[NextList], frozen=True, tag="inspect-next"):
    """The URLs of a host that come next, those in flight included."""

    host: str
    limit: Limit = 50


class InspectVisited(Query[VisitedStats], frozen=True, tag="inspect-visited"):
    """What the visited set costs and loses."""


class InspectRefused(Query[RefusedList], frozen=True, tag="inspect-refused"):
    """What traps and quotas have refused, most first."""

    match: str = ""
    limit: Annotated[int, msgspec.Meta(ge=1, le=MAX_REFUSALS)] = 50


class InspectRobots(Query[RobotsList], frozen=True, tag="inspect-robots"):
    """What the robots.txt of hosts said when they were asked last."""

    hosts: Annotated[list[str], msgspec.Meta(max_length=MAX_ITEMS)]
    """As URLs have them, without ports."""
    sitemaps: bool = False
    """Whether to tell the sitemaps that they name."""


HostState = Literal["in-process", "ready", "held-back", "snoozed", "inactive", "retired"]
HostPlace = tuple[int, str, str]
"""Where a host stands in the list."""


class Top(Query[HostList], frozen=True, tag="top"):
    """The hosts that are being served, and why each waits."""

    match: str = ""
    state: HostState | None = None
    after: HostPlace | None = None
    """Begin behind this place, which an earlier reply gives. Hosts that are served move meanwhile; so one may come
    again, or be left out. The others keep their places."""
    limit: Limit = 50


class Export(Query[ExportPiece], frozen=True, tag="export"):
    """A piece of the ledger, in the order of canonical URLs."""

    after: str = ""
    pending: bool = False
    max_bytes: Annotated[int, msgspec.Meta(ge=1, le=_MAX_PIECE_BYTES)] = _PIECE_BYTES
    """A piece with so much has no further lines."""


class Import(Request[Imported], frozen=True, tag="import"):
    """Enter URLs of another crawl, as lines of its export."""

    lines: Annotated[list[msgspec.Raw], msgspec.Meta(max_length=MAX_URLS)]


AnyRequest = (
    GetStatus
    | Pause
    | Resume
    | Stop
    | TakeCheckpoint
    | Freeze
    | HoldParcels
    | Add
    | Forget
    | ForgetSelected
    | Recrawl
    | Retire
    | Unretire
    | SetBudget
    | Set
    | Reload
    | InspectUrl
    | InspectQueues
    | InspectNext
    | InspectVisited
    | InspectRefused
    | InspectRobots
    | Top
    | Export
    | Import
)

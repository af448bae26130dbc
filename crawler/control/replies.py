"""What a crawl replies, in the forms that the commands print as JSON: moments as RFC 3339, states as words."""

from typing import Literal

import msgspec
from msgspec import UNSET, UnsetType

from crawler.codes.exit_codes import USAGE
from crawler.course.forms import CoursePoint, Remaining
from crawler.status import Status
from frontier import FrontierStats

PartNumber = int | UnsetType
"""The part that something belongs to; only of a crawl in parts."""


class Refusal(msgspec.Struct, frozen=True):
    """A request that was not carried out. Nothing has changed."""

    message: str
    """What was expected, what was found, and what to do."""
    exit_code: int = USAGE
    """The exit code of a command that gets this."""


class SettingChange(msgspec.Struct, frozen=True, kw_only=True):
    """A setting that has changed."""

    key: str
    was: str
    now: str
    text: str
    """Both, in words."""
    holds: Literal["now", "restart"]
    """Whether it holds at once, or from the next start."""
    reason: str | None = None
    """Why it does not hold at once."""


class CrawlStatus(msgspec.Struct, frozen=True, kw_only=True):
    """A crawl at one moment."""

    directory: str
    running: bool
    pid: int | None
    paused: str | None
    """Why the operator has paused it; None if it is not paused."""
    stopping: bool = False
    frontier: FrontierStats
    run: Status | None
    """The counts of this run; None if the crawl does not run."""
    share_done: float | None = None
    """0 to 1; None if no URL is known, or a part can't tell."""
    remaining: Remaining | None = None
    next_settings: list[SettingChange] = []
    """Settings that were changed, and hold from the next start; `was` is what holds now."""
    course: list[CoursePoint] | UnsetType = UNSET
    """Only commands that read it from the directory add it."""
    parts: "list[PartStatus] | UnsetType" = UNSET
    """Only a crawl in parts has them."""

    @property
    def waits(self) -> str | None:
        """Why it, or a part of it, begins nothing now, if its operator is not all that has paused it."""
        each = [part.status for part in self.parts if part.status is not None] if self.parts else [self]
        reasons = (found.frontier.paused for found in each if found.frontier.paused != found.paused)
        return next((why for why in reasons if why is not None), None)


class PartStatus(msgspec.Struct, frozen=True, kw_only=True):
    """A part of a crawl at one moment."""

    part: int
    directory: str
    status: CrawlStatus | None
    """None if the part can't tell."""
    error: str | None = None
    """Why it can't, and what to do."""


class PauseState(msgspec.Struct, frozen=True, kw_only=True):
    """Whether a crawl is paused."""

    paused: str | None
    running: bool
    in_flight: int = 0
    """URLs in flight, which are finished."""


class Stopping(msgspec.Struct, frozen=True, kw_only=True):
    """A crawl is stopping, or did not run."""

    was_running: bool
    in_flight: int = 0


class WrittenFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file of an output."""

    file: str
    """Its path below the directory of the crawl."""
    bytes: int
    """Up to where it is on the disk."""


class Checkpoint(msgspec.Struct, frozen=True, kw_only=True):
    """A crawl whose work until a moment is on the disk, so that it survives a power failure."""

    running: bool
    at: str
    """All that was settled before this moment is safe, with its output."""
    settled: int
    """URLs that were settled then."""
    queued: int
    """URLs that were queued then, which are safe too."""
    files: list[WrittenFile]
    """The newest file of each output, up to where it was written then. All files before them are safe."""


Outcome = Literal["added", "known", "waits", "refused", "invalid", "forgotten", "unknown"]


class JudgedUrl(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a URL in a request."""

    url: str
    outcome: Outcome
    reason: str | None = None
    """In words."""


class Judged(msgspec.Struct, frozen=True, kw_only=True):
    """What became of the URLs in a request, in their order."""

    urls: list[JudgedUrl]


class Reconfigured(msgspec.Struct, frozen=True, kw_only=True):
    """How the settings of a crawl have changed."""

    running: bool
    dry_run: bool
    """Whether nothing was changed, but only checked."""
    file: str | None
    """The configuration that was read again; None if none was."""
    changes: list[SettingChange]
    new_seeds: int = 0
    """Seeds that were added to the queues."""


class HealthForm(msgspec.Struct, frozen=True, kw_only=True):
    """How a server has behaved lately."""

    error_streak: int
    answered: bool
    trouble: str | None
    pressure: int
    probe_at: str | None


class QueueForm(msgspec.Struct, frozen=True, kw_only=True):
    """A queue."""

    host: str
    served: bool
    key: str
    size: int
    wake_at: str | None
    health: HealthForm
    precedence: int
    spent: int
    budget: int | None
    retired: bool
    pace_s: float
    address: str | None
    part: PartNumber = UNSET


class Changed(msgspec.Struct, frozen=True, kw_only=True):
    """The queues that a request has changed."""

    queues: list[QueueForm]


class QueueList(msgspec.Struct, frozen=True, kw_only=True):
    """Queues, in the order that was asked for."""

    queues: list[QueueForm]
    left: int
    """Further queues behind these."""
    ranks: list[float] = []
    """What these queues are sorted by, before their keys."""


class NextUrl(msgspec.Struct, frozen=True, kw_only=True):
    """A URL that waits in a queue."""

    url: str
    canonical: str
    queue: str
    precedence: int
    depth: int
    attempt: int
    via: str | None
    kind: str


class NextList(msgspec.Struct, frozen=True, kw_only=True):
    """The URLs that come next, queue by queue."""

    urls: list[NextUrl]
    left: int
    """Further URLs in these queues."""


class RefusedForm(msgspec.Struct, frozen=True, kw_only=True):
    """What a rule has refused on a host."""

    rule: str
    host: str | None
    count: int
    examples: list[str]


class RefusedList(msgspec.Struct, frozen=True, kw_only=True):
    """Rules and hosts, most refusals first."""

    refused: list[RefusedForm]
    left: int


class RobotsForm(msgspec.Struct, frozen=True, kw_only=True):
    """What the robots.txt of a host said when it was asked last; of several, for its ports and schemes, the latest that
    could be had."""

    host: str
    robots: str
    """allowed (it allows everything), partly, disallowed (everything), unreachable (it could not be had, so nothing may
    be fetched), none (there is none)"""
    asked_at: str | None
    """None if the crawl refuses to ask."""
    crawl_delay_s: float | None
    """The longest of all files of the host."""
    message: str | None = None
    """Why it could not be had."""
    sitemaps: list[str] | None = None
    """As written there, of all files of the host; None if nobody has asked, or one of the files is not known."""


class RobotsList(msgspec.Struct, frozen=True, kw_only=True):
    """Those of the hosts that were asked for."""

    hosts: list[RobotsForm]


class HostForm(msgspec.Struct, frozen=True, kw_only=True):
    """A host that is being served, or has URLs that wait."""

    host: str
    key: str
    state: str
    """ready, in-process, snoozed, inactive, retired"""
    size: int
    """URLs that wait in its queue, including leased ones."""
    spent: int
    leased: int
    error_streak: int = 0
    """How often its server has failed in a row."""
    wake_at: str | None
    waits: str
    """What it does or why it waits, for people."""
    part: PartNumber = UNSET


class HostList(msgspec.Struct, frozen=True, kw_only=True):
    """Hosts: those in process first, then by the time at which they are next."""

    hosts: list[HostForm]
    left: int | None
    """Further hosts behind these; None if they were not counted, as behind a place."""
    after: tuple[int, str, str] | None = None
    """The place behind which the next ones begin; None at the end."""
    broken: list[PartStatus] = []
    """Parts whose hosts are missing here, because they can't tell."""


class ExportPiece(msgspec.Struct, frozen=True, kw_only=True):
    """Lines of the export, and where the next piece begins; None at the end."""

    lines: list[msgspec.Raw]
    after: str | None
    damaged: list[str]
    """Keys of records that can't be decoded."""


class Imported(msgspec.Struct, frozen=True, kw_only=True):
    """How many URLs of an import were new."""

    added: int

"""What the supervisor of a crawl and a part tell each other about the part."""

from collections.abc import Mapping

import msgspec

from crawler.parts.ending import Answer
from crawler.status import Status


class Begin(msgspec.Struct, frozen=True, kw_only=True, tag="begin"):
    """Open the part and run it. This is the first message."""

    version: str
    """The version of the supervisor's program."""
    number: int
    lineage: int
    directories: list[str]
    """The directories of all parts, in their order."""
    configuration: str
    """Of the crawl: as JSON, all values that differ from their defaults, by key."""
    rebuild: bool = False
    """Rebuild the stored URLs after a change of the rules."""
    again: bool = False
    """The part has been open before in this run. So it may be paused."""
    options: Mapping[str, str | None] = {}
    """Settings that hold on this machine alone, by key."""
    lease: int | None = None
    """The descriptor of the lease of the part (`crawler.cluster.shared_lease`); None if it needs none."""


class Ask(msgspec.Struct, frozen=True, kw_only=True, tag="ask"):
    """Say what the part has to do, after opening or closing the gate through which operators add URLs. The answer is
    `Answered`."""

    wave: int
    close_gate: bool


class End(msgspec.Struct, frozen=True, tag="end"):
    """The crawl is complete."""


class Stop(msgspec.Struct, frozen=True, kw_only=True, tag="stop"):
    """Finish the URLs in flight, or drop them, and end."""

    now: bool


class Connect(msgspec.Struct, frozen=True, tag="connect"):
    """Whoever decides for a crawl on many machines can be reached from now on. The answer is `Connected`, and services
    begin."""

    number: int


class Disconnect(msgspec.Struct, frozen=True, tag="disconnect"):
    """Nobody decides for the crawl until the next `Connect`. The part goes on alone with what it may."""


class ToService(msgspec.Struct, frozen=True, kw_only=True, tag="service"):
    """A message of a service."""

    service: str
    body: msgspec.Raw


class Rebuilding(msgspec.Struct, frozen=True, kw_only=True, tag="rebuilding"):
    """The part is not open yet."""

    what: str
    urls: int


class Opened(msgspec.Struct, frozen=True, kw_only=True, tag="opened"):
    """The part is open, and runs from now on."""

    new_seeds: int
    resumed: bool
    choice: str | None
    """What `visited.backend = "auto"` has chosen, for people."""
    status: Status
    lacks: Mapping[str, str] = {}
    """The settings that the part can't change while it runs, and why."""


class Connected(msgspec.Struct, frozen=True, tag="connected"):
    """The answer to `Connect`, with its number. What services send afterwards belongs to that connection."""

    number: int


class Progress(msgspec.Struct, frozen=True, kw_only=True, tag="progress"):
    """How far the part is. It comes several times a second."""

    status: Status
    is_idle: bool
    """Whether it is worth asking if the crawl is complete."""
    paused: str | None = None
    """Why its operator has paused it; None if it is not paused."""


class Answered(msgspec.Struct, frozen=True, kw_only=True, tag="answered"):
    """The answer to `Ask`."""

    wave: int
    answer: Answer


class Warned(msgspec.Struct, frozen=True, kw_only=True, tag="warned"):
    """The part has logged a warning or an error."""

    kind: str
    """The same for messages that differ only in arguments."""
    text: str


class Ended(msgspec.Struct, frozen=True, kw_only=True, tag="ended"):
    """The part has ended in order, and exits."""

    ending: str
    """An `Ending`."""
    status: Status
    has_page: bool
    """Whether one of its URLs is a page, or may become one."""


class Failed(msgspec.Struct, frozen=True, kw_only=True, tag="failed"):
    """The part can't begin or go on, and exits. To start it again would not help."""

    message: str
    exit_code: int


ToPart = Begin | Ask | End | Stop | Connect | Disconnect | ToService
FromPart = Rebuilding | Opened | Connected | Progress | Answered | Warned | Ended | Failed | ToService

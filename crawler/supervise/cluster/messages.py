"""What agents and the coordinator say to each other."""

from typing import Final

import msgspec

from crawler.control.replies import Reconfigured
from crawler.parts.exchange.wire import Wire
from crawler.parts.line.messages import FromPart, Opened, ToPart
from crawler.status import Status
from crawler.supervise.coordination.coordinator import RunState


class Hello(msgspec.Struct, frozen=True, kw_only=True, tag="hello"):
    """An agent has connected."""

    agent: str
    """Names its process."""
    after: str
    """The ending mark that it does not obey, because its run began later. Empty if there was none."""
    run: RunState


class Attached(msgspec.Struct, frozen=True, kw_only=True, tag="attached"):
    """A process of the agent has opened this part, and can be reached from now on."""

    part: int
    opened: Opened
    """What its first process in this agent has said."""
    status: Status
    """The status of all its processes in this agent together."""


class Says(msgspec.Struct, frozen=True, kw_only=True, tag="says"):
    """An attached part has said something."""

    part: int
    message: FromPart


class Detached(msgspec.Struct, frozen=True, kw_only=True, tag="detached"):
    """The process of the part has ended."""

    part: int


class Change(msgspec.Struct, frozen=True, kw_only=True, tag="change"):
    """An operator wants other settings. The answer is `Changed`."""

    ticket: int
    settings: list[str]
    dry_run: bool


class Tell(msgspec.Struct, frozen=True, kw_only=True, tag="tell"):
    """For an attached part."""

    part: int
    message: ToPart


class Remember(msgspec.Struct, frozen=True, kw_only=True, tag="remember"):
    """How far the run is."""

    run: RunState


class LookAgain(msgspec.Struct, frozen=True, tag="look"):
    """The register has changed: read it now. It says what all of it waits for sooner or later."""


class Changed(msgspec.Struct, frozen=True, kw_only=True, tag="changed"):
    """The answer to `Change`."""

    ticket: int
    done: Reconfigured | None
    refusal: str = ""
    """Why nothing was changed, if nothing is `done`."""
    exit_code: int = 0


class Adopted(msgspec.Struct, frozen=True, kw_only=True, tag="took"):
    """A part has taken over the configuration of this version."""

    version: int
    part: int


FromAgent = Hello | Attached | Says | Detached | Change
ToAgent = Tell | Remember | LookAgain | Changed | Adopted

WIRE: Final = Wire[FromAgent | ToAgent](FromAgent | ToAgent)
COORDINATOR: Final = "coordinator"
"""Where agents find it in the exchange."""

"""How the process of a crawl ended, and the rest that this causes."""

from typing import Final

import msgspec

from crawler.codes import exit_codes
from crawler.serve.life.facts import Process, Rest, Why

BY_COMMAND: Final = "stopped"
"""The ending of a crawl that `onceover stop` has stopped."""
STOPPED_GRACE_S: Final = 10.0
"""When the machine shuts down, a crawl may end by a signal before the daemon gets its own. So a crawl that a signal
has stopped only stays stopped if the daemon still runs after this time. One that a command has stopped always does."""
TRY_AGAIN_S: Final = 60.0
"""After which a crawl is tried again whose disk takes no writes or is away, or that lacks a server."""
FULL: Final = "the disk is full: free some space; what was saved is kept"
READ_ONLY: Final = "the disk takes no writes: mount its file system for writing, too; what was saved is kept"
GONE: Final = (
    "its directory has no crawl any more: mount its disk, or restore a copy there; if it is lost, start the crawl to "
    "begin it anew"
)
RUNS_GONE: Final = (
    "none of its earlier runs is there any more: mount their disk, or restore a copy; if they are lost, start the "
    "crawl to begin the next run all the same"
)
_UNKNOWN: Final = "ended; how is not known"


class Ended(msgspec.Struct, frozen=True, kw_only=True):
    """How a process ended."""

    exit_code: int | None
    """As the command documents it; negative for a signal. None if that is not known."""
    ending: str | None = None
    """What it reported as its ending."""
    lines: tuple[str, ...] = ()
    """The last lines of its messages."""
    is_disk_full: bool = False
    """Whether it failed because the disk is full."""
    is_read_only: bool = False
    """Whether it failed because its disk takes no writes, as after an error of the disk."""
    pages: int | None = None
    """Pages that it reported."""


def rest_after(how: Ended, now: float) -> Rest | None:
    """The rest that an ending causes; None if it is a crash or unknown."""
    if how.is_disk_full:
        return short(now, how.lines)
    if how.is_read_only:
        return short(now, how.lines, reason=READ_ONLY)
    if how.ending == "incomplete":
        reason = "nothing is left to fetch, but URLs were lost to damage or set aside"
        return Rest(why=Why.COMPLETE, reason=reason, since=now, lines=how.lines)
    if _has_no_page(how):
        reason = "nothing is left to fetch, but its run has ended without a page: its URLs failed, or were excluded"
        return Rest(why=Why.COMPLETE, reason=reason, since=now, lines=how.lines)
    match how.exit_code:
        case exit_codes.COMPLETE:
            return Rest(why=Why.COMPLETE, reason="nothing is left to fetch", since=now)
        case exit_codes.USAGE:
            return Rest(why=Why.HELD, reason="its configuration is refused", since=now, lines=how.lines)
        case exit_codes.LIMIT:
            return Rest(why=Why.LIMIT, reason="its run has reached a limit", since=now)
        case exit_codes.STOPPED:
            reason = "somebody has stopped it"
            until = None if how.ending == BY_COMMAND else now + STOPPED_GRACE_S
            return Rest(why=Why.STOPPED, reason=reason, since=now, until=until)
        case exit_codes.AWAY:
            reason = "a server that it needs can't be used now"
            return Rest(why=Why.SHORT, reason=reason, since=now, until=now + TRY_AGAIN_S, lines=how.lines)
        case _:
            return None


def short(now: float, lines: tuple[str, ...] = (), *, reason: str = FULL) -> Rest:
    """It is tried again until its disk is there and takes writes."""
    return Rest(why=Why.SHORT, reason=reason, since=now, until=now + TRY_AGAIN_S, lines=lines)


def how_text(how: Ended, process: Process) -> str:
    """How the process ended, for people."""
    text = _ending_text(how)
    return text if process.draining is None else f"{text}, because {process.draining.reason}"


def _has_no_page(how: Ended) -> bool:
    return how.ending == "complete" and how.exit_code == exit_codes.FAILED


def _ending_text(how: Ended) -> str:
    code = how.exit_code
    if how.is_disk_full:
        return "failed because the disk is full"
    if how.is_read_only:
        return "failed because the disk takes no writes"
    if _has_no_page(how):
        return "complete, but without a page"
    if how.ending is not None:
        return "stopped" if how.ending == "signal" else how.ending
    if code is None:
        return _UNKNOWN
    if code < 0:
        memory = "; the system may have run out of memory" if code == -9 else ""
        return f"killed by signal {-code}{memory}"
    texts = {
        exit_codes.REFUSED: "refused to start",
        exit_codes.COMPLETE: "complete",
        exit_codes.USAGE: "refused its configuration",
        exit_codes.LIMIT: "limit",
        exit_codes.STOPPED: "stopped",
        exit_codes.AWAY: "could not use a server",
    }
    return texts.get(code, f"failed with exit code {code}")

"""What the daemon knows of a crawl."""

from collections.abc import Callable
from enum import StrEnum
from typing import Final

import msgspec

MAX_RUNS: Final = 100
"""Runs of a crawl that the daemon remembers."""


class Wish(StrEnum):
    """What the operator wants of a crawl."""

    RUN = "run"
    STOP = "stop"


class Why(StrEnum):
    """Why a crawl rests."""

    COMPLETE = "complete"
    """Nothing is left to fetch: it waits for seeds."""
    LIMIT = "limit"
    """Its run has reached a limit of its configuration."""
    PAUSED = "paused"
    STOPPED = "stopped"
    """Somebody else than the daemon has stopped its process."""
    CRASHED = "crashed"
    """It will be restarted."""
    SHORT = "short"
    """Its disk takes no writes or is away, or a server that it needs can't be used. It will be tried again."""
    HELD = "held"
    """It will not be restarted before a person or a new configuration says so."""


FINISHED: Final = (Why.COMPLETE, Why.LIMIT)
"""Rests after which a schedule begins the crawl anew."""
LASTING: Final = (Why.LIMIT, Why.HELD, Why.STOPPED)
"""Rests that go on when a process that somebody else has started has ended."""


class Rest(msgspec.Struct, frozen=True, kw_only=True):
    """Why a crawl without a process does not start."""

    why: Why
    reason: str
    since: float
    """In seconds since 1970, as all moments."""
    until: float | None = None
    """When it ends by itself; None if an event ends it."""
    lines: tuple[str, ...] = ()
    """The last lines of its messages."""


class RunEntry(msgspec.Struct, frozen=True, kw_only=True):
    """A process of the crawl, in its history."""

    pid: int
    directory: str
    began_at: float
    ended_at: float | None = None
    how: str | None = None
    """How it ended, for people."""
    pages: int | None = None
    """Pages that it had fetched at its end; None while it runs, and if that is not known."""
    exit_code: int | None = None
    """Negative for a signal; None while it runs, and if that is not known."""


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """What outlasts the daemon."""

    wish: Wish = Wish.RUN
    rest: Rest | None = None
    falls: tuple[float, ...] = ()
    """When it crashed, since it last ran for long."""
    runs: tuple[RunEntry, ...] = ()
    """Its history, bounded by `MAX_RUNS`."""
    place: str | None = None
    """The directory of the current run of a schedule."""
    ticked_at: float | None = None
    """The moment up to which its schedule has been obeyed."""
    digest: str | None = None
    """The digest of its configuration, as the daemon last saw it."""
    begun_in: str | None = None
    """Where it was seen to run last: there is a crawl, unless its disk is away."""
    unwanted_pid: int | None = None
    """The process that worked on it when somebody stopped or removed it. Who starts a crawl by hand that was so before,
    wants it."""


class Draining(msgspec.Struct, frozen=True, kw_only=True):
    """Its process was told to end."""

    reason: str
    force: int
    """How often it was told: 0 let it finish what is in flight, 1 told it to end at once, 2 killed it."""
    since: float
    """When it was told the last time."""
    is_fall: bool
    """Whether the reason lies with the crawl, so that it counts like a crash."""


class Process(msgspec.Struct, frozen=True, kw_only=True):
    """The process that runs the crawl."""

    pid: int
    directory: str
    began_at: float
    is_foreign: bool = False
    """Whether somebody else has started it."""
    may_be_command: bool = False
    """Whether it may be a command that works on the directory, such as `onceover add`: it has the lock, and has not
    answered as a crawl does. It is not told to end, and the crawl does not start before it has ended."""
    draining: Draining | None = None
    has_answered: bool = False
    paused: str | None = None
    waiting: str | None = None
    """Why nothing happens, as the crawl says."""
    pages: int = 0
    """Pages of this process."""
    memory_bytes: int = 0
    open_files: int = 0


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """What the configuration tells the daemon."""

    directory: str
    digest: str
    """The digest of all settings and seeds."""
    next_tick: Callable[[float], float] | None = None
    """When the schedule is next due after a moment; None if there is no schedule."""
    comes_back: bool = False
    """Whether its process goes on when nothing is left to fetch, to visit pages again."""
    keep_runs: int | None = None
    max_memory_bytes: int | None = None
    max_open_files: int | None = None


class Facts(msgspec.Struct, frozen=True, kw_only=True):
    """All that decides what becomes of a crawl."""

    record: Record = Record()
    process: Process | None = None
    plan: Plan | None = None
    broken: tuple[str, ...] = ()
    """What is wrong with the configuration."""
    unread: str | None = None
    """Why what is remembered of it can't be read: `record` is not that, and nothing is done by it."""
    is_removed: bool = False
    """Whether the configuration file is gone."""
    shortage: str | None = None
    """What the machine lacks."""
    excess: str | None = None
    """Of what the crawls take too much together, so that this one is to be restarted."""
    to_look: bool = False
    """Whether to find out if it is paused, and if URLs wait."""
    to_find: bool = False
    """Whether to find out if somebody else runs it."""
    is_closing: bool = False
    """Whether the daemon ends, and its crawls with it."""

    @property
    def directory(self) -> str | None:
        """Where the crawl runs next; None if that is not known, or a schedule has not been due yet."""
        if self.plan is None or self.unread is not None:
            return None
        return self.plan.directory if self.plan.next_tick is None else self.record.place

    @property
    def directory_now(self) -> str | None:
        """Where its process works; otherwise where the crawl runs next."""
        return self.directory if self.process is None else self.process.directory

    @property
    def crawl_process(self) -> Process | None:
        """Its process, unless that may be a command."""
        return None if self.process is None or self.process.may_be_command else self.process

    @property
    def pages(self) -> int:
        """Pages of its process, or of the last one; 0 if that is not known."""
        if (process := self.crawl_process) is not None:
            return process.pages
        return next((run.pages for run in self.record.runs[-1:] if run.pages is not None), 0)

    @property
    def is_between_runs(self) -> bool:
        """Whether no run of its schedule is unfinished."""
        rest = self.record.rest
        return self.crawl_process is None and (self.record.place is None or (rest is not None and rest.why in FINISHED))


class Restarts(msgspec.Struct, frozen=True, kw_only=True):
    """How a crawl that crashed is restarted."""

    first_delay_s: float = 5.0
    factor: float = 3.0
    max_delay_s: float = 300.0
    hold_after: int = 5
    """Crashes, none of them after a long run, after which it is held."""
    long_run_s: float = 600.0


class EndTimeouts(msgspec.Struct, frozen=True, kw_only=True):
    """How long a process may take to end."""

    finishing_s: float = 120.0
    """To finish what is in flight; a fetch may take as long as `fetch.timeout_s`."""
    dropping_s: float = 30.0
    """To end at once."""


class KeeperOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How a daemon treats its crawls."""

    restarts: Restarts = Restarts()
    timeouts: EndTimeouts = EndTimeouts()

"""What requests and replies hold."""

import msgspec

from crawler.control.requests import Reason
from crawler.serve.keeper import Keeper
from crawler.serve.life.summary import State, moment_text
from crawler.serve.reloading import ChangeForm


class RunForm(msgspec.Struct, frozen=True, kw_only=True):
    """A process of a crawl."""

    pid: int
    directory: str
    began_at: str
    ended_at: str | None
    how: str | None
    """How it ended; null while it runs."""
    pages: int | None
    """Pages that it had fetched at its end; null while it runs, and if that is not known."""


class CrawlForm(msgspec.Struct, frozen=True, kw_only=True):
    """A crawl of the daemon."""

    name: str
    state: State
    reason: str | None
    """Why it does not fetch, or what is wrong."""
    lines: tuple[str, ...]
    """The problems of its configuration, or the last lines of its messages; and why its state can't be stored."""
    until: str | None
    """When it goes on by itself."""
    directory: str | None
    pid: int | None
    pages: int
    """Pages of its process, or of the last one."""
    memory_bytes: int
    open_files: int
    crashes: int
    """Since it last ran for long."""


class CrawlDetails(CrawlForm, frozen=True, kw_only=True):
    """A crawl with its history."""

    runs: tuple[RunForm, ...]
    """The last processes, the oldest first."""


class CrawlList(msgspec.Struct, frozen=True, kw_only=True):
    """All crawls, by name."""

    crawls: tuple[CrawlForm, ...]


class PauseBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Why a crawl is paused."""

    reason: Reason = "by the operator"


class ReloadForm(msgspec.Struct, frozen=True, kw_only=True):
    """What has changed in the folder."""

    changes: tuple[ChangeForm, ...]


def crawl_form(keeper: Keeper) -> CrawlForm:
    facts, now = keeper.facts, keeper.summary
    process = facts.crawl_process
    return CrawlForm(
        name=keeper.name,
        state=now.state,
        reason=now.reason,
        lines=now.lines if keeper.memory.unsaved is None else (*now.lines, keeper.memory.unsaved),
        until=now.until,
        directory=facts.directory_now,
        pid=None if process is None else process.pid,
        pages=facts.pages,
        memory_bytes=0 if process is None else process.memory_bytes,
        open_files=0 if process is None else process.open_files,
        crashes=len(facts.record.falls),
    )


def crawl_details(keeper: Keeper) -> CrawlDetails:
    runs = tuple(
        RunForm(
            pid=run.pid,
            directory=run.directory,
            began_at=moment_text(run.began_at),
            ended_at=None if run.ended_at is None else moment_text(run.ended_at),
            how=run.how,
            pages=run.pages,
        )
        for run in keeper.facts.record.runs
    )
    return CrawlDetails(**msgspec.structs.asdict(crawl_form(keeper)), runs=runs)

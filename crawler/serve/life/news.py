"""What the operator's program is told of a crawl: each state that lasts."""

from typing import Final

import msgspec

from crawler.serve.life.facts import Facts, Why
from crawler.serve.life.summary import State, moment_text, summarize

_PASSING: Final = ("starting", "ending", "scheduled")
_OLD: Final = ("complete", "limit", "stopped", "removed")
"""Not told of a crawl of which nothing was told before. It has probably been so for long, as when a daemon gets a
program for the first time: a new crawl first runs."""


class News(msgspec.Struct, frozen=True, kw_only=True):
    """A change of the state of a crawl, as the program gets it."""

    time: str
    """In RFC 3339, as `until`."""
    crawl: str
    state: State
    old_state: State | None
    """What was told of the crawl before; None if nothing was."""
    reason: str | None
    lines: tuple[str, ...]
    """The problems of its configuration, or the last lines of its messages."""
    until: str | None
    """When it goes on by itself."""
    exit_code: int | None
    """Of the last process that the daemon started, negative for a signal; None while one runs, or if it is unknown."""
    pages: int
    """Pages of its process, or of the last one."""
    directory: str | None


def lasting_state(facts: Facts, old_state: State | None) -> State | None:
    """The state of a crawl whose facts are settled; None if it passes, or the daemon ends. `old_state` is the last one
    that was told: a crawl that lacked something is tried each minute, and may lack it for days. So it runs again when
    its process has answered."""
    state, rest, process = summarize(facts).state, facts.record.rest, facts.process
    is_stopped_just_now = state == "stopped" and rest is not None and rest.why is Why.STOPPED and rest.until is not None
    is_tried = state == "running" and old_state == "short" and process is not None and not process.has_answered
    return None if facts.is_closing or state in _PASSING or is_stopped_just_now or is_tried else state


def is_news(state: State, old_state: State | None) -> bool:
    """Whether to tell this state. `old_state`: the last one that was told."""
    return state != old_state and not (old_state is None and state in _OLD)


def news_of(name: str, facts: Facts, old_state: State | None, now: float) -> News:
    """What to tell of a crawl as it is now."""
    summary = summarize(facts)
    runs = facts.record.runs if facts.process is None else ()
    return News(
        time=moment_text(now),
        crawl=name,
        state=summary.state,
        old_state=old_state,
        reason=summary.reason,
        lines=summary.lines,
        until=summary.until,
        exit_code=runs[-1].exit_code if runs else None,
        pages=facts.pages,
        directory=facts.directory_now,
    )

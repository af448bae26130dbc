"""What a crawl does now, for people and programs."""

from datetime import UTC, datetime
from typing import Literal

import msgspec

from crawler.serve.life.facts import FINISHED, Facts, Why, Wish
from crawler.serve.life.steps import UNREAD, what_keeps, why_end

State = Literal[
    "running", "paused", "ending", "starting", "complete", "limit", "stopped", "crashed", "held", "short", "scheduled",
    "broken", "removed",
]  # fmt: skip


class Summary(msgspec.Struct, frozen=True, kw_only=True):
    """What a crawl does at a moment."""

    state: State
    reason: str | None
    """Why it does not fetch, or what is wrong; None if nothing is."""
    lines: tuple[str, ...] = ()
    """The problems of its configuration, or the last lines of its messages."""
    until: str | None = None
    """When it goes on by itself, in RFC 3339."""


def summarize(facts: Facts, *, waits_for_turn: bool = False) -> Summary:
    """What a crawl does whose facts are settled. `waits_for_turn`: whether others start before it."""
    process, rest, plan = facts.crawl_process, facts.record.rest, facts.plan
    if process is not None and process.draining is not None:
        begins_again = not process.draining.is_fall and why_end(facts) is None
        again = "; it starts again afterwards" if begins_again else ""
        return Summary(state="ending", reason=f"{process.draining.reason}{again}")
    if process is not None and (reason := why_end(facts)) is not None:
        return Summary(state="ending", reason=reason)
    if process is not None:
        if process.paused is not None:
            return Summary(state="paused", reason=process.paused)
        by_hand = f"somebody else has started it, in process {process.pid}" if process.is_foreign else None
        return Summary(state="running", reason=process.waiting or by_hand, lines=facts.broken)
    if facts.is_removed:
        return Summary(state="removed", reason="its configuration file is gone; its directory is kept")
    if facts.broken or plan is None:
        return Summary(state="broken", reason="its configuration can't be used", lines=facts.broken)
    if facts.unread is not None:
        return Summary(state="broken", reason=UNREAD, lines=(facts.unread,))
    if facts.record.wish is Wish.STOP:
        reason = rest.reason if rest is not None and rest.why is Why.STOPPED else "it was stopped"
        return Summary(state="stopped", reason=reason)
    if rest is not None:
        next_run = _next_run(facts) if rest.why in FINISHED else None
        ends_at = None if rest.why is Why.STOPPED else rest.until  # it stays stopped after that
        until = next_run if ends_at is None else moment_text(ends_at)
        reason = f"{rest.reason}; it waits for seeds" if rest.why is Why.COMPLETE and until is None else rest.reason
        return Summary(state=rest.why.value, reason=reason, lines=rest.lines, until=until)
    kept = what_keeps(facts)
    if kept is not None:
        return Summary(state="short" if kept == facts.shortage else "stopped", reason=kept)
    if facts.directory is None:
        return Summary(state="scheduled", reason="its schedule is not due yet", until=_next_run(facts))
    reason = "it waits until other crawls have started" if waits_for_turn else None
    if facts.process is not None:
        reason = "it waits for the end of a command that works on its directory"
    return Summary(state="starting", reason=reason)


def _next_run(facts: Facts) -> str | None:
    plan, ticked_at = facts.plan, facts.record.ticked_at
    if plan is None or plan.next_tick is None or ticked_at is None:
        return None
    return moment_text(plan.next_tick(ticked_at))


def moment_text(moment: float) -> str:
    """A moment as RFC 3339, in UTC."""
    return datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")

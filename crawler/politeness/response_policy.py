"""What is owed to a server after each answer: how long its queue rests, and whether its URL is tried again. Pure.

`pace` has the arithmetic; here it is applied to what came back. Three kinds of trouble differ:

    the URL's      500, a body cut short: the URL is tried again later, others go on, and its host is asked a little
                   less often
    asked to wait  429, 503, any other failure with Retry-After: the host rests, twice as long each time it says so,
                   and half as long for each good answer since
    the host's     no name, no connection, no robots.txt, or `open_after` time-outs in a row: nothing on it can be had,
                   so its *circuit* is open. Its whole queue rests, twice as long each time, and then one URL is tried;
                   the others keep their attempts. One answer closes the circuit. After `dead_after` failures in a row
                   the host is dead: what waits for it is given up without being asked for, and so is what comes later,
                   until it is time for another try

A good answer with Retry-After is no trouble: its host rests as long as that says, once.

The URL that is tried while a circuit is open is always the same, where it can't be the cause. After time-outs it may
be, so each try is another's.
"""

import msgspec
from msgspec.structs import replace

from crawler.page import (
    HOST_FAILURES,
    REFUSALS,
    TRANSIENT_FAILURES,
    Failure,
    FailureKind,
    Fetched,
    Page,
    Redirect,
    Verdict,
)
from crawler.politeness.hours import Hours
from crawler.politeness.pace import (
    SLOW_DOWN_STATUSES,
    TRANSIENT_STATUSES,
    Pace,
    cause_of,
    parse_retry_after,
    retries,
)
from frontier import Lease

SILENCE = frozenset({FailureKind.TIMEOUT, FailureKind.DISCONNECTED})
"""Failures that any other URL would meet too, if several have met them in a row."""
NOBODY_ASKED = REFUSALS | {FailureKind.DNS}
"""Failures before any server was asked."""
UNREACHABLE = "unreachable"
"""Why a URL is excluded whose robots.txt can't be had."""


class Decision(msgspec.Struct, frozen=True, kw_only=True):
    """What follows from an answer. Times in seconds."""

    cooldown_s: float
    """How long the queue rests."""
    host_cooldown_s: float | None = None
    """How long all queues of its host rest, where that is less: what one port does not answer, another may. None for
    as long as the queue."""
    retry_after_s: float | None = None
    """When the URL is tried again; None if it is settled."""
    stays: bool = False
    """It is tried again as the first of its queue, when that has rested."""
    failed: bool = False
    """Settled as failed: given up."""
    reason: str | None = None
    """Why it is tried again or failed."""
    server_ok: bool = True
    """False where the server failed or refused service."""
    answered: bool = False
    """That failure was an answer; see `frontier.Outcome`."""
    asked: bool = True
    """False where no server was: nothing is learned of it."""
    pressure: int = 0
    """How hard the server has been asked; see `frontier.Lease`."""
    dead_for_s: float = 0.0
    """The host is dead, and not asked for so long."""


class ResponsePolicy(msgspec.Struct, frozen=True, kw_only=True):
    """Decides by `pace`. A URL is fetched `max_attempts` times at most."""

    pace: Pace
    max_attempts: int = 4
    open_after: int = 3
    dead_after: int = 8
    hours: Hours | None = None
    """When servers may be asked; None for always."""

    def closed_for_s(self, now: float, /) -> float:
        """How long until servers may be asked; 0 if they may be now. `now` is in seconds since 1970."""
        return 0.0 if self.hours is None else self.hours.opens_in_s(now)

    def after(self, fetched: Fetched, /, *, lease: Lease, crawl_delay_s: float | None) -> Decision:
        """What follows from the answer to a lease's URL."""
        cause = cause_of(fetched)
        received_bytes = len(fetched.raw_body) if isinstance(fetched, Page | Redirect) else 0
        plain_s = self.pace.cooldown_s(fetched.duration_s, crawl_delay_s=crawl_delay_s, received_bytes=received_bytes)
        asked = cause not in NOBODY_ASKED and not (isinstance(fetched, Redirect) and not fetched.asked)
        if not asked:
            plain_s = 0.0
        if isinstance(fetched, Failure) and self._is_of_host(fetched, lease):
            return self._host_failed(fetched, plain_s, lease)
        answered = _is_answer(fetched)
        retry_after_s = (
            None
            if isinstance(fetched, Failure)
            else parse_retry_after(fetched.header("retry-after"), fetched.fetched_at)
        )
        if cause not in TRANSIENT_STATUSES and cause not in TRANSIENT_FAILURES:
            pressure = max(0, lease.pressure - asked)
            return Decision(
                cooldown_s=self._rest_s(plain_s, pressure, lease, retry_after_s=retry_after_s) if asked else 0.0,
                failed=isinstance(fetched, Failure),
                reason=_word(cause) if isinstance(fetched, Failure) else None,
                asked=asked,
                pressure=pressure,
            )
        asks_to_wait = cause in SLOW_DOWN_STATUSES or retry_after_s is not None
        pressure = lease.pressure + asks_to_wait
        if asks_to_wait:
            cooldown_s = self._rest_s(plain_s, pressure, lease, retry_after_s=retry_after_s)
        else:
            cooldown_s = self._rest_s(plain_s, lease.error_streak + 1, lease)
            cooldown_s = min(cooldown_s, max(plain_s, self.pace.max_delay_s))
        if not retries(cause, lease.url.attempt, max_attempts=self.max_attempts):
            # A page that always breaks off is what can be had of it.
            torn = isinstance(fetched, Page) and isinstance(cause, FailureKind)
            return Decision(
                cooldown_s=cooldown_s,
                failed=not torn,
                reason=_word(cause),
                server_ok=False,
                answered=answered,
                pressure=pressure,
            )
        return Decision(
            cooldown_s=cooldown_s,
            retry_after_s=self.pace.retry_s(lease.url.url, lease.url.attempt, retry_after_s=retry_after_s),
            reason=_word(cause),
            server_ok=False,
            answered=answered,
            pressure=pressure,
        )

    def after_robots_s(self, verdict: Verdict, /, *, crawl_delay_s: float | None) -> float:
        """How long the host rests that was asked for a robots.txt, if one was."""
        if not verdict.asked:
            return 0.0
        rest_s = self.pace.cooldown_s(verdict.duration_s, crawl_delay_s=crawl_delay_s)
        return self.pace.slowed_s(rest_s, 0, key="", retry_after_s=verdict.pause_s)

    def forbidden(self, verdict: Verdict, /, *, lease: Lease, own: bool, rest_s: float) -> Decision:
        """What follows from a robots.txt that forbids the lease's URL, or can't be had. The host that was asked for it
        rests for `rest_s`; it is the URL's `own`, or another."""
        if verdict.retry_after_s is None:
            return Decision(
                cooldown_s=rest_s if own else 0.0,
                host_cooldown_s=rest_s,
                reason=verdict.reason,
                pressure=lease.pressure,
            )
        probe_s = max(rest_s, verdict.retry_after_s)
        decision = self._probed(verdict.reason, rest_s, probe_s, lease, attempts=self.max_attempts)
        return replace(decision, failed=verdict.reason in HOST_FAILURES and decision.retry_after_s is None)

    def dead(self, lease: Lease, /) -> Decision:
        """What follows for a URL whose host is dead."""
        return Decision(cooldown_s=0.0, failed=lease.dead != UNREACHABLE, reason=lease.dead)

    def _is_of_host(self, failure: Failure, lease: Lease) -> bool:
        is_silence = failure.kind in SILENCE and not failure.answered
        return failure.kind in HOST_FAILURES or (is_silence and _unanswered(lease) + 1 >= self.open_after)

    def _host_failed(self, failure: Failure, plain_s: float, lease: Lease) -> Decision:
        kind = failure.kind
        probe_s = max(plain_s, self.pace.retry_s(lease.url.queue_key, _unanswered(lease)))
        attempts = self.max_attempts if kind in TRANSIENT_FAILURES or failure.may_pass else 0
        decision = self._probed(kind.value, plain_s, probe_s, lease, attempts=attempts)
        return replace(decision, failed=decision.retry_after_s is None, stays=decision.stays and kind not in SILENCE)

    def _probed(self, reason: str, rest_s: float, probe_s: float, lease: Lease, *, attempts: int) -> Decision:
        """What follows from a failure that is the host's: one URL is tried again after `probe_s`, until it has had its
        attempts, and then another; or the host is dead."""
        common = Decision(
            cooldown_s=rest_s, host_cooldown_s=rest_s, reason=reason, server_ok=False, pressure=lease.pressure
        )
        if _unanswered(lease) + 1 >= self.dead_after:
            return replace(common, dead_for_s=max(probe_s, self.pace.retry_max_delay_s))
        if attempts == 0:
            return common
        if lease.url.attempt + 1 >= attempts:
            return replace(common, cooldown_s=probe_s)
        return replace(common, cooldown_s=probe_s, retry_after_s=probe_s, stays=True)

    def _rest_s(self, plain_s: float, doublings: int, lease: Lease, *, retry_after_s: float | None = None) -> float:
        return self.pace.slowed_s(plain_s, doublings, key=lease.url.queue_key, retry_after_s=retry_after_s)


def _unanswered(lease: Lease) -> int:
    """Failures in a row of which none was an answer: a server that says 500 is not dead."""
    return 0 if lease.answered else lease.error_streak


def _is_answer(fetched: Fetched) -> bool:
    return not isinstance(fetched, Failure) or fetched.answered


def _word(cause: int | FailureKind) -> str:
    return cause.value if isinstance(cause, FailureKind) else f"http-{cause}"

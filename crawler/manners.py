"""What is owed to a server after each answer: how long its queue rests, and whether its URL is tried again. Pure.

`pace` has the arithmetic; here it is applied to what came back. Three kinds of trouble differ:

    the URL's      500, a body cut short: the URL is tried again, and its host is asked a little less often
    asked to wait  429, 503, Retry-After: the host rests, longer each time
    the host's     no name, no connection, no robots.txt: nothing on it can be fetched, so all of its queue waits,
                   longer each time; after `dead_after` failures in a row the host is dead, and what is left of its
                   queue is given up without more attempts
"""

import msgspec

from crawler.pace import SLOW_DOWN_STATUSES, TRANSIENT_STATUSES, Pace, cause_of, parse_retry_after, retries
from crawler.page import TRANSIENT_FAILURES, Failure, FailureKind, Fetched, Redirect, Verdict
from frontier import Lease

HOST_FAILURES = frozenset({FailureKind.DNS, FailureKind.CONNECT, FailureKind.TLS})
"""Failures that any other URL of the host would meet too."""
NOBODY_ASKED = frozenset({FailureKind.DNS, FailureKind.PRIVATE_ADDRESS, FailureKind.BAD_URL})
"""Failures before any server was asked."""


class Decision(msgspec.Struct, frozen=True, kw_only=True):
    """What follows from an answer. Times in seconds."""

    cooldown_s: float
    """How long the queue rests."""
    retry_after_s: float | None = None
    """When the URL is tried again; None if it is settled."""
    failed: bool = False
    """Settled as failed: given up."""
    reason: str | None = None
    """Why it is tried again or failed."""
    server_ok: bool = True
    """False where the server failed or refused service."""


class Manners(msgspec.Struct, frozen=True, kw_only=True):
    """Decides by `pace`. A URL is fetched `max_attempts` times at most."""

    pace: Pace
    max_attempts: int = 4
    dead_after: int = 8

    def after(self, fetched: Fetched, /, *, lease: Lease, crawl_delay_s: float | None) -> Decision:
        """What follows from the answer to a lease's URL."""
        cause = cause_of(fetched)
        plain_s = self.pace.cooldown_s(fetched.duration_s, crawl_delay_s=crawl_delay_s)
        if cause in NOBODY_ASKED or (isinstance(fetched, Redirect) and not fetched.asked):
            plain_s = 0.0
        if isinstance(fetched, Failure) and cause in HOST_FAILURES:
            return self._host_failed(fetched, plain_s, lease)
        if cause not in TRANSIENT_STATUSES and cause not in TRANSIENT_FAILURES:
            return Decision(
                cooldown_s=plain_s,
                failed=isinstance(fetched, Failure),
                reason=_word(cause) if isinstance(fetched, Failure) else None,
            )
        retry_after_s = (
            None
            if isinstance(fetched, Failure)
            else parse_retry_after(fetched.header("retry-after"), fetched.fetched_at)
        )
        cooldown_s = self.pace.cooldown_s(
            fetched.duration_s,
            crawl_delay_s=crawl_delay_s,
            error_streak=lease.error_streak + 1,
            retry_after_s=retry_after_s,
        )
        if cause not in SLOW_DOWN_STATUSES and retry_after_s is None:
            cooldown_s = min(cooldown_s, max(plain_s, self.pace.max_delay_s))
        if not retries(cause, lease.url.attempt, max_attempts=self.max_attempts):
            return Decision(cooldown_s=cooldown_s, failed=True, reason=_word(cause), server_ok=False)
        return Decision(
            cooldown_s=cooldown_s,
            retry_after_s=self.pace.retry_s(lease.url.url, lease.url.attempt, retry_after_s=retry_after_s),
            reason=_word(cause),
            server_ok=False,
        )

    def forbidden(self, verdict: Verdict, /, *, lease: Lease, crawl_delay_s: float | None) -> Decision:
        """What follows from a robots.txt that forbids the lease's URL, or can't be had."""
        rest_s = self.pace.cooldown_s(verdict.duration_s, crawl_delay_s=crawl_delay_s) if verdict.asked else 0.0
        if verdict.retry_after_s is None:
            return Decision(cooldown_s=rest_s, reason=verdict.reason)
        if self._gives_up(lease):
            return Decision(cooldown_s=rest_s, reason=verdict.reason, server_ok=False)
        return Decision(
            cooldown_s=max(rest_s, verdict.retry_after_s),
            retry_after_s=verdict.retry_after_s,
            reason=verdict.reason,
            server_ok=False,
        )

    def _host_failed(self, failure: Failure, plain_s: float, lease: Lease) -> Decision:
        reason = _word(failure.kind)
        if failure.kind not in TRANSIENT_FAILURES or self._gives_up(lease):
            return Decision(cooldown_s=plain_s, failed=True, reason=reason, server_ok=False)
        rest_s = max(plain_s, self.pace.retry_s(lease.url.queue_key, lease.error_streak))
        return Decision(cooldown_s=rest_s, retry_after_s=rest_s, reason=reason, server_ok=False)

    def _gives_up(self, lease: Lease) -> bool:
        return lease.url.attempt + 1 >= self.max_attempts or lease.error_streak + 1 >= self.dead_after


def _word(cause: int | FailureKind) -> str:
    return cause.value if isinstance(cause, FailureKind) else f"http-{cause}"

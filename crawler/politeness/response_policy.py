"""What follows from a response: how long the queue rests, and whether its URL is tried again. Pure.

`pace` has the arithmetic; this module applies it to responses. It tells four kinds of trouble apart:

    of the URL       500, or a body cut short. The URL is tried again later, the others go on, and the host is asked a
                     little less often.
    of the load      429, 503, or any other failure with Retry-After: the server asks the crawl to slow down. The host
                     rests, twice as long each time it asks, and half as long after each good response since.
    of the request   the server wants it signed, or refuses its condition (412): it is repeated with a signature, or
                     without the condition, once the host has rested.
    of the host      no name, no connection, no robots.txt, or `open_after` time-outs in a row: nothing on the host can
                     be fetched, so its *circuit* is open. The whole queue rests, twice as long each time. Then one URL
                     is tried; the others keep their attempts. One response closes the circuit. After `dead_after`
                     failures in a row the host is dead: the crawl gives up its URLs without a request, also those that
                     it finds later, until the host is tried once more.

A good response with Retry-After is no trouble: the host rests that long, once. If a page that was rendered is good, but
its host asks for less load by an answer to what the rendering loads, the host rests as for trouble of the load.

While a circuit is open, the same URL is tried each time if it can't be the cause. After time-outs it may be the cause,
so another URL is tried each time.
"""

from http import HTTPStatus

import msgspec
from msgspec.structs import replace

from crawler.page import (
    HOST_FAILURES,
    REDIRECTS,
    REFUSALS,
    ROBOTS_FAILURES,
    TRANSIENT_FAILURES,
    Answer,
    Failure,
    FailureKind,
    Fetched,
    Page,
    Redirect,
    Verdict,
    WithBody,
)
from crawler.politeness.hours import Hours
from crawler.politeness.pace import (
    SLOW_DOWN_STATUSES,
    TRANSIENT_STATUSES,
    Pace,
    cause_of,
    parse_retry_after,
    should_retry,
)
from frontier import Lease

NO_ANSWER = frozenset({FailureKind.TIMEOUT, FailureKind.DISCONNECTED})
"""Failures that say something about the host only if several URLs have them in a row."""
NO_REQUEST_SENT = REFUSALS | {FailureKind.DNS}
"""Failures before any request was sent."""
HEAD_REFUSED = "head-refused"
CHALLENGED = "challenged"
"""Why a URL is asked for again if its server wants the request to be signed."""
_CONDITION_FAILED = HTTPStatus.PRECONDITION_FAILED.value
"""A server must not answer this to a request for a page (RFC 9110, section 13.1.2)."""
UNREACHABLE = "unreachable"
"""Why a URL is excluded if its robots.txt can't be fetched."""


class Decision(msgspec.Struct, frozen=True, kw_only=True):
    """What follows from a response. Times are in seconds."""

    cooldown_s: float
    """How long the queue rests."""
    host_cooldown_s: float | None = None
    """How long all queues of its host rest if that is less than `cooldown_s`, because other ports of the host may
    answer. None: as long as the queue."""
    retry_after_s: float | None = None
    """After how long the URL is tried again; None if it is settled."""
    stays: bool = False
    """Whether it stays the first of its queue, and is tried again when the queue has rested."""
    failed: bool = False
    """Whether it is settled as failed."""
    reason: str | None = None
    """Why it is tried again, or why it failed."""
    server_ok: bool = True
    """False if the server failed or refused service."""
    answered: bool = False
    """Whether that failure was an answer; see `frontier.Outcome`."""
    asked: bool = True
    """False if no server was asked, so that nothing was learned about it."""
    pressure: int = 0
    """How often the server has asked the crawl to slow down; see `frontier.Lease`."""
    dead_for_s: float = 0.0
    """How long the host counts as dead and is not asked; 0 if it does not."""


class ResponsePolicy(msgspec.Struct, frozen=True, kw_only=True):
    """Decides by `pace`. A URL is fetched at most `max_attempts` times."""

    pace: Pace
    max_attempts: int = 4
    open_after: int = 3
    dead_after: int = 8
    hours: Hours | None = None
    """When servers may be asked; None means always."""

    def closed_for_s(self, now: float, /) -> float:
        """How long servers may not be asked; 0 if they may be asked now. `now` is in seconds since 1970."""
        return 0.0 if self.hours is None else self.hours.opens_in_s(now)

    def after(self, fetched: Fetched, /, *, lease: Lease, crawl_delay_s: float | None) -> Decision:
        """What follows from the response to a lease's URL."""
        cause = cause_of(fetched)
        failure = None if isinstance(fetched, Answer) else fetched
        asked = _was_asked(fetched, cause)
        usual_s = self._usual_s(fetched, crawl_delay_s) if asked else 0.0
        if failure is not None and self._is_of_host(failure, lease):
            return self._after_host_failure(failure, usual_s, lease)
        # Once, however few attempts there are: the request may not have arrived.
        if failure is not None and failure.kept_closed and lease.url.attempt == 0:
            rest_s = self._backoff_s(usual_s, lease.pressure, lease)
            return Decision(
                cooldown_s=rest_s, retry_after_s=0.0, stays=True, reason=_reason(cause), pressure=lease.pressure
            )
        retry_after_s = retry_after_of(fetched)
        if cause in TRANSIENT_STATUSES or cause in TRANSIENT_FAILURES:
            return self._after_transient_failure(fetched, cause, usual_s, retry_after_s, lease)
        pressure = lease.pressure - asked if lease.pressure else 0
        if isinstance(fetched, Page) and any(each.status in SLOW_DOWN_STATUSES for each in fetched.troubled_loads):
            # The page is whole, but its host had enough of what its rendering loads.
            pressure = lease.pressure + 1
        rest_s = usual_s
        if asked and (pressure or retry_after_s is not None):
            rest_s = self._backoff_s(usual_s, pressure, lease, retry_after_s=retry_after_s)
        why_again = self._why_again(fetched, cause, lease)
        if why_again is not None:
            return Decision(
                cooldown_s=rest_s, retry_after_s=0.0, stays=True, reason=why_again, answered=True, pressure=pressure
            )
        return Decision(
            cooldown_s=rest_s,
            failed=failure is not None,
            reason=None if failure is None else failure.kind.value,
            asked=asked,
            pressure=pressure,
        )

    def _usual_s(self, fetched: Fetched, crawl_delay_s: float | None) -> float:
        """How long a server rests that was asked."""
        answer = fetched if isinstance(fetched, Answer) else fetched.response
        received_bytes = len(answer.raw_body) if isinstance(answer, WithBody) else 0
        return self.pace.cooldown_s(fetched.duration_s, crawl_delay_s=crawl_delay_s, received_bytes=received_bytes)

    def _why_again(self, fetched: Fetched, cause: int | FailureKind, lease: Lease) -> str | None:
        """Why another request must follow at once, signed or without a condition; None if none must. One may, however
        few attempts there are: the fetcher marks no request that was signed as its server wants, and the second
        attempt sets no condition."""
        if not isinstance(fetched, Page) or lease.url.attempt + 1 >= max(2, self.max_attempts):
            return None
        if fetched.challenged:
            return CHALLENGED
        return _reason(cause) if cause == _CONDITION_FAILED and _has_condition(lease) else None

    def _after_transient_failure(
        self,
        fetched: Fetched,
        cause: int | FailureKind,
        usual_s: float,
        retry_after_s: float | None,
        lease: Lease,
    ) -> Decision:
        """What follows from a failure of the URL or of the load."""
        asks_to_slow_down = cause in SLOW_DOWN_STATUSES or retry_after_s is not None
        pressure = lease.pressure + asks_to_slow_down
        if asks_to_slow_down:
            cooldown_s = self._backoff_s(usual_s, pressure, lease, retry_after_s=retry_after_s)
        else:
            cooldown_s = self._backoff_s(usual_s, lease.error_streak + 1, lease)
            cooldown_s = min(cooldown_s, max(usual_s, self.pace.max_delay_s))
        lacks_body = isinstance(fetched, Failure) and fetched.lacks_body
        # One more if the request of the last attempt may not have arrived.
        attempts = self.max_attempts + (isinstance(fetched, Failure) and fetched.kept_closed)
        if should_retry(cause, lease.url.attempt, max_attempts=max(attempts, 1 + lacks_body)):
            failed, url_s = False, self.pace.retry_s(lease.url.url, lease.url.attempt, retry_after_s=retry_after_s)
        else:
            # A page that breaks off each time is kept as it is: more of it can't be fetched.
            failed, url_s = not (isinstance(fetched, Page) and isinstance(cause, FailureKind)), None
        return Decision(
            cooldown_s=cooldown_s,
            retry_after_s=url_s,
            failed=failed,
            reason=_reason(cause),
            server_ok=False,
            answered=not isinstance(fetched, Failure) or fetched.answered,
            pressure=pressure,
        )

    def after_robots_s(self, verdict: Verdict, /, *, crawl_delay_s: float | None) -> float:
        """How long a host rests after a request for its robots.txt."""
        rest_s = self.pace.cooldown_s(verdict.duration_s, crawl_delay_s=crawl_delay_s)
        return self.pace.backoff_s(rest_s, 0, key="", retry_after_s=verdict.pause_s)

    def after_disallow(self, verdict: Verdict, /, *, lease: Lease, own: bool, rest_s: float) -> Decision:
        """What follows if robots.txt disallows the lease's URL, or can't be fetched. The host that was asked for
        robots.txt rests for `rest_s`; `own` says whether it is the host of the URL."""
        if verdict.retry_after_s is None:
            return Decision(
                cooldown_s=rest_s if own else 0.0,
                host_cooldown_s=rest_s,
                reason=verdict.reason,
                pressure=lease.pressure,
            )
        probe_s = max(rest_s, verdict.retry_after_s)
        decision = self._probe(verdict.reason, rest_s, probe_s, lease, attempts=self.max_attempts)
        return replace(decision, failed=verdict.reason in ROBOTS_FAILURES and decision.retry_after_s is None)

    def for_dead_host(self, lease: Lease, /) -> Decision:
        """What follows for a URL on a dead host."""
        return Decision(cooldown_s=0.0, failed=lease.dead != UNREACHABLE, reason=lease.dead)

    def _is_of_host(self, failure: Failure, lease: Lease) -> bool:
        is_silence = failure.kind in NO_ANSWER and not failure.answered
        return failure.kind in HOST_FAILURES or (is_silence and _count_unanswered(lease) + 1 >= self.open_after)

    def _after_host_failure(self, failure: Failure, usual_s: float, lease: Lease) -> Decision:
        kind = failure.kind
        probe_s = max(usual_s, self.pace.retry_s(lease.url.queue_key, _count_unanswered(lease)))
        attempts = self.max_attempts if kind in TRANSIENT_FAILURES or failure.may_pass else 0
        decision = self._probe(kind.value, usual_s, probe_s, lease, attempts=attempts)
        return replace(decision, failed=decision.retry_after_s is None, stays=decision.stays and kind not in NO_ANSWER)

    def _probe(self, reason: str, rest_s: float, probe_s: float, lease: Lease, *, attempts: int) -> Decision:
        """What follows from a failure of the host. One URL is tried again after `probe_s`, until it has used up its
        attempts; then another URL is tried. After too many failures the host is dead."""
        common = Decision(
            cooldown_s=rest_s, host_cooldown_s=rest_s, reason=reason, server_ok=False, pressure=lease.pressure
        )
        if _count_unanswered(lease) + 1 >= self.dead_after:
            return replace(common, dead_for_s=max(probe_s, self.pace.retry_max_delay_s))
        if attempts == 0:
            return common
        if lease.url.attempt + 1 >= attempts:
            return replace(common, cooldown_s=probe_s)
        return replace(common, cooldown_s=probe_s, retry_after_s=probe_s, stays=True)

    def _backoff_s(self, usual_s: float, doublings: int, lease: Lease, *, retry_after_s: float | None = None) -> float:
        return self.pace.backoff_s(usual_s, doublings, key=lease.url.queue_key, retry_after_s=retry_after_s)


def retry_after_of(fetched: Fetched, /) -> float | None:
    """How many seconds from then on a response asks to wait, or what the rendering of its page loads, whichever is
    longer; None if nothing asks."""
    answer = fetched if isinstance(fetched, Answer) else fetched.response
    retry_after = None if answer is None else answer.header("retry-after")
    asked_s = None if retry_after is None else parse_retry_after(retry_after, fetched.fetched_at)
    if isinstance(fetched, Page) and fetched.troubled_loads:
        loads = (parse_retry_after(each.retry_after, fetched.fetched_at) for each in fetched.troubled_loads)
        asked_s = max((each for each in (asked_s, *loads) if each is not None), default=None)
    return asked_s


def _was_asked(fetched: Fetched, cause: int | FailureKind) -> bool:
    """Whether a connection was tried, so that the server rests."""
    is_answered_here = isinstance(fetched, Redirect) and not fetched.asked and fetched.message is None
    return cause not in NO_REQUEST_SENT and not is_answered_here


def after_head(fetched: Fetched, decision: Decision, /) -> Decision:
    """What follows from the answer to a HEAD request. Many servers refuse that method, or answer it wrongly, so the URL
    is asked for by GET, once its host has rested, before an error counts."""
    if isinstance(fetched, Failure | Redirect) or decision.retry_after_s is not None:
        return decision
    if fetched.status < HTTPStatus.BAD_REQUEST and fetched.status not in REDIRECTS:
        return decision
    return replace(
        decision, retry_after_s=0.0, stays=True, reason=HEAD_REFUSED, failed=False, answered=True, server_ok=True
    )


def _has_condition(lease: Lease) -> bool:
    """Whether the request for the lease's URL had a condition."""
    url = lease.url
    return not url.attempt and (url.had_etag is not None or url.had_last_modified is not None)


def _count_unanswered(lease: Lease) -> int:
    """The number of failures in a row without an answer: a server that sends a 500 is not dead."""
    return 0 if lease.answered else lease.error_streak


def _reason(cause: int | FailureKind) -> str:
    return cause.value if isinstance(cause, FailureKind) else f"http-{cause}"

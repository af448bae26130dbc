"""How long a host rests, and when a failed fetch is tried again. Pure: values in, seconds out.

A host rests `delay_factor` times as long as the fetch took: who answers slowly is busy. Crawl-delay and Retry-After
are the host's own words and go before our upper limit, up to limits of their own; so does a limit of bandwidth. A host
in trouble is left alone: its rest doubles each time, and so does the distance of attempts at one URL, with a jitter
that is computed from host or URL and not drawn, so that a crawl can be repeated.
"""

from datetime import UTC
from email.utils import parsedate_to_datetime
from hashlib import blake2b
from typing import Final

import msgspec

from crawler.page import TRANSIENT_FAILURES, Failure, FailureKind, Fetched, Page

TRANSIENT_STATUSES: Final = frozenset({408, 425, 429, *range(500, 600)})
"""Statuses that another attempt may cure: those of RFC 9110, 6585 and 8470 that say so, and all that say that the
server failed, registered or not."""

SLOW_DOWN_STATUSES: Final = frozenset({429, 503, 529})
"""Statuses by which a server says that it is asked too much."""

RETRY_AFTER_LIMIT_S: Final = 366 * 86400.0
"""No Retry-After is read as longer than this."""

_LEAST_UNIT_S = 0.1
"""What doubles with the failures of a host that otherwise needs no rest."""
_MAX_DOUBLINGS = 40
_JITTER = 0.25
"""An attempt comes up to this share earlier or later."""


class Pace(msgspec.Struct, frozen=True, kw_only=True):
    """The settings of politeness and what follows from them. All times in seconds, none negative.

    `min_delay_s` ≤ `max_delay_s` and `retry_delay_s` ≤ `retry_max_delay_s`; a lower limit that is above its upper one
    wins.
    """

    min_delay_s: float = 1.0
    max_delay_s: float = 30.0
    delay_factor: float = 2.0
    max_crawl_delay_s: float = 300.0
    """Crawl-delay of robots.txt is obeyed up to this."""
    retry_delay_s: float = 30.0
    """Before the second attempt at a URL."""
    retry_max_delay_s: float = 3600.0
    """Between two attempts at most; also the longest rest of a host that fails."""
    max_retry_after_s: float = 3600.0
    """Retry-After is obeyed up to this."""
    max_bytes_per_s: float | None = None
    """Of one host, in the long run; None for no limit."""
    seed: int = 0
    """Another seed gives another jitter."""

    def cooldown_s(self, duration_s: float, /, *, crawl_delay_s: float | None = None, received_bytes: int = 0) -> float:
        """How long a host rests after a fetch that took `duration_s` and brought so many bytes."""
        rest_s = max(min(self.delay_factor * duration_s, self.max_delay_s), self.min_delay_s)
        if crawl_delay_s is not None:
            rest_s = max(rest_s, min(crawl_delay_s, self.max_crawl_delay_s))
        if self.max_bytes_per_s is not None:
            rest_s = max(rest_s, received_bytes / self.max_bytes_per_s - duration_s)
        return rest_s

    def slowed_s(self, rest_s: float, doublings: int, /, *, key: str, retry_after_s: float | None = None) -> float:
        """How long the host `key` rests that would rest for `rest_s`, were it not in trouble: so many times doubled, up
        to a quarter longer, and as long as it asks for."""
        if doublings > 0:
            doubled_s = max(rest_s, _LEAST_UNIT_S) * 2.0 ** min(doublings, _MAX_DOUBLINGS)
            doubled_s *= 1 + _JITTER * abs(self._jitter(key, doublings))
            rest_s = max(rest_s, min(doubled_s, self.retry_max_delay_s))
        if retry_after_s is not None:
            rest_s = max(rest_s, min(retry_after_s, self.max_retry_after_s))
        return rest_s

    def retry_s(self, key: str, attempt: int, /, *, retry_after_s: float | None = None) -> float:
        """How long until the URL `key`, of which fetch number `attempt` (from 0) has just failed, is tried again.

        Never before Retry-After, as far as it is obeyed, and never later than the longer of the two upper limits.
        """
        doubled_s = self.retry_delay_s * 2.0 ** min(attempt, _MAX_DOUBLINGS)
        wait_s = min(doubled_s * (1 + _JITTER * self._jitter(key, attempt)), self.retry_max_delay_s)
        if retry_after_s is not None:
            wait_s = max(wait_s, min(retry_after_s, self.max_retry_after_s))
        return wait_s

    def _jitter(self, key: str, attempt: int) -> float:
        """From -1 to 1, the same for the same arguments."""
        digest = blake2b(f"{self.seed} {attempt} {key}".encode(), digest_size=8).digest()
        return int.from_bytes(digest) / 2.0**63 - 1.0


def cause_of(answer: Fetched, /) -> int | FailureKind:
    """What decides whether the URL is tried again: the status, or the kind of failure.

    A page that was cut off counts as what cut it. One that was cut for time or size is what can be had of it.
    """
    if isinstance(answer, Failure):
        return answer.kind
    if isinstance(answer, Page) and answer.truncated == "disconnect" and answer.status < 300:
        return answer.cut_by or FailureKind.DISCONNECTED
    return answer.status


def retries(cause: int | FailureKind, attempt: int, /, *, max_attempts: int) -> bool:
    """Whether a URL, of which fetch number `attempt` (from 0) ended with `cause`, is to be tried again."""
    if attempt + 1 >= max_attempts:
        return False
    return cause in TRANSIENT_FAILURES if isinstance(cause, FailureKind) else cause in TRANSIENT_STATUSES


def parse_retry_after(header: str | None, now: float, /) -> float | None:
    """Seconds from `now` (since 1970) that a Retry-After header asks to wait; None if there is none that can be read.

    Both forms of RFC 9110, section 10.2.3. A date that has passed is 0; what is longer than a year is a year.
    """
    if header is None:
        return None
    text = header.strip()
    if text.isascii() and text.isdecimal():
        return min(float(text), RETRY_AFTER_LIMIT_S)
    try:
        date = parsedate_to_datetime(text)
        at = (date.replace(tzinfo=UTC) if date.tzinfo is None else date).timestamp()
    except (ValueError, OverflowError, TypeError, IndexError):
        return None
    return min(max(at - now, 0.0), RETRY_AFTER_LIMIT_S)

"""Computes how long a host rests, and when a failed fetch is tried again. Pure: values in, seconds out.

A host rests `delay_factor` times as long as the fetch took, because a slow host is a busy one. The host itself may ask
for more by Crawl-delay and Retry-After; these have upper limits of their own. A limit on bandwidth may also make the
rest longer. While a host fails, its rest doubles each time, and so does the wait between two attempts at one URL. The
jitter is a hash of the host or the URL, not a random number, so that a crawl can be repeated.
"""

import re
from datetime import UTC
from email.utils import parsedate_to_datetime
from hashlib import blake2b
from typing import Final

import msgspec

from crawler.page import TOO_MANY_REQUESTS, TRANSIENT_FAILURES, Failure, FailureKind, Fetched, Page

TRANSIENT_STATUSES: Final = frozenset({408, 425, *TOO_MANY_REQUESTS, *range(500, 1000)})
"""Statuses after which another attempt may succeed: those for which RFC 9110, 6585 and 8470 say so, and all from 500
on, registered or not. Those above 599 are no statuses of HTTP, and count as 5xx (RFC 9110, section 15)."""

SLOW_DOWN_STATUSES: Final = TOO_MANY_REQUESTS | {503, 529}
"""Statuses by which a server asks the crawl to slow down."""

RETRY_AFTER_LIMIT_S: Final = 366 * 86400.0
"""A longer Retry-After counts as this."""

_SECONDS = re.compile(r"([0-9]+(?:\.[0-9]*)?)\s*(?:(?:s|sec|seconds)\s*)?(?:,.*)?", re.IGNORECASE)
"""No two repeats of white space touch, since these would take quadratic time."""
_LEAST_UNIT_S = 0.1
"""The rest that doubles if the host otherwise needs none."""
_MAX_DOUBLINGS = 40
_JITTER = 0.25
"""An attempt is earlier or later by up to this share of the wait."""


class Pace(msgspec.Struct, frozen=True, kw_only=True):
    """The settings of politeness, and the times that follow from them. All times are in seconds, none is negative.

    `min_delay_s` ≤ `max_delay_s` and `retry_delay_s` ≤ `retry_max_delay_s`. If a lower limit is above its upper limit,
    the lower one counts.
    """

    min_delay_s: float = 1.0
    max_delay_s: float = 30.0
    delay_factor: float = 2.0
    max_crawl_delay_s: float = 300.0
    """A longer Crawl-delay of robots.txt counts as this."""
    retry_delay_s: float = 30.0
    """The wait before the second attempt at a URL."""
    retry_max_delay_s: float = 3600.0
    """The longest wait between two attempts, and the longest rest of a host that fails."""
    max_retry_after_s: float = 3600.0
    """A longer Retry-After counts as this."""
    max_bytes_per_s: float | None = None
    """The bandwidth of one host, in the long run; None means no limit."""
    per_host: int = 1
    """So many fetches at once share the bandwidth of a host."""
    seed: int = 0
    """Another seed gives another jitter."""

    def cooldown_s(self, duration_s: float, /, *, crawl_delay_s: float | None = None, received_bytes: int = 0) -> float:
        """How long a host rests after a fetch that took `duration_s`."""
        rest_s = max(min(self.delay_factor * duration_s, self.max_delay_s), self.min_delay_s)
        if crawl_delay_s is not None:
            rest_s = max(rest_s, self.crawl_delay_s(crawl_delay_s))
        if self.max_bytes_per_s is not None:
            rest_s = max(rest_s, self.per_host * received_bytes / self.max_bytes_per_s - duration_s)
        return rest_s

    def crawl_delay_s(self, asked_s: float, /) -> float:
        """The Crawl-delay that counts of what a host asks for."""
        return min(asked_s, self.max_crawl_delay_s)

    def backoff_s(self, rest_s: float, doublings: int, /, *, key: str, retry_after_s: float | None = None) -> float:
        """How long the host `key` rests while it fails: `rest_s`, which is its usual rest, doubled `doublings` times
        and lengthened by up to a quarter; at least as long as it asks for by Retry-After."""
        if doublings > 0:
            doubled_s = max(rest_s, _LEAST_UNIT_S) * 2.0 ** min(doublings, _MAX_DOUBLINGS)
            doubled_s *= 1 + _JITTER * abs(self._jitter(key, doublings))
            rest_s = max(rest_s, min(doubled_s, self.retry_max_delay_s))
        if retry_after_s is not None:
            rest_s = max(rest_s, min(retry_after_s, self.max_retry_after_s))
        return rest_s

    def retry_s(self, key: str, attempt: int, /, *, retry_after_s: float | None = None) -> float:
        """How long the URL `key` waits after attempt number `attempt` (from 0) has failed.

        It waits at least for Retry-After, up to `max_retry_after_s`, and never longer than the longer of the two upper
        limits.
        """
        doubled_s = self.retry_delay_s * 2.0 ** min(attempt, _MAX_DOUBLINGS)
        wait_s = min(doubled_s * (1 + _JITTER * self._jitter(key, attempt)), self.retry_max_delay_s)
        if retry_after_s is not None:
            wait_s = max(wait_s, min(retry_after_s, self.max_retry_after_s))
        return wait_s

    def _jitter(self, key: str, attempt: int) -> float:
        """A number from -1 to 1, always the same for the same arguments."""
        digest = blake2b(f"{self.seed} {attempt} {key}".encode(), digest_size=8).digest()
        return int.from_bytes(digest) / 2.0**63 - 1.0


def cause_of(answer: Fetched, /) -> int | FailureKind:
    """What decides whether the URL is tried again: its status, or the kind of failure.

    If a failure cut the body of a page, that failure counts. A page that was cut for its time or its size is a success.
    """
    if isinstance(answer, Page):
        is_cut = answer.truncated == "disconnect" and answer.status < 300
        return answer.cut_by or FailureKind.DISCONNECTED if is_cut else answer.status
    return answer.kind if isinstance(answer, Failure) else answer.status


def should_retry(cause: int | FailureKind, attempt: int, /, *, max_attempts: int) -> bool:
    """Whether to try a URL again after attempt number `attempt` (from 0) ended with `cause`."""
    if attempt + 1 >= max_attempts:
        return False
    return cause in TRANSIENT_FAILURES if isinstance(cause, FailureKind) else cause in TRANSIENT_STATUSES


def parse_retry_after(header: str | None, now: float, /) -> float | None:
    """How many seconds from `now` (since 1970) a Retry-After header asks to wait; None if it is absent or malformed.

    It may have both forms of RFC 9110, section 10.2.3. A date in the past gives 0, and more than a year gives a year.
    Some servers send `2.0` or `30s`; and some proxies join two headers, of which the first counts.
    """
    if header is None:
        return None
    text = header.strip()
    if seconds := _SECONDS.fullmatch(text):
        return min(float(seconds[1]), RETRY_AFTER_LIMIT_S)
    try:
        date = parsedate_to_datetime(text)
        at = (date.replace(tzinfo=UTC) if date.tzinfo is None else date).timestamp()
    except (ValueError, OverflowError, TypeError, IndexError):
        return None
    return min(max(at - now, 0.0), RETRY_AFTER_LIMIT_S)

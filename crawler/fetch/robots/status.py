"""What an answer to a request for robots.txt means, and for how long: RFC 9309, section 2.3. Pure.

A file that was answered with success is kept for a day. Status 4xx, a redirect to nowhere or more than five of them
mean that there is none: everything is allowed, for a day. Status 429, 5xx and no whole answer mean that nobody knows:
everything is disallowed, and the file is asked for again after a minute, then two, four, … up to an hour, or as
Retry-After says. A host that could not be reached at all is told as such. An origin that has answered nothing but that
for 30 days counts as having none, for a day at a time.
"""

import re
from typing import Final

import msgspec

from crawler.fetch.robots.rules import RobotsRules, read_robots
from crawler.page import HOST_FAILURES, Failure, Fetched, Page, Verdict
from crawler.url.urls import path_of

UNREACHABLE_LIMIT_S: Final = 30 * 86400.0
"""RFC 9309, section 2.3.1.4: after that long without an answer, none is taken to exist."""

_ESCAPE = re.compile("%[0-9a-f]{2}", re.IGNORECASE)
_ALLOWED = Verdict(allowed=True, reason="robots")
NONE = Verdict(allowed=True, reason="none")
"""There is no robots.txt, or nobody cares."""


class Waits(msgspec.Struct, frozen=True, kw_only=True):
    """How long answers hold."""

    keep_s: float = 86400.0
    retry_s: float = 60.0
    """After the first failure; doubled by each that follows."""
    max_retry_s: float = 3600.0
    min_delay_s: float = 1.0
    """Kept between two requests of one origin, whatever the others say."""


class RobotsStatus(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What is known of one origin's robots.txt; stored as MessagePack."""

    expires_at: float
    """Seconds since 1970."""
    text: str | None = None
    """None if there is no file, or nobody knows."""
    failing_since: float | None = None
    """When the first of the failures in a row was seen; None if the last answer was a clear one."""
    failures: int = 0
    """In a row."""
    message: str | None = None
    """What the last failure was."""
    host_failure: str | None = None
    """Why the host itself could not be reached, if the last failure was that."""
    refused: str | None = None
    """Why nobody was asked, and nobody will be: our own decision."""


def standing_after(
    answer: Fetched,
    before: RobotsStatus | None,
    now: float,
    waits: Waits,
    *,
    retry_after_s: float | None,
    redirected: bool = False,
) -> RobotsStatus:
    """What is known after that answer, which asks to wait for `retry_after_s`. One that was `redirected` may be another
    host's."""
    if isinstance(answer, Page) and 200 <= answer.status < 300 and answer.truncated in (None, "length"):
        return RobotsStatus(
            expires_at=now + waits.keep_s, text=read_robots(answer.body, is_cut=answer.truncated is not None)
        )
    trouble = _trouble(answer)
    if trouble is None:
        return RobotsStatus(expires_at=now + waits.keep_s)
    failures, since = 1, now
    if before is not None and before.failing_since is not None:
        failures, since = before.failures + 1, before.failing_since
    if now - since >= UNREACHABLE_LIMIT_S:
        wait_s = waits.keep_s
    else:
        wait_s = max(waits.min_delay_s, min(waits.retry_s * 2.0 ** min(failures - 1, 30), waits.max_retry_s))
        wait_s = max(wait_s, min(retry_after_s or 0.0, waits.keep_s))
    host_failure = None
    if isinstance(answer, Failure) and answer.kind in HOST_FAILURES and not redirected:
        host_failure, trouble = answer.kind.value, answer.message
    return RobotsStatus(
        expires_at=now + wait_s, failing_since=since, failures=failures, message=trouble, host_failure=host_failure
    )


def verdict(standing: RobotsStatus, rules: RobotsRules | None, url: str, now: float) -> Verdict:
    """Whether the URL may be fetched; `rules` are those of the text, if there is one."""
    if standing.refused is not None:
        return Verdict(allowed=False, reason=standing.refused, message=standing.message)
    if standing.failures:
        if standing.failing_since is not None and now - standing.failing_since >= UNREACHABLE_LIMIT_S:
            return NONE
        retry_after_s = max(0.0, standing.expires_at - now)
        reason = standing.host_failure or "unreachable"
        return Verdict(allowed=False, reason=reason, retry_after_s=retry_after_s, message=standing.message)
    if rules is None:
        return NONE
    # The URL standard leaves the case of escapes as it is.
    path = _ESCAPE.sub(lambda escape: escape[0].upper(), path_of(url))
    return _ALLOWED if rules.allows(path) else Verdict(allowed=False, reason="robots")


def _trouble(answer: Fetched) -> str | None:
    """Why the answer leaves open what is allowed; None if it says that there is no robots.txt."""
    if isinstance(answer, Failure):
        return f"{answer.kind}: {answer.message}"
    if answer.status == 429 or answer.status >= 500:
        return f"status {answer.status}"
    if isinstance(answer, Page) and answer.status < 300:
        return f"cut: {answer.truncated}"
    return None

"""Decides what a response for robots.txt means, and for how long: RFC 9309, section 2.3. Pure.

A file that was received with success is valid for a day. Status 4xx, a redirect to nowhere, or more than five redirects
mean that there is no file: everything is allowed for a day. Status 429, 430 or 5xx and an incomplete response mean that
the rules are unknown: everything is disallowed, and we ask again after a minute, then two, four, … up to an hour, or as
Retry-After says. If the host can't be reached at all, the verdict names that failure. After 30 days of such failures,
the origin counts as one without robots.txt, for a day at a time.
"""

import re
from typing import Final, Literal

import msgspec

from crawler.fetch.robots.patterns import normal_escape
from crawler.fetch.robots.rules import RobotsRules, read_robots
from crawler.page import HOST_FAILURES, TOO_MANY_REQUESTS, Failure, Fetched, Page, Verdict
from crawler.url.urls import path_of

UNREACHABLE_LIMIT_S: Final = 30 * 86400.0
"""RFC 9309, section 2.3.1.4: after that long without a response, we assume that there is no file."""

CLOCK_STEP_S: Final = 60.0
"""So far the clock may be set back without a second request."""
_ESCAPE = re.compile("%[0-9a-f]{2}", re.IGNORECASE)
_ALLOWED = Verdict(allowed=True, reason="robots")
NONE = Verdict(allowed=True, reason="none")
"""There is no robots.txt, or the crawl does not obey it."""

RobotsOutlook = Literal["allowed", "partly", "disallowed", "unreachable", "none"]
"""It allows everything, or not all, or nothing; or it could not be had, so that nothing may be fetched; or it does not
exist."""


class RobotsLifetimes(msgspec.Struct, frozen=True, kw_only=True):
    """How long a status is valid."""

    keep_s: float = 86400.0
    retry_s: float = 60.0
    """After the first failure. Each further failure doubles it."""
    max_retry_s: float = 3600.0
    max_retry_after_s: float = 3600.0
    min_delay_s: float = 1.0
    """The shortest time between two requests for one file, whatever the other settings."""


class RobotsStatus(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What we know about the robots.txt of one origin; stored as MessagePack."""

    expires_at: float
    """Seconds since 1970."""
    text: str | None = None
    """None if there is no file, or if that is unknown."""
    failing_since: float | None = None
    """The time of the first of the current failures in a row; None if the last response was clear."""
    failures: int = 0
    """In a row."""
    message: str | None = None
    """Describes the last failure."""
    host_failure: str | None = None
    """Why the host itself could not be reached, if that was the last failure."""
    refused: str | None = None
    """Why the crawl refuses to ask."""
    no_connection: bool = False
    """Whether the last failure was that of `Failure.no_connection`, at this origin."""
    asked_at: float | None = None
    """Seconds since 1970; None if the crawl refuses to ask."""


def status_after(
    response: Fetched,
    before: RobotsStatus | None,
    now: float,
    lifetimes: RobotsLifetimes,
    *,
    retry_after_s: float | None,
    redirected: bool = False,
) -> RobotsStatus:
    """The status after a response. `retry_after_s`: the wait that the response asks for. `redirected`: the response may
    come from another host."""
    if isinstance(response, Page) and 200 <= response.status < 300 and response.truncated in (None, "length"):
        return RobotsStatus(
            expires_at=now + lifetimes.keep_s,
            text=read_robots(response.body, is_cut=response.truncated is not None),
            asked_at=now,
        )
    trouble = _trouble(response)
    if trouble is None:
        return RobotsStatus(expires_at=now + lifetimes.keep_s, asked_at=now)
    failures, since = 1, now
    if before is not None and before.failing_since is not None:
        failures, since = before.failures + 1, min(before.failing_since, now)
    if now - since >= UNREACHABLE_LIMIT_S:
        wait_s = lifetimes.keep_s
    else:
        wait_s = max(
            lifetimes.min_delay_s, min(lifetimes.retry_s * 2.0 ** min(failures - 1, 30), lifetimes.max_retry_s)
        )
        wait_s = max(wait_s, min(retry_after_s or 0.0, lifetimes.max_retry_after_s, lifetimes.keep_s))
    host_failure = None
    if isinstance(response, Failure) and not redirected and (response.kind in HOST_FAILURES or response.no_connection):
        host_failure, trouble = response.kind.value, response.message
    return RobotsStatus(
        expires_at=now + wait_s,
        failing_since=since,
        failures=failures,
        message=trouble,
        host_failure=host_failure,
        no_connection=isinstance(response, Failure) and response.no_connection and not redirected,
        asked_at=now,
    )


def is_fresh(status: RobotsStatus, now: float) -> bool:
    """Whether the status is still valid. What was asked in the future is not: the clock has been set back since."""
    return now < status.expires_at and (status.asked_at is None or status.asked_at <= now + CLOCK_STEP_S)


def _is_unreachable(status: RobotsStatus, now: float) -> bool:
    """Whether the rules are unknown, and nothing may be fetched."""
    since = status.failing_since
    return bool(status.failures) and (since is None or now - since < UNREACHABLE_LIMIT_S)


def judge_url(status: RobotsStatus, rules: RobotsRules | None, url: str, now: float) -> Verdict:
    """Whether the URL may be fetched. `rules`: those of the file, if there is one."""
    if status.refused is not None:
        return Verdict(allowed=False, reason=status.refused, message=status.message)
    if status.failures:
        if not _is_unreachable(status, now):
            return NONE
        retry_after_s = max(0.0, status.expires_at - now)
        reason = status.host_failure or "unreachable"
        return Verdict(
            allowed=False,
            reason=reason,
            retry_after_s=retry_after_s,
            message=status.message,
            no_connection=status.no_connection,
        )
    if rules is None:
        return NONE
    path = path_to_match(url)
    if not rules.allows(path):
        return Verdict(allowed=False, reason="robots")
    preferences = rules.preferences(path)
    return Verdict(allowed=True, reason="robots", preferences=preferences) if preferences else _ALLOWED


def judge_host(status: RobotsStatus, rules: RobotsRules | None, now: float) -> RobotsOutlook:
    """What a robots.txt means for its whole host. `rules`: those of the file, if there is one."""
    if _is_unreachable(status, now):
        return "unreachable"
    if rules is None or status.failures:
        return "none"
    if rules.forbids_all:
        return "disallowed"
    return "partly" if rules.forbids else "allowed"


def path_to_match(url: str, /) -> str:
    """The path of a URL with its query, as patterns expect it: the URL standard does not change escapes."""
    path = path_of(url)
    return _ESCAPE.sub(lambda escape: normal_escape(escape[0]), path) if "%" in path else path


def _trouble(response: Fetched) -> str | None:
    """Why the response leaves the rules unknown; None if it says that there is no robots.txt."""
    if isinstance(response, Failure):
        return f"{response.kind}: {response.message}"
    if response.status in TOO_MANY_REQUESTS or response.status >= 500:
        return f"status {response.status}"
    if isinstance(response, Page) and response.status < 300:
        return f"cut: {response.truncated}"
    return None

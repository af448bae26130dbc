"""What a robots.txt means for a whole host. Pure."""

from typing import Literal

from crawler.fetch.robots.rules import RobotsRules
from crawler.fetch.robots.status import RobotsStatus, is_unreachable

RobotsOutlook = Literal["allowed", "partly", "disallowed", "unreachable", "none"]
"""It allows everything, or not all, or nothing; or it could not be had, so that nothing may be fetched; or it does not
exist."""


def outlook(status: RobotsStatus, rules: RobotsRules | None, now: float) -> RobotsOutlook:
    """`rules`: those of the file, if there is one."""
    if is_unreachable(status, now):
        return "unreachable"
    if rules is None or status.failures:
        return "none"
    if rules.forbids_all:
        return "disallowed"
    return "partly" if rules.forbids else "allowed"

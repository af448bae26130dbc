"""Reasons to lease nothing for a while."""

import logging
from collections.abc import Callable

log = logging.getLogger(__name__)

OPERATOR = "operator"
"""The holder whose hold survives a restart."""


class Holds:
    """The holds on a crawl, by holder. While there is any, nothing is leased; open leases can still be settled."""

    def __init__(self, *, on_release: Callable[[], None]) -> None:
        """`on_release` is called when a hold ends and no other is left."""
        self._reasons: dict[str, str] = {}
        self._on_release = on_release

    def __bool__(self) -> bool:
        return bool(self._reasons)

    @property
    def reason(self) -> str | None:
        """Why nothing is leased; None without a hold."""
        return "; ".join(self._reasons.values()) or None

    def hold(self, reason: str, /, *, by: str) -> None:
        """Lease nothing until the same holder releases it, or the process ends."""
        if by not in self._reasons:
            log.info("held by %s: %s", by, reason)
        self._reasons[by] = reason

    def release(self, *, by: str) -> None:
        """End the hold of one holder; those of others remain."""
        if (reason := self._reasons.pop(by, None)) is not None:
            log.info("no longer held by %s: %s", by, reason)
        if not self._reasons:
            self._on_release()

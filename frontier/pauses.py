"""Reasons to lease nothing for a while."""

import logging
from collections.abc import Callable

log = logging.getLogger(__name__)

OPERATOR = "operator"
"""The caller whose pause survives a restart."""


class Pauses:
    """The pauses of a crawl, by who asked for them. While there is any, nothing is leased; open leases can still be
    settled."""

    def __init__(self, *, on_end: Callable[[], None]) -> None:
        """`on_end` is called when a pause ends and no other is left."""
        self._reasons: dict[str, str] = {}
        self._on_end = on_end

    def __bool__(self) -> bool:
        return bool(self._reasons)

    @property
    def reason(self) -> str | None:
        """Why nothing is leased; None without a pause."""
        return "; ".join(self._reasons.values()) or None

    def pause(self, reason: str, /, *, by: str) -> None:
        """Lease nothing until the same caller resumes, or the process ends."""
        if by not in self._reasons:
            log.info("paused by %s: %s", by, reason, extra={"fields": {"by": by, "reason": reason}})
        self._reasons[by] = reason

    def resume(self, *, by: str) -> None:
        """End the pause of one caller, if there is one; those of others remain."""
        if (reason := self._reasons.pop(by, None)) is None:
            return
        log.info("no longer paused by %s: %s", by, reason, extra={"fields": {"by": by, "reason": reason}})
        if not self._reasons:
            self._on_end()

"""Values of the frontier in the forms of replies: the same as in records, so that one program reads both."""

from datetime import UTC, datetime
from typing import Final

from crawler.control.known_urls import UrlForm, UrlVisits
from crawler.control.replies import HealthForm, QueueForm
from crawler.page import digest_text, rfc3339
from crawler.record import header_time
from crawler.status import host_of
from frontier import KnownUrl, QueueStatus

_END_S: Final = datetime(9999, 12, 31, tzinfo=UTC).timestamp()
"""RFC 3339 knows no later year."""


def moment(seconds: float | None) -> str | None:
    """Seconds since 1970 as RFC 3339; None for 0 and None."""
    return rfc3339(seconds) if seconds else None


def seconds(when: str | None) -> float:
    """Seconds since 1970 of a moment as `moment` writes it; 0 for None. Raises `ValueError`."""
    found = 0.0 if when is None else datetime.fromisoformat(when).timestamp()
    if not 0 <= found < _END_S:
        raise ValueError(f"{when} is not between the years 1970 and 9999")
    return found


def queue_form(queue: QueueStatus) -> QueueForm:
    health = queue.health
    return QueueForm(
        host=host_of(queue.key),
        served=queue.served,
        key=queue.key,
        size=queue.size,
        wake_at=moment(queue.wake_at),
        health=HealthForm(
            error_streak=health.error_streak,
            answered=health.answered,
            trouble=health.trouble,
            pressure=health.pressure,
            probe_at=moment(health.probe_at),
        ),
        precedence=queue.precedence,
        spent=queue.spent,
        budget=queue.budget,
        retired=queue.retired,
        pace_s=queue.pace_s,
        address=queue.address,
    )


def url_form(known: KnownUrl, *, due_at: float | None, found: str, waits: str | None, visits: UrlVisits) -> UrlForm:
    entry = known.entry
    return UrlForm(
        canonical=entry.canonical,
        state=entry.state.name.lower(),
        number=entry.number,
        found_at=moment(entry.found_at),
        via=entry.via,
        status=entry.status,
        reason=entry.reason,
        fetched_at=moment(entry.fetched_at),
        digest=None if entry.digest is None else digest_text(entry.digest),
        etag=entry.etag,
        last_modified=header_time(entry.last_modified),
        hit_count=entry.hit_count,
        elsewhere=entry.elsewhere,
        due_at=moment(due_at),
        found=found,
        waits=waits,
        visits=visits,
    )

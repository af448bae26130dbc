"""Values as the commands print them in JSON: in the same forms as records, so that one program reads both."""

import base64
from datetime import datetime

import msgspec

from crawler.page import digest_text
from crawler.record import header_time, rfc3339
from crawler.status import host_of
from frontier import LedgerEntry, QueueStatus


def moment(seconds: float | None) -> str | None:
    """Seconds since 1970 as RFC 3339; None for 0 and None."""
    return rfc3339(seconds) if seconds else None


def seconds(when: str | float | None) -> float:
    """Seconds since 1970 of a moment as `moment` writes it, or as earlier versions did, in seconds; 0 for None. Raises
    `ValueError`."""
    if not isinstance(when, str):
        return when or 0.0
    return datetime.fromisoformat(when).timestamp()


def digest_bytes(text: str | None) -> bytes | None:
    """The bytes of a digest as records write it. Raises `ValueError`."""
    return None if text is None else base64.b32decode(text.removeprefix("sha1:"))


def entry_form(entry: LedgerEntry) -> dict[str, object]:
    """An entry of the ledger."""
    return {
        **msgspec.structs.asdict(entry),
        "state": entry.state.name.lower(),
        "found_at": moment(entry.found_at),
        "fetched_at": moment(entry.fetched_at),
        "digest": None if entry.digest is None else digest_text(entry.digest),
        "last_modified": header_time(entry.last_modified),
    }


def queue_form(queue: QueueStatus) -> dict[str, object]:
    """A queue: its host, whether it is served, and all else that is known of it."""
    health = {**msgspec.structs.asdict(queue.health), "probe_at": moment(queue.health.probe_at)}
    readable = {"wake_at": moment(queue.wake_at), "health": health}
    return {"host": host_of(queue.key), "served": queue.served, **msgspec.structs.asdict(queue), **readable}

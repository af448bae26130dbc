"""The forms in which commands tell JSON: those of records, so that one program reads both."""

import base64
from datetime import datetime

import msgspec

from crawler.page import digest_text
from crawler.record import header_time, rfc3339
from crawler.status import host_of
from frontier import LedgerEntry
from frontier.queues.queue import QueueRecord

_OF_THE_STORE = ("drained_to", "position")


def moment(seconds: float | None) -> str | None:
    """Seconds since 1970 as RFC 3339; None where there is no such moment."""
    return rfc3339(seconds) if seconds else None


def seconds(told: str | float | None) -> float:
    """A moment as `moment` tells it, or in seconds, as earlier versions told it; 0 for none. Raises `ValueError`."""
    if not isinstance(told, str):
        return told or 0.0
    return datetime.fromisoformat(told).timestamp()


def digest_bytes(told: str | None) -> bytes | None:
    """A digest as records tell it. Raises `ValueError`."""
    return None if told is None else base64.b32decode(told.removeprefix("sha1:"))


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


def queue_form(record: QueueRecord) -> dict[str, object]:
    """A queue: its host, whether it is served, and what is stored of it."""
    stored = msgspec.structs.asdict(record)
    for name in _OF_THE_STORE:
        del stored[name]
    health = {**msgspec.structs.asdict(record.health), "probe_at": moment(record.health.probe_at)}
    told = {"wake_at": moment(record.wake_at), "health": health}
    return {"host": host_of(record.key), "served": record.position is not None, **stored, **told}

"""How the record of a queue is written down: a fixed part, the place where it stands, and what few queues have."""

import struct

import msgspec

from frontier.leveldb.encoding import DecodeError, decoder, encode_record
from frontier.queues.lifecycle import Health, QueueState, Standing
from frontier.store import QueueRecord

_QUEUE = struct.Struct(">BBBQdIdQqQ")
_STANDING = struct.Struct(">BQQ")
_QUEUE_FORM = 1
_RETIRED = 1
_STANDS = 2
"""Told since the record may end with more than a standing; before, its length told."""
_MORE = 4
_STATES = tuple(QueueState)
"""By their numbers."""
_WELL = Health()


class _More(msgspec.Struct, array_like=True, tag=5, gc=False):
    """What few queues have: of the others it is not written."""

    trouble: str | None = None
    pressure: int = 0
    probe_at: float = 0.0
    address: str | None = None
    answered: bool = False
    """Missing from records of before it was told."""


_decode_more = decoder(msgspec.msgpack.Decoder(_More).decode)


def encode_queue(queue: QueueRecord) -> bytes:
    health, stands = queue.health, queue.stands
    more = None
    in_trouble = health.trouble is not None or health.answered or health.probe_at
    if in_trouble or health.pressure or queue.address is not None:
        more = _More(health.trouble, health.pressure, health.probe_at, queue.address, health.answered)
    value = _QUEUE.pack(
        _QUEUE_FORM,
        _RETIRED * queue.retired | _STANDS * (stands is not None) | _MORE * (more is not None),
        queue.precedence,
        queue.size,
        queue.wake_at,
        health.error_streak,
        queue.pace_s,
        queue.spent,
        -1 if queue.budget is None else queue.budget,
        queue.head + 1,
    )
    if stands is not None:
        value += _STANDING.pack(stands.state, stands.at, stands.turn)
    return value if more is None else value + encode_record(more)


def decode_queue(value: bytes, *, key: str) -> QueueRecord:
    try:
        form, flags, precedence, size, wake_at, error_streak, pace_s, spent, budget, head = _QUEUE.unpack_from(value)
        rest = value[_QUEUE.size :]
        stands, more = None, None
        if flags & _STANDS or (rest and not flags & _MORE):
            state, at, turn = _STANDING.unpack_from(rest)
            stands = Standing(_STATES[state], at, turn)
            rest = rest[_STANDING.size :]
        if flags & _MORE:
            more = _decode_more(rest)
        elif rest:
            raise ValueError(f"{len(rest)} bytes too many")
    except (struct.error, ValueError, IndexError) as error:
        raise DecodeError(f"a queue record has {_QUEUE.size} bytes and a place, found {len(value)}: {error}") from error
    if form != _QUEUE_FORM:
        raise DecodeError(f"a queue record has form {_QUEUE_FORM}, found {form}")
    health = _WELL
    if more is not None:
        health = Health(
            error_streak=error_streak,
            answered=more.answered,
            trouble=more.trouble,
            pressure=more.pressure,
            probe_at=more.probe_at,
        )
    elif error_streak:
        health = Health(error_streak=error_streak)
    return QueueRecord(
        key=key,
        size=size,
        wake_at=wake_at,
        health=health,
        address=None if more is None else more.address,
        pace_s=pace_s,
        precedence=precedence,
        spent=spent,
        budget=None if budget < 0 else budget,
        retired=bool(flags & _RETIRED),
        head=head - 1,
        stands=stands,
    )

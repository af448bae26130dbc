"""Encodes the record of a queue: a fixed part, its position, and what only few queues have."""

import struct

import msgspec

from frontier.leveldb.format.encoding import DecodeError, decoder, encode_record
from frontier.queues.health import HEALTHY
from frontier.queues.lifecycle import QueueState
from frontier.queues.queue import Position, QueueRecord
from frontier.values import Health

_QUEUE = struct.Struct(">BBBQdIdQqQ")
_POSITION = struct.Struct(">BQQ")
_NEW_QUEUE = struct.Struct(">BBBQ36sQBQQ")
"""Both for a new queue, of which 36 bytes are always equal."""
_NEVER_ASKED = struct.pack(">dIdQq", 0.0, 0, 0.0, 0, -1)
_QUEUE_FORM = 1
_RETIRED = 1
_HAS_POSITION = 2
_HAS_MORE = 4
_STATES = tuple(QueueState)
"""Indexed by their numbers."""


class _More(msgspec.Struct, array_like=True, tag=5, gc=False):
    """What only few queues have. For the others it is not written."""

    trouble: str | None
    pressure: int
    probe_at: float
    address: str | None
    answered: bool


_decode_more = decoder(msgspec.msgpack.Decoder(_More).decode)


def encode_queue(queue: QueueRecord) -> bytes:
    health, position = queue.health, queue.position
    more = None
    flags = _RETIRED if queue.retired else 0
    if position is not None:
        flags |= _HAS_POSITION
    if health is not HEALTHY or queue.address is not None:
        in_trouble = health.trouble is not None or health.answered or health.probe_at
        if in_trouble or health.pressure or queue.address is not None:
            more = _More(health.trouble, health.pressure, health.probe_at, queue.address, health.answered)
            flags |= _HAS_MORE
    value = _QUEUE.pack(
        _QUEUE_FORM,
        flags,
        queue.precedence,
        queue.size,
        queue.wake_at,
        health.error_streak,
        queue.pace_s,
        queue.spent,
        -1 if queue.budget is None else queue.budget,
        queue.drained_to + 1,
    )
    if position is not None:
        value += _POSITION.pack(position.state, position.rank, position.turn)
    return value if more is None else value + encode_record(more)


def encode_new_queue(queue: QueueRecord, position: Position) -> bytes:
    """The same as `encode_queue` for a queue that `QueueUpdate.is_new` describes, for a third of the cost."""
    return _NEW_QUEUE.pack(
        _QUEUE_FORM,
        _HAS_POSITION,
        queue.precedence,
        queue.size,
        _NEVER_ASKED,
        queue.drained_to + 1,
        position.state,
        position.rank,
        position.turn,
    )


def decode_queue(value: bytes, *, key: str) -> QueueRecord:
    try:
        form, flags, precedence, size, wake_at, error_streak, pace_s, spent, budget, drained = _QUEUE.unpack_from(value)
        position, more = _decode_tail(value[_QUEUE.size :], flags)
    except (struct.error, ValueError, IndexError) as error:
        raise DecodeError(
            f"a queue record has {_QUEUE.size} bytes and a position, found {len(value)}: {error}"
        ) from error
    if form != _QUEUE_FORM:
        raise DecodeError(f"a queue record has form {_QUEUE_FORM}, found {form}")
    return QueueRecord(
        key=key,
        size=size,
        wake_at=wake_at,
        health=_health(error_streak, more),
        address=None if more is None else more.address,
        pace_s=pace_s,
        precedence=precedence,
        spent=spent,
        budget=None if budget < 0 else budget,
        retired=bool(flags & _RETIRED),
        drained_to=drained - 1,
        position=position,
    )


def _decode_tail(tail: bytes, flags: int) -> tuple[Position | None, _More | None]:
    position = None
    if flags & _HAS_POSITION:
        state, rank, turn = _POSITION.unpack_from(tail)
        position = Position(_STATES[state], rank, turn)
        tail = tail[_POSITION.size :]
    if flags & _HAS_MORE:
        return position, _decode_more(tail)
    if tail:
        raise ValueError(f"{len(tail)} bytes too many")
    return position, None


def _health(error_streak: int, more: _More | None) -> Health:
    if more is None:
        return Health(error_streak=error_streak) if error_streak else HEALTHY
    return Health(
        error_streak=error_streak,
        answered=more.answered,
        trouble=more.trouble,
        pressure=more.pressure,
        probe_at=more.probe_at,
    )

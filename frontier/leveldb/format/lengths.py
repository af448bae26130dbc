"""Recognizes records of earlier versions, which have fewer values than those of today.

Damage does not look like them: an array that is cut off or overwritten does not end with its last value.
"""

import msgspec

from frontier.leveldb.format.encoding import LENGTHS, DecodeError, decoder

_POSTPONED = 2
_decode = decoder(msgspec.msgpack.Decoder(list[object]).decode)


def length_if_short(value: bytes) -> tuple[int, int] | None:
    """How many values a URL or ledger entry has, and how many it needs, if it is whole and has too few. None for all
    others, also for what can't be decoded at all."""
    try:
        values = _decode(value)
    except DecodeError:
        return None
    if values and values[0] == _POSTPONED:
        # Its own values have not changed since there are any. One of them is the URL.
        values = next((each for each in values if isinstance(each, list)), [])
    form = values[0] if values else None
    needed = LENGTHS.get(form, 0) if isinstance(form, int) else 0
    return (len(values), needed) if len(values) < needed else None

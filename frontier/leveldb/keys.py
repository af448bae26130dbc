"""Under which keys the LevelDB store keeps what it keeps.

The first byte of a key names its space. Numbers are big-endian, so that the order of keys is their order.

    P  queue key, 0x00, order u64      a pending URL
    R  due u64 (ms), number u64        a postponed URL
    L  canonical URL                   ledger entry: what became of it, or where it stands
    H  canonical URL                   links to it that were seen beside those that its own record tells
    Q  queue key                       the queue's record: size, wake time, error streak, budget, where it stands
    I  precedence u8, turn u64         the key of an inactive queue
    W  wake time u64 (ms), turn u64    the key of a queue that rests, and is not in memory
    J  sequence u64                    canonical URLs admitted and forgotten since the last snapshot of the visited set
    B  slot u16                        the number of a batch: u64
    M  name                            format, identity, counters, snapshot, who uses it, what holds it
    G  name                            until when a group rests: f64, seconds since 1970
    N  key                             notes
    X  the key it had                  a record that could not be decoded
"""

import struct

from frontier.leveldb.encoding import Place
from frontier.queues.lifecycle import INACTIVE, SNOOZED, Standing

SPACES = (b"P", b"R", b"L", b"H", b"Q", b"I", b"W", b"J", b"B", b"M", b"G", b"N", b"X")

U16 = struct.Struct(">H")
U64 = struct.Struct(">Q")
U64_PAIR = struct.Struct(">QQ")
SECONDS = struct.Struct(">d")
_INACTIVE = struct.Struct(">cBQ")
_SNOOZED = struct.Struct(">cQQ")


def text(value: str) -> bytes:
    return value.encode("utf-8", "surrogatepass")


def untext(value: bytes) -> str:
    return value.decode("utf-8", "surrogatepass")


def pending_space(queue_key: str) -> bytes:
    """What the keys of a queue's pending URLs begin with; their order follows."""
    return b"P" + queue_key.encode("utf-8", "surrogatepass") + b"\0"


def pending_key(queue_key: str, order: int) -> bytes:
    return pending_space(queue_key) + U64.pack(order)


def postponed_key(due_ms: int, number: int) -> bytes:
    return b"R" + U64_PAIR.pack(due_ms, number)


def ledger_key(canonical: str) -> bytes:
    return b"L" + canonical.encode("utf-8", "surrogatepass")


def hits_key(canonical: str) -> bytes:
    return b"H" + canonical.encode("utf-8", "surrogatepass")


def queue_key(key: str) -> bytes:
    return b"Q" + key.encode("utf-8", "surrogatepass")


def group_key(name: str) -> bytes:
    return b"G" + text(name)


def standing_key(stands: Standing) -> bytes:
    if stands.state is INACTIVE:
        return _INACTIVE.pack(b"I", stands.at, stands.turn)
    return _SNOOZED.pack(b"W", stands.at, stands.turn)


def standing_of(key: bytes) -> Standing:
    """The place that a key of `I` or `W` names."""
    if key[:1] == b"I":
        _, at, turn = _INACTIVE.unpack(key)
        return Standing(INACTIVE, at, turn)
    _, at, turn = _SNOOZED.unpack(key)
    return Standing(SNOOZED, at, turn)


def place_key(place: Place) -> bytes:
    if place.due_ms is None:
        return pending_key(place.queue_key, place.order)
    return postponed_key(place.due_ms, place.number)


def order_in(pending_key: bytes) -> int:
    order: int = U64.unpack(pending_key[-8:])[0]
    return order

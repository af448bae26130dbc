"""The keys of the LevelDB store.

The first byte of a key names its space; the code has a constant for each. Numbers are big-endian, so that keys sort as
their numbers do.

    P  queue key, 0x00, order u64      a pending URL
    R  due u64 (ms), number u64        a postponed URL
    L  canonical URL                   ledger entry: what became of it, or its location
    C  digest of a canonical URL       links to it, in addition to those that its own record counts
    D  due u64 (ms), canonical URL     a visit that is due then, if the ledger entry says so too
    Q  queue key                       the queue's record: size, wake time, error streak, budget, position
    I  precedence u8, turn u64         the key of an inactive queue
    W  wake time u64 (ms), turn u64    the key of a queue that rests and was spilled from memory
    J  sequence u64                    canonical URLs admitted and forgotten since the last snapshot of the visited set
    B  slot u16                        the number of a batch: u64
    M  name                            format, identity, counters, snapshot, marks about who uses it, claims
    G  name                            when the rest of a group ends: f64, seconds since 1970
    N  key                             the durable map
    X  its old key                     a record that could not be decoded

A part of a crawl also has

    O  receiver u16, index u64         a parcel in the outbox
    T  receiver u16                    up to where the outbox has been deleted
    S  sender u16, incarnation u64     how many parcels of the sender were admitted: u64
"""

import struct

from frontier.leveldb.format.encoding import Location
from frontier.queues.lifecycle import INACTIVE, SNOOZED
from frontier.queues.queue import Position

PENDING_SPACE = b"P"
POSTPONED_SPACE = b"R"
LEDGER_SPACE = b"L"
LINKS_SPACE = b"C"
VISITS_SPACE = b"D"
QUEUES_SPACE = b"Q"
INACTIVE_SPACE = b"I"
SPILLED_SPACE = b"W"
JOURNAL_SPACE = b"J"
BATCHES_SPACE = b"B"
MARKS_SPACE = b"M"
GROUPS_SPACE = b"G"
NOTES_SPACE = b"N"
QUARANTINE_SPACE = b"X"
OUTBOX_SPACE = b"O"
TRIMMED_SPACE = b"T"
INBOX_SPACE = b"S"
SPACES = frozenset(bytes((letter,)) for letter in b"PRLCDQIWJBMGNXOTS")
"""All of them."""
COUNTERS_KEY = MARKS_SPACE + b"counters"

U16 = struct.Struct(">H")
U64 = struct.Struct(">Q")
U64_PAIR = struct.Struct(">QQ")
SECONDS = struct.Struct(">d")
_PARCEL = struct.Struct(">HQ")
_INACTIVE = struct.Struct(">cBQ")
_SNOOZED = struct.Struct(">cQQ")


def text(value: str) -> bytes:
    return value.encode("utf-8", "surrogatepass")


def untext(value: bytes) -> str:
    return value.decode("utf-8", "surrogatepass")


def end_of(space: bytes) -> bytes:
    """Where a space ends: no key of it sorts behind this."""
    return bytes((space[0] + 1,))


def pending_space(queue_key: str) -> bytes:
    """The prefix of the keys of a queue's pending URLs. The order of the URL follows it."""
    return PENDING_SPACE + queue_key.encode("utf-8", "surrogatepass") + b"\0"


def pending_key(queue_key: str, order: int) -> bytes:
    return pending_space(queue_key) + U64.pack(order)


def postponed_key(due_ms: int, number: int) -> bytes:
    return POSTPONED_SPACE + U64_PAIR.pack(due_ms, number)


def ledger_key(canonical: str) -> bytes:
    return LEDGER_SPACE + canonical.encode("utf-8", "surrogatepass")


def links_key(digest: bytes) -> bytes:
    return LINKS_SPACE + digest


def revisit_key(due_ms: int, canonical: str) -> bytes:
    return VISITS_SPACE + U64.pack(due_ms) + text(canonical)


def revisit_of(key: bytes) -> tuple[int, str]:
    """When a visit is due, and the canonical URL, that a key of `D` names."""
    return U64.unpack(key[1:9])[0], untext(key[9:])


def queue_key(key: str) -> bytes:
    return QUEUES_SPACE + key.encode("utf-8", "surrogatepass")


def group_key(name: str) -> bytes:
    return GROUPS_SPACE + text(name)


def position_key(position: Position) -> bytes:
    if position.state is INACTIVE:
        return _INACTIVE.pack(INACTIVE_SPACE, position.rank, position.turn)
    return _SNOOZED.pack(SPILLED_SPACE, position.rank, position.turn)


def position_of(key: bytes) -> Position:
    """The position that a key of `I` or `W` names."""
    if key[:1] == INACTIVE_SPACE:
        _, rank, turn = _INACTIVE.unpack(key)
        return Position(INACTIVE, rank, turn)
    _, rank, turn = _SNOOZED.unpack(key)
    return Position(SNOOZED, rank, turn)


def parcel_key(receiver: int, index: int) -> bytes:
    return OUTBOX_SPACE + _PARCEL.pack(receiver, index)


def parcel_of(key: bytes) -> tuple[int, int]:
    """The receiver and the index that a key of `O` names, or the sender and its incarnation that one of `S` names."""
    part, number = _PARCEL.unpack(key[1:])
    return part, number


def trimmed_key(receiver: int) -> bytes:
    return TRIMMED_SPACE + U16.pack(receiver)


def receiver_of(key: bytes) -> int:
    """The receiver that a key of `T` names."""
    receiver: int = U16.unpack(key[1:])[0]
    return receiver


def inbox_key(sender: int, incarnation: int) -> bytes:
    return INBOX_SPACE + _PARCEL.pack(sender, incarnation)


def location_key(location: Location) -> bytes:
    if location.due_ms is None:
        return pending_key(location.queue_key, location.order)
    return postponed_key(location.due_ms, location.number)


def order_in(pending_key: bytes) -> int:
    order: int = U64.unpack(pending_key[-8:])[0]
    return order

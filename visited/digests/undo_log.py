"""How a store of digests is laid out in LevelDB, and how it is rolled back to an earlier write.

d + digest     empty
u + sequence   "+" or "-", and the digests that this write added or removed
m              identity of the store, and the last sequence
"""

from collections.abc import Sequence
from typing import Protocol

import msgspec
import plyvel

from visited.bits.memory import Memory
from visited.protocol import SnapshotRefused

DIGEST_BYTES = 16
ADD, REMOVE = b"+", b"-"

_DIGEST = b"d"
_UNDO = b"u"
_META = b"m"


class Meta(msgspec.Struct, frozen=True):
    """Which store this is, and the number of its last write."""

    identity: str
    sequence: int


class Batch(Protocol):
    """The write batch of plyvel, which exports no name for it."""

    def put(self, key: bytes, value: bytes) -> None: ...

    def delete(self, key: bytes) -> None: ...


def write_meta(target: Batch | plyvel.DB, meta: Meta) -> None:
    target.put(_META, msgspec.json.encode(meta))


def find_digests(db: plyvel.DB, digests: Sequence[bytes]) -> set[bytes]:
    """Return those of the digests that are in the store."""
    get = db.get
    return {digest for digest in digests if get(_DIGEST + digest, verify_checksums=True) is not None}


def write_change(batch: Batch, change: bytes, digests: Sequence[bytes], meta: Meta) -> None:
    """Add or remove digests, together with the undo record of this write."""
    for digest in digests:
        if change == ADD:
            batch.put(_DIGEST + digest, b"")
        else:
            batch.delete(_DIGEST + digest)
    batch.put(_undo_key(meta.sequence), change + b"".join(digests))
    write_meta(batch, meta)


def delete_undo_records(db: plyvel.DB, batch: Batch, sequence: int) -> None:
    """Delete the undo records up to this write. The store can't be rolled back to an earlier one then."""
    for key in db.iterator(start=_UNDO, stop=_undo_key(sequence + 1), include_value=False):
        batch.delete(key)


def roll_back(db: plyvel.DB, identity: str, sequence: int) -> Meta:
    """Undo all writes after `sequence`. Raises SnapshotRefused if that is impossible."""
    try:
        meta = msgspec.json.decode(db.get(_META, verify_checksums=True) or b"", type=Meta)
    except (msgspec.DecodeError, RecursionError) as error:
        raise SnapshotRefused(f"the store has no identity: {error}; rebuild it") from error
    if meta.identity != identity:
        raise SnapshotRefused("the store is not the one of this snapshot; rebuild it")
    if meta.sequence < sequence:
        raise SnapshotRefused(f"the store is at write {meta.sequence}, the snapshot at {sequence}; rebuild it")
    for later in range(meta.sequence, sequence, -1):
        record = db.get(_undo_key(later), verify_checksums=True)
        if record is None:
            raise SnapshotRefused(f"the store is newer than the snapshot, and can't undo write {later}; rebuild it")
        with db.write_batch(transaction=True) as batch:
            for digest in split_digests(record[1:]):
                if record[:1] == ADD:
                    batch.delete(_DIGEST + digest)
                else:
                    batch.put(_DIGEST + digest, b"")
            batch.delete(_undo_key(later))
            write_meta(batch, Meta(identity, later - 1))
    return Meta(identity, sequence)


def split_digests(digests: bytes | Memory) -> list[bytes]:
    """Cut a concatenation of digests."""
    return [bytes(digests[at : at + DIGEST_BYTES]) for at in range(0, len(digests), DIGEST_BYTES)]


def _undo_key(sequence: int) -> bytes:
    return _UNDO + sequence.to_bytes(8, "big")

"""A number for each committed batch, so that one that is lost is missed.

LevelDB drops blocks of its log that are damaged, and goes on with what follows. So each batch writes its number. The
last `KEPT` numbers are kept, in slots that are used again: about as many as LevelDB has batches in its logs. Damage
that loses a batch and spares a later one leaves a gap. What loses only the newest batches, as a power cut may, leaves
the store as it was a while ago, and no gap.
"""

from frontier.leveldb.database import Batch, Database
from frontier.leveldb.keys import U16, U64
from frontier.store import Counters

KEPT = 1 << 16


def write_number(batch: Batch, counters: Counters) -> None:
    """Number the batch, in `counters` too."""
    counters.batches += 1
    batch.put(b"B" + U16.pack(counters.batches % KEPT), U64.pack(counters.batches))


def missing_batches(database: Database, counters: Counters) -> int:
    """How many of the last batches are missing."""
    newest = counters.batches
    missing = min(newest, KEPT)
    for _, value in database.items(b"B", b"C"):
        number = int.from_bytes(value, "big")
        if number > newest:
            missing += 1  # written together with counters that are newer than those that are left
        elif number > newest - KEPT:
            missing -= 1
    return missing


def begin_anew(database: Database, batch: Batch, counters: Counters) -> None:
    """Number from 1 on: what is missing has been dealt with."""
    for key in database.keys(b"B", b"C"):
        batch.delete(key)
    counters.batches = 0

"""Checks that the visited set, as an opening would restore it, knows the whole ledger."""

from itertools import islice

from frontier.descriptor import Problem
from frontier.leveldb.store import LevelDBStore
from frontier.records import JournalDamaged
from frontier.snapshots.restoring import replay
from frontier.snapshots.saving import Snapshots
from visited import CannotForget, Forgotten, Incomplete, SharedSet, SnapshotRefused, Unanswered, Unreachable, VisitedSet

BATCH = 4096


async def check_visited(store: LevelDBStore, visited: VisitedSet, snapshots: Snapshots) -> list[Problem]:
    """Fill an empty visited set from snapshot and journal, and find the URLs of the ledger that it lacks. Those that a
    server lacks are added there."""
    if isinstance(visited, SharedSet):
        try:
            memory = await visited.connect()
            if memory == store.marks.memory:
                visited.trust(memory)
                return await _find_unknown(store, visited)
        except Incomplete:
            return []  # this crawl has added its URLs again, and another one has not
        except (Forgotten, Unanswered, Unreachable) as error:
            return [Problem("visited", "the server", f"it can't be asked: {error}")]
        return []  # the next opening fills it
    snapshot_at = store.journal.snapshot_at
    try:
        await replay(store, visited, snapshots)
    except FileNotFoundError:
        why = "it is missing, as in a crawl that was restored or divided: the next start rebuilds it from the ledger"
        return [Problem("snapshot", str(snapshot_at), why)]
    except (SnapshotRefused, OSError, JournalDamaged, CannotForget) as error:
        return [Problem("snapshot", str(snapshot_at), f"it will be rebuilt from the ledger: {error}")]
    return await _find_unknown(store, visited)


async def _find_unknown(store: LevelDBStore, visited: VisitedSet) -> list[Problem]:
    problems, ledger = [], store.reads.ledger()
    while batch := list(islice(ledger, BATCH)):
        verdicts = await visited.add_many(batch)
        problems += [
            Problem("visited", canonical, "the ledger has it, the visited set does not")
            for canonical, is_new in zip(batch, verdicts, strict=True)
            if is_new
        ]
    return problems

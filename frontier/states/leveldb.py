"""The frontier in LevelDB. What checks, repairs and divides it is loaded when it is called: a crawl does without."""

from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path

import msgspec

from frontier.descriptor import (
    Descriptor,
    Naming,
    NoOptions,
    Parameters,
    Problem,
    RenameResult,
    RepairResult,
    Report,
    Upkeep,
)
from frontier.leveldb.database import SPACE_TO_REOPEN_BYTES, Database, SystemCalls
from frontier.leveldb.identity import set_lineage
from frontier.leveldb.linking import link_database, link_tables
from frontier.leveldb.store import LevelDBStore
from frontier.regrouping import Regrouped, Regrouping
from frontier.states.store_state import StoreState
from visited import VisitedSet

LevelDBState = StoreState[LevelDBStore]


def _open_store(parameters: Parameters) -> LevelDBStore:
    if parameters.directory is None:
        raise ValueError("leveldb needs a directory, found none")
    calls = SystemCalls(before_write=parameters.before_write)
    return LevelDBStore(parameters.directory, parameters.terms, durability=parameters.durability, calls=calls)


def _check(state: LevelDBState) -> Report:
    from frontier.upkeep.fsck import fsck  # noqa: PLC0415 - see above

    return fsck(state.store, owner=state.owner)


async def _check_visited(state: LevelDBState, visited: VisitedSet) -> list[Problem]:
    from frontier.upkeep.visited_check import check_visited  # noqa: PLC0415 - see above

    return [] if state.snapshots is None else await check_visited(state.store, visited, state.snapshots)


def _check_parts(states: Sequence[LevelDBState]) -> list[Problem]:
    from frontier.upkeep.part_checks import check_parts  # noqa: PLC0415 - see above

    return list(check_parts([state.store for state in states]))


def _take_positions(states: Sequence[LevelDBState], rebuilt: int) -> None:
    from frontier.upkeep.part_checks import take_positions  # noqa: PLC0415 - see above

    take_positions([state.store for state in states], rebuilt)


def _parts_that_lack_links(states: Sequence[LevelDBState]) -> list[int]:
    from frontier.upkeep.part_checks import parts_that_lack_links  # noqa: PLC0415 - see above

    return parts_that_lack_links([state.store for state in states])


async def _rename(state: LevelDBState, naming: Naming, progress: Callable[[int], None] | None) -> RenameResult | None:
    if not state.store.needs_rebuild:
        return None
    from frontier.upkeep.rebuild import rebuild  # noqa: PLC0415 - see above

    return await rebuild(state.store, naming, settings=state.settings, progress=progress)


def _repair(parameters: Parameters, _: NoOptions, copy: Path) -> RepairResult:
    from frontier.upkeep.salvage import repair_directory  # noqa: PLC0415 - see above

    assert parameters.directory is not None
    to_repair = msgspec.structs.replace(parameters, terms=msgspec.structs.replace(parameters.terms, to_repair=True))
    store, repaired = repair_directory(parameters.directory, lambda: _open_store(to_repair), copy=copy)
    done = [
        name.replace("_", " ") if found is True else f"{name.replace('_', ' ')}: {found}"
        for name, found in msgspec.structs.asdict(repaired).items()
        if found
    ]
    counters = store.counters
    is_incomplete = bool(counters.lost or counters.gaps or repaired.salvaged == "tables" or not counters.admitted)
    return RepairResult(
        state=StoreState(store, parameters), done=done, is_copied=copy.exists(), is_incomplete=is_incomplete
    )


async def _regroup(job: Regrouping) -> Regrouped:
    from frontier.regroup.regroup import regroup  # noqa: PLC0415 - see above

    return await regroup(job)


def _abandon(job: Regrouping) -> None:
    from frontier.regroup.regroup import abandon  # noqa: PLC0415 - see above

    abandon(job)


def _set_lineage(directory: Path, lineage: int) -> None:
    with closing(Database(directory, durability="power")) as database:
        set_lineage(database, lineage)


DESCRIPTOR = Descriptor(
    name="leveldb",
    make=lambda parameters, _options: StoreState(_open_store(parameters), parameters),
    needs=frozenset({"directory"}),
    min_free_bytes=SPACE_TO_REOPEN_BYTES,
    asks_servers=True,
    upkeep=Upkeep(
        check=_check,
        check_visited=_check_visited,
        check_parts=_check_parts,
        take_positions=_take_positions,
        parts_that_lack_links=_parts_that_lack_links,
        repair=_repair,
        rename=_rename,
        regroup=_regroup,
        abandon=_abandon,
        link_ahead=link_tables,
        link=link_database,
        set_lineage=_set_lineage,
    ),
)

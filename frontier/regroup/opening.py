"""Opens sources and targets. There may be very many, so each gets little memory."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Final

from frontier.leveldb.database import Database, SystemCalls
from frontier.leveldb.opening import open_leveldb
from frontier.leveldb.store import LevelDBStore
from frontier.regrouping import PartOfState
from frontier.terms import Terms

_CALLS: Final = SystemCalls(
    open_database=partial(open_leveldb, write_buffer_bytes=4 * 1024 * 1024, cache_bytes=4 * 1024 * 1024)
)


@contextmanager
def open_sources(sources: Sequence[PartOfState]) -> Iterator[list[Database]]:
    """The databases of sources, whether they have their marks or not."""
    with ExitStack() as stack:
        databases = []
        for source in sources:
            database = Database(source.directory, durability="process", calls=_CALLS)
            stack.callback(database.close)
            databases.append(database)
        yield databases


@contextmanager
def open_targets(targets: Sequence[PartOfState], identity: Mapping[str, str]) -> Iterator[list[LevelDBStore]]:
    """The stores of targets. A new one is empty, and gets its mark."""
    with ExitStack() as stack:
        stores = []
        for target in targets:
            store = open_target(target, identity)
            stack.callback(store.close)
            stores.append(store)
        yield stores


def open_target(target: PartOfState, identity: Mapping[str, str]) -> LevelDBStore:
    target.directory.mkdir(parents=True, exist_ok=True)
    # It is incomplete, so its counts need not add up.
    terms = Terms(identity=identity, part=target.part, to_repair=True, to_regroup=True)
    return LevelDBStore(target.directory, terms, calls=_CALLS)

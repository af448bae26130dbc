"""The whole, step by step."""

import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from copy import copy
from functools import partial
from typing import Final

from frontier.leveldb.database import Database, SystemCalls
from frontier.leveldb.identity import begin_regrouping, end_regrouping, is_regrouping
from frontier.leveldb.opening import open_leveldb
from frontier.leveldb.store import LevelDBStore
from frontier.regroup.filling import PROGRESS, Filling, Progress, begin_filling, progress_of
from frontier.regroup.links import admit_links, links_on_their_way
from frontier.regroup.placing import Placing
from frontier.regroup.sources import Sources
from frontier.regrouping import PartOfState, Regrouped, Regrouping
from frontier.terms import Terms
from frontier.upkeep.fsck import fsck
from frontier.upkeep.part_checks import check_parts
from frontier.values import REPAIR_ADVICE, StoreFailed

_TOLD_EACH = 100_000
_ENTRIES_TOGETHER = 500
_CALLS: Final = SystemCalls(
    open_database=partial(open_leveldb, write_buffer_bytes=4 * 1024 * 1024, cache_bytes=4 * 1024 * 1024)
)
"""There may be very many sources and targets, so each gets little memory."""


async def regroup(job: Regrouping) -> Regrouped:
    """Fill the targets with all that the sources have. Afterwards the targets can be opened, and the sources can't.

    Raises `StoreRefused` if something can't be divided; then nothing has changed. Raises `StoreFailed` if a source is
    damaged, or the disk fails. Then, as after a crash, call it again, or call `abandon`.
    """
    with _open_sources(job.sources) as databases:
        sources = Sources(databases)
        sources.check(job.routing)
        for database in databases:
            begin_regrouping(database)
            await database.make_safe()
        with _open_targets(job.targets, sources.identity) as stores:
            is_complete = any(not is_regrouping(store.database) and store.counters.batches for store in stores)
            if not is_complete:
                _begin(sources, stores, job.targets)
                _copy(sources, stores, job)
        links = new = 0
        if not is_complete:
            links, new = await _admit_links(sources, job)
            _check(sources, job)
        return await _end(sources, job, links=links, new=new)


def abandon(job: Regrouping) -> None:
    """Delete the targets, and let the sources be opened again."""
    for target in job.targets:
        shutil.rmtree(target.directory, ignore_errors=True)
    with _open_sources(job.sources) as databases:
        for database in databases:
            end_regrouping(database)


@contextmanager
def _open_sources(sources: Sequence[PartOfState]) -> Iterator[list[Database]]:
    """The databases of sources, whether they have their marks or not."""
    with ExitStack() as stack:
        databases = (Database(source.directory, durability="process", calls=_CALLS) for source in sources)
        yield [stack.enter_context(closing(database)) for database in databases]


@contextmanager
def _open_targets(targets: Sequence[PartOfState], identity: Mapping[str, str]) -> Iterator[list[LevelDBStore]]:
    """The stores of targets. A new one is empty, and gets its mark."""
    with ExitStack() as stack:
        yield [stack.enter_context(closing(_open_target(target, identity))) for target in targets]


def _open_target(target: PartOfState, identity: Mapping[str, str]) -> LevelDBStore:
    target.directory.mkdir(parents=True, exist_ok=True)
    # It is incomplete, so its counts need not add up.
    terms = Terms(identity=identity, part=target.part, to_repair=True, to_regroup=True)
    return LevelDBStore(target.directory, terms, calls=_CALLS)


def _begin(sources: Sources, stores: Sequence[LevelDBStore], targets: Sequence[PartOfState]) -> None:
    for number, (store, target) in enumerate(zip(stores, targets, strict=True)):
        begin_regrouping(store.database)
        if progress_of(store) is None:
            begin_filling(store, sources.first_counters(target, is_first=number == 0))


def _copy(sources: Sources, stores: Sequence[LevelDBStore], job: Regrouping) -> None:
    """Copy what has not been copied yet, in the order of the steps and of the keys."""
    filling = Filling(stores)
    placing = Placing(sources, job, has=lambda key: any(store.database.get(key) for store in stores))
    begin, count = filling.begin, 0
    complete = Progress(len(placing.steps) + 1)
    if begin >= complete:
        return
    for step, (space, place) in enumerate(placing.steps.items()):
        if step < begin.step:
            continue
        for key, found in sources.merged(space, after=begin.key if step == begin.step else b""):
            at = Progress(step, key)
            for placed in place(key, found):
                filling.put(placed, at)
            if filling.is_full():
                filling.flush(at)
            count += 1
            if count % _TOLD_EACH == 0:
                job.progress("records copied", count)
        filling.flush(Progress(step + 1))
    sources.check_sums([store.counters for store in stores])
    _count_quarantined(sources, stores)
    Filling(stores).flush(complete)


def _count_quarantined(sources: Sources, stores: Sequence[LevelDBStore]) -> None:
    """Count what was quarantined twice under one key, of which the last record was kept."""
    surplus = sources.sum_of("quarantined") - sum(store.counters.quarantined for store in stores)
    if surplus > 0:
        counters = copy(stores[0].counters)
        counters.quarantined += surplus
        stores[0].writer.write_records({}, (), counters)


async def _admit_links(sources: Sources, job: Regrouping) -> tuple[int, int]:
    """Admit the links that were on their way. Returns how many there were, and how many are new."""
    links = sum(1 for _ in links_on_their_way(sources, job.sources))
    if not links:
        return 0, 0
    new = 0
    for number, target in enumerate(job.targets):
        store = _open_target(target, sources.identity)
        on_their_way = links_on_their_way(sources, job.sources)
        own = (url for url in on_their_way if job.routing.owner(url.queue_key) == number)
        new += await admit_links(store, own, job)
        job.progress("new URLs on their way between parts", new)
    return links, new


def _check(sources: Sources, job: Regrouping) -> None:
    """Raise `StoreFailed` if the targets have any problem."""
    with _open_targets(job.targets, sources.identity) as stores:
        problems = []
        for number, store in enumerate(stores):
            _begin_journal(store)
            problems += fsck(store, owner=job.routing.owner).problems
            job.progress("parts checked", number + 1)
        problems += check_parts(stores)
    # What the sources had lost, they had lost before.
    found = [problem for problem in problems if problem.kind not in ("missing", "gap")]
    if found:
        first = found[0]
        raise StoreFailed(
            f"the frontier is damaged: {len(found)} of its records do not fit together, such as {first.kind} "
            f"{first.where}: {first.message}; {REPAIR_ADVICE}"
        )


def _begin_journal(store: LevelDBStore) -> None:
    """Let the journal begin behind a snapshot that does not exist: the visited set will be rebuilt from the ledger, and
    what is admitted until a snapshot is saved follows without a gap."""
    store.journal.note_snapshot(store.counters.journal_end)
    while store.journal.trim(_ENTRIES_TOGETHER):
        pass


async def _end(sources: Sources, job: Regrouping, *, links: int, new: int) -> Regrouped:
    """Let the targets be opened."""
    with _open_targets(job.targets, sources.identity) as stores:
        for store in stores:
            sources.pass_marks(store.marks)
            await store.make_safe()
        for store in stores:
            end_regrouping(store.database, without=(PROGRESS,))
            await store.make_safe()
        counters = [store.counters for store in stores]
    return Regrouped(
        urls=sum(each.admitted for each in counters),
        pending=sum(each.pending + each.retired_urls for each in counters),
        retrying=sum(each.retrying for each in counters),
        queues=sum(each.queues + each.retired_queues for each in counters),
        links=links,
        new=new,
    )

"""What is kept, for commands and for the crawl."""

import logging
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Annotated

import msgspec
from msgspec import Meta

from frontier import CrawlUrl, Damaged, FrontierStats, KnownUrl, QueueStatus, UrlState
from frontier.descriptor import Parameters, Problem, Report
from frontier.queues.budgets import is_retired
from frontier.queues.queue import QueueRecord
from sqlite_frontier.database import Database, entry_of, load
from sqlite_frontier.frontier import SqliteFrontier
from sqlite_frontier.served import Served
from visited import VisitedSet

log = logging.getLogger(__name__)

_BATCH = 4096
_WAITING = "url IS NOT NULL AND due_at IS NULL"


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """The options of the backend."""

    cache_bytes: Annotated[
        int, Meta(ge=1 << 20, le=1 << 40, description="Memory for pages of the file.", extra={"unit": "bytes"})
    ] = 1 << 26


class SqliteNotes:
    """`Notes` in the database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def get(self, key: str, /) -> bytes | None:
        found = self._database.rows("SELECT value FROM notes WHERE key = ?", key)
        return found[0][0] if found else None

    def put(self, key: str, value: bytes, /) -> None:
        with self._database.transaction():
            self._database.write("INSERT OR REPLACE INTO notes VALUES (?, ?)", key, value)

    def items(self, prefix: str, /) -> Iterator[tuple[str, bytes]]:
        query = "SELECT key, value FROM notes WHERE substr(key, 1, ?) = ? ORDER BY key"
        yield from self._database.rows(query, len(prefix), prefix)

    def set_aside(self, key: str, why: Exception, /) -> None:
        log.error("the value of %r can't be read and is set aside: %s", key, why)
        with self._database.transaction():
            self._database.write("INSERT INTO aside SELECT key, value, ? FROM notes WHERE key = ?", str(why), key)
            self._database.write("DELETE FROM notes WHERE key = ?", key)


class SqliteState:
    """A `FrontierState`; also a `QueueReads`, a `LedgerReads`, and a `Pausing` while no frontier is open over it."""

    def __init__(self, parameters: Parameters, options: Options) -> None:
        settings = parameters.settings
        if parameters.directory is None:
            raise ValueError("sqlite needs a directory, found none")
        if parameters.terms.part is not None:
            raise ValueError("sqlite can't be a part of a crawl in parts: set crawl.parts = 1")
        if settings.by_best_url or not settings.serves_all:
            raise ValueError("sqlite serves its queues in turns: leave frontier.queue_order and precedence_floor unset")
        self._parameters = parameters
        self.database = Database(parameters.directory, parameters.terms, durability=parameters.durability)
        self.database.write(f"PRAGMA cache_size = -{options.cache_bytes >> 10}")
        self.identity: Mapping[str, str] = self.database.identity
        self.notes = SqliteNotes(self.database)
        self._frontier: SqliteFrontier | None = None

    def knows_many(self, canonicals: Sequence[str], /) -> list[bool]:
        rows, query = self.database.rows, "SELECT 1 FROM urls WHERE canonical = ?"
        return [bool(rows(query, canonical)) for canonical in canonicals]

    def describe(self) -> FrontierStats:
        if self._frontier is not None:
            return self._frontier.describe()
        served = Served(self.database, self._parameters)
        served.load()
        return served.stats(self._counts(), self.database.value("SELECT min(due_at) FROM urls"), paused=self.paused)

    def _counts(self) -> Counter[str]:
        counts: Counter[str] = Counter(lost=self.database.meta("lost", 0))
        counts["quarantined"] = self.database.value("SELECT count(*) FROM aside")
        query = "SELECT state, due_at IS NULL, count(*) FROM urls GROUP BY 1, 2"
        for state, is_due, count in self.database.rows(query):
            counts[UrlState(state).name.lower() if is_due else "retrying"] = count
        return counts

    async def restore(self, visited: VisitedSet, /, *, rebuilding: Callable[[int], None] | None = None) -> None:
        batch: list[str] = []
        urls = 0
        for (canonical,) in self.database.scan("SELECT canonical FROM urls"):
            batch.append(canonical)
            if len(batch) == _BATCH:
                await visited.add_many(batch)
                urls, batch = urls + len(batch), []
                if rebuilding is not None:
                    rebuilding(urls)
        await visited.add_many(batch)

    async def open_frontier(
        self, visited: VisitedSet, /, *, rebuilding: Callable[[int], None] | None = None
    ) -> SqliteFrontier:
        await self.restore(visited, rebuilding=rebuilding)
        with self.database.transaction():
            if self.database.meta("in_use") is not None:
                self.database.set(crashed_at=max(self._parameters.clock(), self.database.meta("clock", 0.0)))
            self.database.set(in_use=1)
        self._frontier = SqliteFrontier(self.database, visited, self._parameters, self._counts())
        return self._frontier

    def close(self) -> None:
        self.database.close()

    # look-ups

    def queues(self, after: str = "", /) -> Iterator[QueueStatus]:
        for (text,) in self.database.rows("SELECT record FROM queues WHERE key > ? ORDER BY key", after):
            yield self._status(load(text, QueueRecord))

    def queue(self, key: str, /) -> QueueStatus | None:
        found = self.database.rows("SELECT record FROM queues WHERE key = ?", key)
        return self._status(load(found[0][0], QueueRecord)) if found else None

    def _status(self, record: QueueRecord) -> QueueStatus:
        served = record.size > 0 and not is_retired(record, self._parameters.settings.budgets)
        fields = {name: getattr(record, name) for name in QueueStatus.__struct_fields__ if name != "served"}
        return QueueStatus(**fields, served=served)

    def next_urls(self, key: str, /, *, limit: int) -> list[CrawlUrl]:
        query = f"SELECT url FROM urls WHERE queue = ? AND {_WAITING} ORDER BY precedence, ordinal LIMIT ?"  # noqa: S608
        return [load(text, CrawlUrl) for (text,) in self.database.rows(query, key, limit)]

    @property
    def numbers_given(self) -> int:
        return int(self.database.meta("next_number", 1)) - 1

    def known(self, canonical: str, /) -> KnownUrl | None:
        query = "SELECT entry, hits, url, due_at FROM urls WHERE canonical = ?"
        return next((_known(*row) for row in self.database.rows(query, canonical)), None)

    def all_known(self, after: str = "", /) -> Iterator[KnownUrl | Damaged]:
        query = "SELECT canonical, entry, hits, url, due_at FROM urls WHERE canonical > ? ORDER BY canonical"
        for canonical, *row in self.database.scan(query, after):
            try:
                yield _known(*row)
            except (ValueError, msgspec.ValidationError) as error:
                yield Damaged(canonical.encode(), str(error))

    # an operator acts

    @property
    def paused(self) -> str | None:
        paused: str | None = self.database.meta("paused")
        return paused

    async def pause(self, reason: str, /) -> None:
        with self.database.transaction():
            self.database.set(paused=reason)

    async def resume(self) -> None:
        if self.paused is None:
            raise ValueError("no operator has paused the crawl")
        with self.database.transaction():
            self.database.set(paused=None)


def _known(entry: str, hits: int, url: str | None, due_at: float | None) -> KnownUrl:
    waiting = None if url is None else load(url, CrawlUrl)
    return KnownUrl(entry=entry_of(entry, hits), waiting=waiting, due_at=due_at)


def check(state: SqliteState) -> Report:
    """Checks that the file is sound, and that queues, URLs and their states agree."""
    queues, stats = list(state.queues()), state.describe()
    return Report(
        urls=stats.admitted,
        pending=stats.pending + stats.retired,
        retrying=stats.retrying,
        queues=len(queues),
        quarantined=stats.quarantined,
        problems=[*_damage(state.database), *_wrong_sizes(state.database, queues), *_wrong_entries(state)],
    )


def _damage(database: Database) -> Iterator[Problem]:
    for (text,) in database.rows("PRAGMA integrity_check"):
        if text != "ok":
            yield Problem("file", str(database.path), text)


def _wrong_sizes(database: Database, queues: Sequence[QueueStatus]) -> Iterator[Problem]:
    found = dict(database.rows(f"SELECT queue, count(*) FROM urls WHERE {_WAITING} GROUP BY queue"))  # noqa: S608
    sizes = {queue.key: queue.size for queue in queues}
    for key in {**found, **sizes}:
        if sizes.get(key, 0) != found.get(key, 0):
            message = f"its record counts {sizes.get(key, 0)} URLs, but it has {found.get(key, 0)}"
            yield Problem("queue", key, message)


def _wrong_entries(state: SqliteState) -> Iterator[Problem]:
    for known in state.all_known():
        if isinstance(known, Damaged):
            yield Problem("damaged", repr(known.key), known.message)
        elif (known.entry.state is UrlState.PENDING) != (known.waiting is not None):
            yield Problem("ledger", known.entry.canonical, "its state does not say whether it waits")

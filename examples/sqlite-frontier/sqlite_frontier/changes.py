"""The changes of a frontier: first in one transaction, then in memory, with no await between."""

import logging
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager

import msgspec

from frontier import CrawlUrl, Lease, LedgerEntry, Outcome, StoreFailed, UrlState
from frontier.queues.health import next_health
from frontier.queues.lease_end import LeaseEnd
from frontier.queues.queue import Prerequisite, Queue
from sqlite_frontier.database import Database, dump, load, pending_entry
from sqlite_frontier.served import Served

log = logging.getLogger(__name__)

_HAS_COPY = (200, 304)
_SETTLED = {UrlState.DONE: "done", UrlState.FAILED: "failed", UrlState.EXCLUDED: "excluded"}


class OpenLease(msgspec.Struct, eq=False):
    """A lease that has not ended."""

    lease: Lease
    queue: Queue
    found_at: float
    superseded: bool = False
    """Whether its URL has been admitted again."""
    for_prerequisite: bool = False


class Changes:
    """The queues in memory, and the transactions that change them and the file. `counts` are those of the ledger."""

    def __init__(self, database: Database, served: Served, counts: Counter[str], *, wake: Callable[[], None]) -> None:
        self.database = database
        self.served = served
        self.counts = counts
        self.leases: dict[int, OpenLease] = {}
        self.failure: BaseException | None = None
        self._schedule = served.schedule
        self._wake = wake
        self.next_due: float | None = database.value("SELECT min(due_at) FROM urls")
        """When the next retry is due."""

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """One transaction. If it fails, nothing of it has happened, and no other will."""
        self.check()
        try:
            with self.database.transaction():
                yield
                self.database.set(clock=self.served.now())
        except BaseException as error:
            self.fail(error)
            raise
        self._wake()

    def fail(self, error: BaseException) -> None:
        if self.failure is None:
            log.error("the frontier ends: %s", error)
            self.failure = error
        self._wake()

    def check(self) -> None:
        if self.failure is not None:
            raise StoreFailed(f"an earlier change failed: {self.failure}") from self.failure

    # URLs come in

    def admit(self, urls: Sequence[CrawlUrl], new: Sequence[bool], *, force: bool, validators: bool) -> int:
        """Enqueue the URLs that are new. With `force`, also those that are settled or leased."""
        admitted = {url.canonical: url for url, is_new in zip(urls, new, strict=True) if is_new}
        repeated = [] if force else [url for url, is_new in zip(urls, new, strict=True) if not is_new]
        settled: Counter[str] = Counter()
        superseded: list[OpenLease] = []
        found_at: dict[str, float] = {}
        without_validators: list[str] = []
        for url in urls if force else ():
            entry = self.database.entry(url.canonical)
            lease = None if entry is None else self.leases.get(entry.number)
            waits = entry is not None and entry.state is UrlState.PENDING and lease is None
            if url.canonical in admitted or waits:
                without_validators += [url.canonical] if waits and not validators else []
                continue
            admitted[url.canonical] = _prepare_again(url, entry, validators=validators)
            if entry is not None:
                found_at[url.canonical] = entry.found_at
            if lease is not None:
                superseded.append(lease)
            elif entry is not None:
                settled[_SETTLED[entry.state]] += 1
        added = Counter(url.queue_key for url in admitted.values())
        removed = Counter(lease.queue.key for lease in superseded)
        queues = [self.served.queue(key) for key in {**added, **removed}]
        with self.transaction():
            number = self.database.take("next_number", len(admitted))
            ordinal = self.database.take("next_ordinal", len(admitted))
            for index, url in enumerate(admitted.values()):
                when = found_at.get(url.canonical, int(self.served.clock()))
                entry = pending_entry(url, number + index, when)
                self.database.put_waiting(entry, url, ordinal + index)
            for url in repeated:
                self.database.write(
                    "UPDATE urls SET hits = hits + ? WHERE canonical = ?", url.link_count, url.canonical
                )
            for canonical in without_validators:
                self.database.remove_validators(canonical)
            self._write_sizes(queues, added, removed)
        for lease in superseded:
            lease.superseded = True
        self.served.apply_sizes(queues, added, removed)
        self.counts.subtract(settled)
        self.counts["pending"] += len(admitted) - len(superseded)
        return len(admitted)

    def record(self, entries: Iterable[LedgerEntry]) -> None:
        """Enter URLs that were settled elsewhere."""
        with self.transaction():
            for entry in entries:
                number = entry.number or self.database.take("next_number", 1)
                self.database.skip("next_number", number)
                self.database.put_settled(msgspec.structs.replace(entry, number=number), entry.hit_count)
        self.counts.update(_SETTLED[entry.state] for entry in entries)

    def forget(self, entries: Iterable[LedgerEntry]) -> None:
        with self.transaction():
            for entry in entries:
                self.database.write("DELETE FROM urls WHERE canonical = ?", entry.canonical)
        self.counts.subtract(_SETTLED[entry.state] for entry in entries)

    def _write_sizes(self, queues: Iterable[Queue], added: Counter[str], removed: Counter[str]) -> None:
        for queue in queues:
            size = queue.record.size + added[queue.key] - removed[queue.key]
            self.database.put_record(msgspec.structs.replace(queue.record, size=size))

    # leases go out

    def next_lease(self) -> Lease | None:
        """The next lease; None if no queue is ready."""
        now = self.served.now()
        if self.next_due is not None and self.next_due <= now:
            self._requeue(now)
        self._schedule.wake(now)
        queue = self._schedule.lease()
        if queue is None:
            return None
        found = self.database.first_waiting(queue.key, queue.leased)
        number, url, hits, entry = next(row for row in found if row[0] not in self.leases)
        health = queue.record.health
        lease = Lease(
            url=load(url, CrawlUrl),
            number=number,
            error_streak=health.error_streak,
            answered=health.answered,
            pressure=health.pressure,
            dead=(health.trouble or "unknown") if health.probe_at > now else None,
            hit_count=hits,
        )
        self.leases[number] = OpenLease(lease, queue, load(entry, LedgerEntry).found_at)
        return lease

    def _requeue(self, now: float) -> None:
        """Move the retries that are due into their queues, behind the URLs that wait there."""
        due = self.database.rows("SELECT canonical, queue FROM urls WHERE due_at <= ? ORDER BY due_at, number", now)
        added = Counter(key for _, key in due)
        queues = [self.served.queue(key) for key in added]
        with self.transaction():
            ordinal = self.database.take("next_ordinal", len(due))
            for index, (canonical, _) in enumerate(due):
                self.database.write(
                    "UPDATE urls SET due_at = NULL, ordinal = ? WHERE canonical = ?", ordinal + index, canonical
                )
            self._write_sizes(queues, added, Counter())
        self.next_due = self.database.value("SELECT min(due_at) FROM urls")
        self.served.apply_sizes(queues, added, Counter())
        self.counts["retrying"] -= len(due)
        self.counts["pending"] += len(due)

    def begin_fetch(self, lease: OpenLease, address: str | None, prerequisite: str | None) -> float | None:
        """Returns None if the server may be asked now, or else for how long the queue must rest."""
        lease.for_prerequisite = prerequisite is not None
        queue, now = lease.queue, self.served.now()
        if prerequisite is None:
            return None if self._schedule.move(queue, address, now=now) else 0.0
        if not self._schedule.move(queue, None, prerequisite=Prerequisite(prerequisite, address), now=now):
            return 0.0
        # It may rest for longer than its host's pace asks: it does not answer, or has hours when it may be asked.
        rest_s = self.served.queue(prerequisite).record.wake_at - now
        return rest_s if rest_s > 0 else None

    def relocate(self, lease: OpenLease, address: str, prerequisite: str | None) -> None:
        queue, now = lease.queue, self.served.now()
        if prerequisite is None:
            self._schedule.move(queue, address, prerequisite=queue.prerequisite, now=now)
        else:
            self._schedule.move(queue, None, prerequisite=Prerequisite(prerequisite, address), now=now)
        self._wake()

    # leases come back

    def settle(self, lease: OpenLease, ending: LeaseEnd, outcome: Outcome) -> None:
        url = lease.lease.url
        with self._end(lease, ending, outcome):
            if lease.superseded:
                return
            entry = LedgerEntry(
                canonical=url.canonical,
                state=outcome.state,
                number=lease.lease.number,
                found_at=lease.found_at,
                via=url.via,
                status=outcome.status,
                reason=outcome.reason,
                fetched_at=outcome.fetched_at,
                digest=outcome.digest,
                etag=outcome.etag,
                last_modified=outcome.last_modified,
                url=None if url.url == url.canonical else url.url,
            )
            hits = self.database.value("SELECT hits FROM urls WHERE canonical = ?", url.canonical)
            self.database.put_settled(entry, hits + outcome.self_links)
        self.counts["pending"] -= 1
        self.counts[_SETTLED[outcome.state]] += 1

    def retry(self, lease: OpenLease, ending: LeaseEnd, outcome: Outcome, *, after_s: float | None) -> None:
        url = msgspec.structs.replace(lease.lease.url, attempt=lease.lease.url.attempt + 1)
        due_at = None if after_s is None else self.served.now() + after_s
        with self._end(lease, ending, outcome):
            if lease.superseded:
                return
            reason = None if due_at is None else outcome.reason
            entry = pending_entry(url, lease.lease.number, lease.found_at, reason)
            self.database.write(
                "UPDATE urls SET url = ?, entry = ?, due_at = ? WHERE canonical = ?",
                *(dump(url), dump(entry), due_at, url.canonical),
            )
        if due_at is not None:
            self.counts["pending"] -= 1
            self.counts["retrying"] += 1
            self.next_due = min(due_at, self.next_due or due_at)
            self._wake()

    def release(self, lease: OpenLease, ending: LeaseEnd, reason: str | None) -> None:
        lease.queue.rest_reason = reason
        with self._end(lease, ending, None):
            pass

    @contextmanager
    def _end(self, held: OpenLease, ending: LeaseEnd, outcome: Outcome | None) -> Iterator[None]:
        """End a lease: the context writes what becomes of its URL, and this what becomes of its queue."""
        queue, now = held.queue, self.served.now()
        end = self._schedule.plan_end(queue, ending, now=now)
        record = end.record
        if outcome is not None and ending.asked:
            record = msgspec.structs.replace(record, health=next_health(record.health, outcome, now=now))
        if ending.asked and ending.cooldown_s > 0 and (outcome is None or outcome.server_ok):
            record = msgspec.structs.replace(record, pace_s=ending.cooldown_s)
        rests: Iterable[tuple[str, float]] = ()
        if ending.asked:
            in_trouble = record.health.error_streak > 0
            rests = self._schedule.groups.plan_rests(queue, ending.group_rest_s, now=now, in_trouble=in_trouble)
        with self.transaction():
            yield
            self.database.put_record(record)
            for name, wake_at in rests:
                self.database.write("INSERT OR REPLACE INTO groups VALUES (?, ?)", name, wake_at)
        del self.leases[held.lease.number]
        self._schedule.settle(queue, msgspec.structs.replace(end, record=record))
        self.served.note(queue)


def _prepare_again(url: CrawlUrl, entry: LedgerEntry | None, *, validators: bool) -> CrawlUrl:
    """The URL with its known link count, and with the validators of the crawl's copy, if that has the same URL."""
    if entry is None:
        return url
    url = msgspec.structs.replace(url, link_count=entry.hit_count)
    is_same = url.url == (entry.url or entry.canonical)
    if not validators or not is_same or entry.state is not UrlState.DONE or entry.status not in _HAS_COPY:
        return url
    return msgspec.structs.replace(url, had_etag=entry.etag, had_last_modified=entry.last_modified)

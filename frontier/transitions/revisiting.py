"""Queues settled URLs again: when an operator asks for it, and when their next visit is due."""

import asyncio
from collections.abc import Iterable
from contextlib import suppress
from functools import partial
from time import perf_counter
from typing import Final

import msgspec

from frontier.protocol.serving import RevisitPlan
from frontier.store import Store
from frontier.transitions.active.active_queues import ActiveQueues
from frontier.transitions.admission import Admission
from frontier.transitions.commit import Commit
from frontier.transitions.snapshotting import Snapshotting
from frontier.values import CrawlUrl, Damaged, LedgerEntry, UrlState

_TOGETHER: Final = 100
"""URLs that one batch changes."""
_SLICE_S: Final = 0.005
"""The event loop is held for so long at a time."""


class Revisiting:
    """Takes settled URLs through the admission."""

    def __init__(
        self,
        store: Store,
        active: ActiveQueues,
        admission: Admission,
        commit: Commit,
        snapshotting: Snapshotting,
    ) -> None:
        self._store = store
        self._active = active
        self._admission = admission
        self._commit = commit
        self._snapshotting = snapshotting

    async def readmit(self, urls: Iterable[CrawlUrl], /, *, whole: bool = False) -> int:
        admitted = await self._admission.readmit(urls, drop_validators=whole)
        await self._snapshotting.save_if_due()
        return admitted

    async def revisit(self, plan: RevisitPlan, /, *, stay: bool) -> None:
        revisits = self._active.revisits
        revisits.serve(plan, stay=stay)
        try:
            revisits.are_planned = self._store.marks.revisits_planned
            if not revisits.are_planned:
                await self._plan_all()
            while not self._commit.stopped:
                if not await self._take_due(plan):
                    await self._wait()
        finally:
            revisits.end()
            self._wake_if_complete()

    async def _take_due(self, plan: RevisitPlan) -> bool:
        """Queue the first URLs that are due. Returns whether there were any."""
        reads = self._store.reads
        due = reads.revisits_due(int(self._active.now() * 1000), limit=_TOGETHER)
        if due:
            urls, refused = [], []
            for due_ms, canonical in due:
                entry = self._settled_entry(canonical)
                if entry is None or entry.due_ms != due_ms:
                    continue  # the visit is none any more
                url = plan.url(entry)
                if url is not None:
                    urls.append(url)
                else:
                    refused.append(entry.canonical)
            await self.readmit(urls)
            if refused:
                await self._commit.run(partial(self._put_off, plan, refused))
            # After a crash in between, these visits are found to be none any more.
            await self._commit.run(partial(self._store.drop_revisits, due))
        self._active.revisits.set_next(reads.next_revisit_ms())
        self._wake_if_complete()
        return bool(due)

    def _settled_entry(self, canonical: str) -> LedgerEntry | None:
        """The ledger entry of a URL; None unless it is settled."""
        entry = self._store.reads.entry(canonical)
        return None if entry is None or entry.state is UrlState.PENDING else entry

    async def _wait(self) -> None:
        """Wait until a visit is due."""
        revisits = self._active.revisits
        revisits.changed.clear()
        wait_s = None if revisits.next_ms is None else max(revisits.next_ms / 1000 - self._active.now(), 0.001)
        with suppress(TimeoutError):
            async with asyncio.timeout(wait_s):
                await revisits.changed.wait()

    async def _plan_all(self) -> None:
        """Plan the next visits of all settled URLs. No iterator stays open while others work."""
        after: str | None = ""
        while after is not None:
            after, entries = self._read_slice(after)
            for at in range(0, len(entries), _TOGETHER):
                await self._commit.run(partial(self._plan_each, entries[at : at + _TOGETHER]))
            await asyncio.sleep(0)
        await self._commit.run(partial(self._store.marks.set_revisits_planned, True))
        self._active.revisits.keep_plan()
        self._active.revisits.set_next(self._store.reads.next_revisit_ms())

    def _read_slice(self, after: str) -> tuple[str | None, list[str]]:
        """Settled URLs, as many as a slice of time has room for, and the last URL; None at the end."""
        settled, until = [], perf_counter() + _SLICE_S
        for known in self._store.ledger.all_known(after):
            if isinstance(known, Damaged):
                continue
            if known.entry.state is not UrlState.PENDING:
                settled.append(known.entry.canonical)
            if perf_counter() >= until:
                return known.entry.canonical, settled
        return None, settled

    def _plan_each(self, canonicals: Iterable[str]) -> None:
        planned = []
        for entry in filter(None, map(self._settled_entry, canonicals)):
            plan = entry if entry.due_ms is not None else self._active.revisits.plan_entry(entry, self._active.now())
            if plan.due_ms is not None:
                planned.append(plan)
        self._store.plan_revisits(planned)

    def _put_off(self, plan: RevisitPlan, canonicals: Iterable[str]) -> None:
        """Plan the next visits of URLs that must not be visited now, as if they had been: the rules may change."""
        put_off = []
        for entry in filter(None, map(self._settled_entry, canonicals)):
            after_s = plan.interval_s(entry)
            due_ms = None if after_s is None else int((self._active.now() + after_s) * 1000)
            put_off.append(msgspec.structs.replace(entry, due_ms=due_ms))
        self._store.plan_revisits(put_off)

    def _wake_if_complete(self) -> None:
        if self._active.is_complete():
            self._active.waiters.wake_all()

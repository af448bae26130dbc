"""What an operator acts on: a crawl that runs, or one that is opened from its directory.

Frontiers of other people may lack what only operators need. The functions return what can do it, or raise `Refused`.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from config import Loaded
from crawler.codes.exit_codes import FAILED
from crawler.control.replies import CrawlStatus, Stopping
from crawler.counters import InFlight
from crawler.disk.directory import CrawlDirectory
from crawler.disk.syncing import FileSync
from crawler.operate.refused import Refused
from crawler.operate.settings.changing import CrawlSettings
from crawler.parts.ending import Gate
from crawler.wiring.backends import named_frontier
from crawler.wiring.components.discovering import Rules
from crawler.wiring.plugins.guarded_frontier import guarded_ledger, guarded_queues
from frontier import Frontier, LedgerReads, Pausing, QueueControl, QueueReads, Recovering, Recrawling, Serving, Syncing
from frontier.state import FrontierState
from visited import VisitedStats


class OperatedCrawl(Protocol):
    """A crawl, and whoever runs it."""

    @property
    def directory(self) -> CrawlDirectory: ...

    @property
    def loaded(self) -> Loaded:
        """The configuration that holds now."""
        ...

    @property
    def settings(self) -> CrawlSettings: ...

    @property
    def state(self) -> FrontierState: ...

    @property
    def controls(self) -> object:
        """What an operator steers: the frontier of a running crawl, or the state of another one. Its backend decides
        whether it is a `Pausing`, a `QueueControl`, a `Serving`, a `Syncing` and an `InParts`."""
        ...

    @property
    def in_flight(self) -> list[InFlight]: ...

    @property
    def gate(self) -> Gate | None:
        """Through which URLs are added; None if the crawl is not in parts, or does not run."""
        ...

    @property
    def rules(self) -> Rules:
        """Those of the configuration that holds now. They are made once."""
        ...

    async def frontier(self) -> Frontier:
        """The frontier. If the crawl does not run, this opens it, which takes as long as a start."""
        ...

    async def visited(self) -> VisitedStats: ...

    @property
    def files(self) -> FileSync: ...

    async def make_safe(self) -> None:
        """Bring everything onto the disk. Raises `SyncFailed`, and `Refused` if the crawl keeps nothing there."""
        ...

    def status(self) -> CrawlStatus: ...

    def stop(self, *, now: bool) -> Stopping: ...


@contextmanager
def adding(crawl: OperatedCrawl) -> Iterator[None]:
    """While an operator adds URLs, a crawl in parts does not end. Raises `Refused` if it just does."""
    gate = crawl.gate
    if gate is None:
        yield
        return
    if not gate.enter():
        raise Refused("the crawl is complete, and ends now; start it again, then add the URLs", FAILED)
    try:
        yield
    finally:
        gate.leave()


def pausing(crawl: OperatedCrawl) -> Pausing:
    if not isinstance(controls := crawl.controls, Pausing):
        raise _lacks("be paused")
    return controls


def syncing(crawl: OperatedCrawl) -> Syncing:
    if not isinstance(controls := crawl.controls, Syncing):
        raise _lacks("bring its state onto the disk")
    return controls


def queue_control(crawl: OperatedCrawl) -> QueueControl:
    if not isinstance(controls := crawl.controls, QueueControl):
        raise _lacks("retire queues or give them budgets")
    return controls


def queue_reads(crawl: OperatedCrawl) -> QueueReads:
    if not isinstance(state := crawl.state, QueueReads):
        raise _lacks("tell about its queues")
    return guarded_queues(state, named_frontier(crawl.loaded.config))


def ledger_reads(crawl: OperatedCrawl) -> LedgerReads:
    if not isinstance(state := crawl.state, LedgerReads):
        raise _lacks("tell about its URLs")
    return guarded_ledger(state, named_frontier(crawl.loaded.config))


async def recovering(crawl: OperatedCrawl) -> Recovering:
    if not isinstance(frontier := await crawl.frontier(), Recovering):
        raise _lacks("take URLs that another crawl has settled")
    return frontier


async def recrawling(crawl: OperatedCrawl) -> Recrawling:
    if not isinstance(frontier := await crawl.frontier(), Recrawling):
        raise _lacks("fetch settled URLs again")
    return frontier


def serving(crawl: OperatedCrawl) -> Serving:
    if not isinstance(controls := crawl.controls, Serving):
        raise _lacks("tell which hosts it serves")
    return controls


def _lacks(what: str) -> Refused:
    return Refused(f"the frontier of this crawl can't {what}: frontier.backend names one that lacks it")

"""What is still to be fetched, and when.

A crawl's URLs stand in *queues*, one for each host (or domain, or IP: whatever its queue key says), because the URLs
of one server must take turns. A queue is

    inactive     it has URLs and waits for a place among the active ones
    ready        its first URL may be fetched now
    in process   as many of its URLs are leased as may be (`per_queue`, as a rule one)
    snoozed      it rests, after a fetch or a failure, until its wake time
    retired      it is not served: by an operator, or because its budget is spent
    exhausted    it has no URL; it is forgotten but for its wake time

Which state may follow which stands in `lifecycle`. Only the active queues are in memory; the others stand in two lines
in the store, one by precedence, one by wake time.

A *lease* is the right to fetch one URL. It ends in one of three ways: `done` (settled for good), `retry` (again,
later, not at the head of its queue) or `release` (handed back untouched). A lease is never written down: after a
crash its URL is simply still pending. So a crash repeats at most what was in flight, and loses nothing. Nor is it known
then which servers were being asked: each queue rests first, as it did after its last good answer.

`add` is where links come in: each passes the visited set, in one step that tells and remembers, and the new ones are
written into ledger, pending space and journal as one batch. The *ledger* is the durable truth: every URL ever admitted
and what became of it. The visited set is an index over it.

Who may call what: any number of workers iterate and settle their own leases; anyone may add. Nobody polls: each
wait ends by the event it waits for, by a deadline, or by cancellation.

The decisions are made in `lifecycle` and `schedule`, which are pure and take `now`. Around them, `shell` is what others
call. URLs come in by `gate` and `admission`, go out by `leasing`, and come back by `settling`; `operating` is what an
operator does. Each of these transitions is written as one whole into a store, of which there are two: `memory` and
`leveldb`.
"""

from frontier.protocol import Frontier, Notes
from frontier.values import (
    CrawlUrl,
    FrontierStats,
    Lease,
    LedgerEntry,
    Outcome,
    StoreFailed,
    StoreFull,
    StoreRefused,
    UrlState,
)

__all__ = [
    "CrawlUrl",
    "Frontier",
    "FrontierStats",
    "Lease",
    "LedgerEntry",
    "Notes",
    "Outcome",
    "StoreFailed",
    "StoreFull",
    "StoreRefused",
    "UrlState",
]

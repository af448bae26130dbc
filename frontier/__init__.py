"""What is still to be fetched, and when.

The URLs of one server must take turns. So they wait in a *queue*: one for each host, domain or IP, as the queue key
says. A queue is in one of these states:

    inactive     it has URLs and waits to become active
    ready        its first URL may be fetched now
    in process   the highest allowed number of its URLs is leased (`per_queue`, usually one)
    snoozed      it rests until its wake time, after a fetch or a failure
    retired      it is not served, because an operator retired it or its budget is spent
    exhausted    it has no URL; the store remembers its wake time and health

`queues.lifecycle` says which state may follow which. Only the active queues are in memory. The store keeps the others
in two orders: by precedence and by wake time.

A *lease* is the right to fetch one URL. It ends in one of three ways: `done` (settled for good), `retry` (again, later)
or `release` (handed back unchanged). A lease is never written to disk: after a crash its URL is still pending. So a
crash repeats at most the pages in flight and loses none. After a crash we cannot know which servers had just been
asked, so every queue first rests for its usual delay.

URLs come in through `add`. For each URL the visited set answers "is it new?" and remembers it, in one step. One batch
writes the new URLs to ledger, pending space and journal. The *ledger* is the durable truth: every URL ever admitted,
and what became of it. The visited set is an index over it.

A visited set on a server (`visited.SharedSet`) outlives the process, and other crawls may share it. If the set has
remembered a URL, and this process dies before it writes the batch, the URL would be lost for all. So the frontier first
writes the URLs that it asks about, the *claims*; the batch that admits the new URLs clears them. If a claim is found
when the frontier is opened, or if its answer was lost, the URL is admitted unless the ledger has it.

Any number of workers iterate and settle their own leases; any task may add URLs. No task polls: an event, a deadline or
cancellation ends each wait.

The rooms:

    queues        decides which queue is served next; pure, takes `now`
    transitions   changes the state: admit, lease, settle, operate; each change is one write batch
    sending       sends links that belong to another part of the crawl
    leveldb       the store on disk
    memory        the reference store
    link_table    counts links in memory
    snapshots     saves the visited set, and loads it when a crawl is opened
    upkeep        checks, repairs and rebuilds whole stores
    regroup       divides whole stores again among the parts of a crawl
    states        opens stores as states, for the rest of the program

Plug-ins may be frontiers too, so the rest of the program depends only on what a frontier promises. `protocol` defines
these promises, `state` what is kept between runs, `look_ups` how to read this, `values` what passes between,
`descriptions` what an operator sees of queues, and `visits` what is remembered of earlier visits to a URL. Most
protocols are small, and optional for a frontier. A `descriptor` says how the state of a backend is opened, on which
`terms`, and what operations it allows; `backends` lists ours.

The other modules belong to our own frontier. Callers use `shell`. `store` defines what the frontier needs from a store
(`store_reads` what it reads there), `records` what a store keeps. `pauses` are reasons to lease nothing. `clock` never
runs backwards.

A crawl may have several *parts*, each with its own frontier. The room `parts` defines what such a frontier promises in
addition, and the form in which links travel; `part_links` keeps these promises over a store. `regrouping` has what is
needed to divide stored URLs again among parts."""

from frontier.descriptions import ActiveQueue, QueueStatus
from frontier.parts.protocol import (
    MAX_LINEAGE,
    MAX_PARTS,
    Allowance,
    GroupGate,
    InParts,
    Misrouted,
    Part,
    PartLinks,
    PartPages,
    Place,
    Reservations,
    part_links_of,
)
from frontier.pauses import Pauses
from frontier.protocol.forwarding import ForwardingFrontier
from frontier.protocol.look_ups import ClaimReads, LedgerReads, Notes, Numbering, NumberReads, QueueReads, Timing
from frontier.protocol.serving import (
    Budgeted,
    Foreseeing,
    Frontier,
    Pausing,
    QueueControl,
    Recovering,
    Recrawling,
    Revisiting,
    RevisitPlan,
    Serving,
    Syncing,
    Tended,
)
from frontier.protocol.url_batch import UrlBatch, canonicals_of
from frontier.values import (
    Budgets,
    CrawlUrl,
    Damaged,
    FrontierStats,
    Health,
    KnownUrl,
    Lease,
    LedgerEntry,
    Outcome,
    StoreFailed,
    StoreFull,
    StoreRefused,
    UrlState,
)
from frontier.visits import MAX_HISTORY, LastVisit, VisitsSince, add_visit

__all__ = [
    "MAX_HISTORY",
    "MAX_LINEAGE",
    "MAX_PARTS",
    "ActiveQueue",
    "Allowance",
    "Budgeted",
    "Budgets",
    "ClaimReads",
    "CrawlUrl",
    "Damaged",
    "Foreseeing",
    "ForwardingFrontier",
    "Frontier",
    "FrontierStats",
    "GroupGate",
    "Health",
    "InParts",
    "KnownUrl",
    "LastVisit",
    "Lease",
    "LedgerEntry",
    "LedgerReads",
    "Misrouted",
    "Notes",
    "NumberReads",
    "Numbering",
    "Outcome",
    "Part",
    "PartLinks",
    "PartPages",
    "Pauses",
    "Pausing",
    "Place",
    "QueueControl",
    "QueueReads",
    "QueueStatus",
    "Recovering",
    "Recrawling",
    "Reservations",
    "RevisitPlan",
    "Revisiting",
    "Serving",
    "StoreFailed",
    "StoreFull",
    "StoreRefused",
    "Syncing",
    "Tended",
    "Timing",
    "UrlBatch",
    "UrlState",
    "VisitsSince",
    "add_visit",
    "canonicals_of",
    "part_links_of",
]

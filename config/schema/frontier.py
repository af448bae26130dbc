"""What is to be fetched, in which order, and what was met before."""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from config.schema.kinds import BYTES, DAY_S, END, MOST, SECONDS, Place, Text

FrontierBackend = Literal["memory", "leveldb"]
VisitedBackend = Literal[
    "exact", "bloom", "blocked", "counting", "counting-8", "counting-32", "dsbf", "per-site", "auto"
]
VisitedStore = Literal["memory", "leveldb"]
QueueBy = Literal["host", "domain", "ip", "surt-prefix"]
Durability = Literal["process", "power"]
Order = Literal["depth", "breadth-first", "depth-first", "cost"]
QueueOrder = Literal["turns", "best-url"]
Costs = Literal["one", "guess"]
ParallelQueues = Annotated[
    str,
    Meta(
        pattern=rf"^[A-Za-z0-9_]([A-Za-z0-9_.:-]*[A-Za-z0-9_])?:[1-9][0-9]{{0,2}}{END}",
        extra={"form": 'a host and a number, as "www.example.org:4"'},
    ),
]


class Frontier(msgspec.Struct, frozen=True, kw_only=True):
    """What is still to be fetched, and when."""

    backend: Annotated[
        FrontierBackend,
        Meta(
            description="Where waiting URLs are kept: leveldb, on disk, survives a crash; memory keeps nothing.",
            extra={"coming": ("redis",)},
        ),
    ] = "leveldb"
    queue_by: Annotated[
        QueueBy,
        Meta(
            description="URLs that must take turns: those of one host, of one domain, of all hosts that lie on one "
            "IP address, or in one of queue_prefixes."
        ),
    ] = "host"
    queue_prefixes: Annotated[
        tuple[Place, ...],
        Meta(
            description="With queue_by surt-prefix: places whose URLs share a queue, written in the same ways as "
            "places in scope; the longest counts, and what lies in none is queued by host. "
            "Fixed once a crawl has begun."
        ),
    ] = ()
    durability: Annotated[
        Durability,
        Meta(description="What the state survives: the death of the process, or also a loss of power (slower)."),
    ] = "process"
    max_attempts: Annotated[
        int,
        Meta(
            ge=1, le=1000, description="Fetches of a URL, all in all, before it is given up.", extra={"unit": "fetches"}
        ),
    ] = 4
    retry_delay_s: Annotated[
        float,
        Meta(ge=0, le=30 * DAY_S, description="Wait before the second attempt; it doubles with each.", extra=SECONDS),
    ] = 30.0
    retry_max_delay_s: Annotated[
        float, Meta(ge=0, le=30 * DAY_S, description="Longest wait between two attempts.", extra=SECONDS)
    ] = 3600.0
    open_after: Annotated[
        int,
        Meta(
            ge=1,
            le=1000,
            description="Failures of a host in a row after which a time-out or a lost connection is held against the "
            "host: only one URL of it is tried then, after longer and longer rests. Where there is no name or no "
            "connection, that is so from the first.",
            extra={"unit": "failures"},
        ),
    ] = 3
    dead_after: Annotated[
        int,
        Meta(
            ge=1,
            le=1000,
            description="Failures of a host in a row, each after a longer rest, before what is left of it is given up "
            "without being asked for.",
            extra={"unit": "failures"},
        ),
    ] = 8
    order: Annotated[
        Order,
        Meta(
            description="Which URLs of a queue go first: those nearest to a seed, or of most weight where there is a "
            "focus; in the order they were found; those farthest from a seed; those that look cheap."
        ),
    ] = "depth"
    embeds_first: Annotated[
        bool, Meta(description="Images, scripts and styles before all pages, so that what is there is whole.")
    ] = False
    queue_order: Annotated[
        QueueOrder, Meta(description="Queues take turns as equals, or those whose best URL goes before go first.")
    ] = "turns"
    precedence_floor: Annotated[
        Annotated[int, Meta(ge=1, le=255)] | None,
        Meta(
            description="With queue_order best-url: queues whose best URL has this precedence or a higher one are "
            "not served."
        ),
    ] = None
    cost: Annotated[
        Costs,
        Meta(description="What a URL takes from budgets: one, or more for parameters and deep paths."),
    ] = "one"
    session_budget: Annotated[
        int,
        Meta(
            ge=1,
            le=MOST,
            description="Cost after which a queue makes room for others that wait, of which there are only beyond "
            "4,000 queues.",
        ),
    ] = 1000
    total_budget: Annotated[
        Annotated[int, Meta(ge=1, le=MOST)] | None,
        Meta(description="Cost after which a queue is retired: what is left of it is kept, and not fetched."),
    ] = None
    error_penalty: Annotated[
        int, Meta(ge=0, le=1_000_000, description="Cost of a server's failure, beside that of the URL.")
    ] = 0
    parallel_queues: Annotated[
        tuple[ParallelQueues, ...],
        Meta(
            description="Hosts that have several queues, each with a pace of its own, and how many, behind a colon: "
            "for your own giant site. Fixed once a crawl has begun."
        ),
    ] = ()
    snapshot_every: Annotated[
        int,
        Meta(
            ge=1,
            le=MOST,
            description="New URLs between two snapshots of the visited set; fewer make a start after a crash quicker.",
            extra={"unit": "URLs"},
        ),
    ] = 250_000


class Visited(msgspec.Struct, frozen=True, kw_only=True):
    """What was met before."""

    backend: Annotated[
        VisitedBackend,
        Meta(
            description="exact never errs, at 16 to 32 bytes per URL. Filters take 2 or 3, and lose some pages: bloom; "
            "blocked, quicker and a little larger; counting, with counters of 4, 8 or 32 bits, which can forget; dsbf, "
            "which grows as it must; per-site, a fixed filter for each host; auto, the one of exact, dsbf and bloom "
            "that loses least in memory_bytes, chosen once for a crawl.",
        ),
    ] = "exact"
    store: Annotated[
        VisitedStore,
        Meta(description="Where the exact set is kept: leveldb takes more URLs than memory holds, and is slower."),
    ] = "memory"
    capacity: Annotated[
        int,
        Meta(
            ge=1, le=MOST, description="URLs that are expected; beyond it a filter errs more.", extra={"unit": "URLs"}
        ),
    ] = 1_000_000
    error_rate: Annotated[
        float,
        Meta(ge=1e-12, le=0.5, description="Chance that a full filter takes a new URL for a known one."),
    ] = 0.0001
    memory_bytes: Annotated[
        Annotated[int, Meta(ge=1_000_000, le=MOST, extra=BYTES)] | None,
        Meta(description="Memory that auto may choose a set for; unset means a quarter of what the machine has."),
    ] = None
    site_bytes: Annotated[
        int,
        Meta(ge=64, le=1 << 30, multiple_of=8, description="Filter of each host of per-site.", extra={"unit": "bytes"}),
    ] = 32_768
    verify: Annotated[
        bool,
        Meta(
            description="Look up in the ledger what a filter calls known, so that it loses no page; false saves the "
            "look-ups, a few microseconds for each link that was not met lately."
        ),
    ] = True
    white_list: Annotated[
        tuple[Text, ...], Meta(description="Canonical URLs that no filter may take for known ones.")
    ] = ()
    recent: Annotated[
        int,
        Meta(
            ge=0,
            le=100_000_000,
            description="Recently met URLs remembered in front of the visited set; 0 does without, as does `exact` in "
            "memory, which answers faster itself.",
            extra={"unit": "URLs"},
        ),
    ] = 65_536

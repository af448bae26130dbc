"""What is fetched next, and how the crawl remembers URLs."""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from config.schema.kinds import DAY_S, IN_NAME, MOST, PER_SITE, Options, Place, Text, between, matching, meaning
from frontier.backends import BACKENDS as FRONTIERS
from visited.backends import BACKENDS, REMOTE

FrontierBackend = Annotated[str, Meta(extra={"choices": tuple(FRONTIERS), "backends": "frontier"})]
VisitedBackend = Annotated[str, Meta(extra={"choices": (*BACKENDS, *REMOTE, "auto"), "backends": "visited"})]
Candidate = Annotated[str, Meta(extra={"choices": tuple(BACKENDS), "backends": "visited"})]
VisitedStore = Literal["memory", "leveldb"]
QueueBy = Literal["host", "domain", "ip", "surt-prefix"]
Durability = Literal["process", "power"]
Order = Literal["depth", "breadth-first", "depth-first", "cost"]
QueueOrder = Literal["turns", "best-url"]
Costs = Literal["one", "guess"]
ParallelQueues = Annotated[
    str, matching(rf"{IN_NAME}([.:-]*{IN_NAME})*:[1-9][0-9]{{0,2}}", 'a host and a number, as "www.example.org:4"')
]


class Frontier(msgspec.Struct, frozen=True, kw_only=True):
    """Which URLs are fetched next, and when."""

    backend: Annotated[
        FrontierBackend,
        meaning(
            "Where URLs wait. leveldb stores them on disk, and survives a crash; memory keeps nothing after the run."
        ),
    ] = "leveldb"
    options: Annotated[
        Options,
        meaning("Options of the backend, as a table [frontier.options]. Each backend has its own."),
        Meta(extra={"options_of": "frontier.backend", "backends": "frontier"}),
    ] = {}
    queue_by: Annotated[
        QueueBy,
        meaning(
            "Which URLs share a queue, and so take turns: those of one host, of one domain, of all hosts at one IP "
            "address (ip), or in one of queue_prefixes (surt-prefix)."
        ),
    ] = "host"
    queue_prefixes: Annotated[
        tuple[Place, ...],
        meaning(
            "With queue_by surt-prefix: the places whose URLs share a queue, written like scope.places. The longest "
            "match counts. URLs outside all of them are queued by host. Changing them in a crawl that has begun needs "
            "--rebuild."
        ),
    ] = ()
    durability: Annotated[
        Durability,
        meaning("What the state survives: a crash of the process, or also a power failure (power, which is slower)."),
    ] = "process"
    max_attempts: Annotated[
        int, between(1, 1000, "fetches"), meaning("Attempts to fetch a URL before it has failed."), PER_SITE
    ] = 4
    retry_delay_s: Annotated[
        float,
        between(0, 30 * DAY_S, "seconds"),
        meaning("Wait before the second attempt. It doubles before each further one."),
        PER_SITE,
    ] = 30.0
    retry_max_delay_s: Annotated[
        float, between(0, 30 * DAY_S, "seconds"), meaning("Longest wait between two attempts."), PER_SITE
    ] = 3600.0
    open_after: Annotated[
        int,
        between(1, 1000, "failures"),
        meaning(
            "Failures of a host in a row after which a time-out or a lost connection counts against the host itself. "
            "From then on the crawl tries only one of its URLs, after longer and longer rests. Failed name look-ups "
            "and refused connections count against the host from the first."
        ),
        PER_SITE,
    ] = 3
    dead_after: Annotated[
        int,
        between(1, 1000, "failures"),
        meaning("Failures of a host in a row after which the crawl gives up its remaining URLs without a request."),
        PER_SITE,
    ] = 8
    order: Annotated[
        Order,
        meaning(
            "Which URLs of a queue go first: depth (nearest to a seed, or of the highest weight if there is a focus), "
            "breadth-first (in the order they were found), depth-first (farthest from a seed), or cost (those that "
            "look cheap)."
        ),
    ] = "depth"
    embeds_first: Annotated[
        bool,
        meaning("Fetch images, scripts and styles before all pages, so that the pages fetched so far are complete."),
    ] = False
    queue_order: Annotated[
        QueueOrder,
        meaning(
            "Which queue goes next: turns (all queues take turns), or best-url (the queue whose first URL has the best "
            "precedence)."
        ),
    ] = "turns"
    precedence_floor: Annotated[
        Annotated[int, between(1, 255)] | None,
        meaning(
            "With queue_order best-url: a queue is not served if its first URL has this precedence or a higher number. "
            "Lower numbers are served first."
        ),
    ] = None
    cost: Annotated[
        Costs, meaning("What a URL costs against the budgets: one, or guess (more for parameters and deep paths).")
    ] = "one"
    session_budget: Annotated[
        int,
        between(1, MOST),
        meaning("Cost after which a queue makes way for a waiting one. Queues only wait if there are more than 4,000."),
    ] = 1000
    total_budget: Annotated[
        Annotated[int, between(1, MOST)] | None,
        meaning("Cost after which a queue is retired: its remaining URLs are kept, but not fetched."),
        PER_SITE,
    ] = None
    error_penalty: Annotated[
        int, between(0, 1_000_000), meaning("Additional cost of a fetch that fails at the server.")
    ] = 0
    parallel_queues: Annotated[
        tuple[ParallelQueues, ...],
        meaning(
            "Hosts with several queues, each with its own pace: the host, a colon and the number of queues. Use it for "
            "your own large sites. A change holds from the next start, for URLs that are found from then on."
        ),
    ] = ()
    snapshot_every: Annotated[
        int,
        between(1, MOST, "URLs"),
        meaning("New URLs between two snapshots of the visited set. With fewer, a start after a crash is faster."),
    ] = 250_000


class Visited(msgspec.Struct, frozen=True, kw_only=True):
    """How the crawl remembers which URLs it has met."""

    backend: Annotated[
        VisitedBackend,
        meaning(
            "exact makes no errors, and takes about 20 bytes per URL. Filters take 2 or 3 bytes, and without verify "
            "they lose some pages: bloom; blocked, which is faster and a little larger; counting, which takes 10 bytes "
            "or more, because it has counters of 4, 8 or 32 bits, and "
            "can forget URLs; dsbf, which grows as needed; per-site, with a fixed filter for each host. exact-leveldb "
            "is exact with store leveldb. redis-exact lies on a server, and several crawls may share it; so do "
            "redis-bloom, a Bloom filter of the server, redis-dsbf, which is dsbf there, redis-set and redis-keys. The "
            "others are sets of the literature, for comparison. auto chooses among candidates, once for a crawl, the "
            "first that fits into memory_bytes. It may also be the name or the path of a plug-in."
        ),
    ] = "exact"
    options: Annotated[
        Options,
        meaning("Options of the backend, as a table [visited.options]. Each backend has its own."),
        Meta(extra={"options_of": "visited.backend", "backends": "visited"}),
    ] = {}
    store: Annotated[
        VisitedStore,
        meaning("Where the exact set is stored. leveldb holds more URLs than fit into memory, and is slower."),
    ] = "memory"
    capacity: Annotated[
        int, between(1, MOST, "URLs"), meaning("Expected number of URLs. Beyond it, a filter makes more errors.")
    ] = 1_000_000
    error_rate: Annotated[
        float, between(1e-12, 0.5), meaning("Probability that a full filter takes a new URL for a known one.")
    ] = 0.0001
    memory_bytes: Annotated[
        Annotated[int, between(1_000_000, MOST, "bytes")] | None,
        meaning("Memory that auto may use. Unset means a quarter of the memory of the machine."),
    ] = None
    candidates: Annotated[
        tuple[Candidate, ...] | None,
        meaning(
            "Backends from which auto chooses: the first one that fits into memory_bytes. It takes one that keeps "
            "files only if no other fits. Unset means exact, dsbf, bloom, blocked, counting, exact-leveldb."
        ),
    ] = None
    site_bytes: Annotated[
        int,
        between(64, 1 << 30, "bytes"),
        meaning("Size of the filter of each host, for per-site, unless its options give one."),
        Meta(multiple_of=8),
    ] = 32_768
    verify: Annotated[
        bool,
        meaning(
            "Look up in the ledger each URL that a filter calls known, so that no page is lost. false saves these "
            "look-ups, which take a few microseconds for each link that was not met recently."
        ),
    ] = True
    white_list: Annotated[
        tuple[Text, ...], meaning("Canonical URLs that a filter must never take for known ones.")
    ] = ()
    recent: Annotated[
        int,
        between(0, 100_000_000, "URLs"),
        meaning(
            "Number of recently met URLs in a cache in front of the visited set; 0 means no cache. The exact set in "
            "memory has none, because it is faster itself."
        ),
    ] = 65_536

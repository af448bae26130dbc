"""Comparison runs."""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from config.schema.kinds import DAY_S, MOST, Options, Text, between, meaning
from visited.backends import BACKENDS, PEERS, REMOTE

COMPARE_BACKENDS = (*BACKENDS, *REMOTE, *PEERS)
CompareBackend = Annotated[str, Meta(extra={"choices": COMPARE_BACKENDS, "backends": "visited"})]
CompareLive = Literal["no", "simweb", "seeds"]
CompareFigure = Literal[
    "bytes",
    "bytes_per_url",
    "bits_per_url",
    "bytes_at_scale",
    "text_at_scale",
    "rate",
    "told_rate",
    "largest_host_rate",
    "loss",
    "ratio_bytes",
    "ratio_rate",
    "forgotten",
    "pages_missing",
]


class CompareWork(msgspec.Struct, frozen=True, kw_only=True):
    """A list of links on which visited sets are compared. It has one source: urls, crawl, distinct or live."""

    name: Annotated[Text, meaning("Name in the report.")]
    urls: Annotated[
        Text | None, meaning("File of URLs, one per line; it may be compressed (.gz or .zst). - is standard input.")
    ] = None
    crawl: Annotated[
        Text | None, meaning("Directory of a crawl with output.links. The work has its links, page by page.")
    ] = None
    distinct: Annotated[
        Annotated[int, between(1, 10**10, "URLs")] | None,
        meaning("Number of distinct URLs of a synthetic stream, which the settings below describe."),
    ] = None
    live: Annotated[
        CompareLive,
        meaning(
            "Crawl once with each set, with this configuration: the simulated web, or the seeds. Only backends of "
            "visited.backend can take part."
        ),
    ] = "no"
    repeats: Annotated[float, between(0, 0.99), meaning("Synthetic stream: share of links that occurred before.")] = 0.5
    hosts: Annotated[
        int, between(1, 1_000_000, "hosts"), meaning("Synthetic stream or simulated web: number of hosts.")
    ] = 1000
    skew: Annotated[
        float,
        between(0, 4),
        meaning(
            "Synthetic stream: exponent of the Zipf distribution of host sizes. With 0, all hosts have the same size."
        ),
    ] = 1.0
    length: Annotated[int, between(40, 1000, "characters"), meaning("Synthetic stream: mean length of a URL.")] = 77
    pages: Annotated[int, between(1, 100_000, "pages"), meaning("Simulated web: pages of each host.")] = 50
    batch: Annotated[int, between(1, 10_000, "links"), meaning("Number of links that are added in one call.")] = 64
    stands_for: Annotated[
        Annotated[int, between(1, 10**12, "URLs")] | None,
        meaning(
            "This work is a scale model of a larger one with this many distinct URLs. The report extrapolates memory "
            "to it, and says so."
        ),
    ] = None


class CompareSet(msgspec.Struct, frozen=True, kw_only=True):
    """A visited set to compare. Settings that its backend does not have are ignored."""

    backend: Annotated[
        CompareBackend,
        meaning(
            f"A backend of visited.backend, or one of another library, which must be installed: {', '.join(PEERS)}."
        ),
    ]
    name: Annotated[Text | None, meaning("Name in the report. Unset means the name of the backend.")] = None
    capacity: Annotated[
        Annotated[int, between(1, MOST, "URLs")] | None,
        meaning("Number of URLs for which the set is sized. Unset means that of the work."),
    ] = None
    error_rate: Annotated[float, between(1e-12, 0.5), meaning("Like visited.error_rate.")] = 0.0001
    bits: Annotated[
        Annotated[int, between(64, 2**40, "bits")] | None, meaning("Size of bloom or six-seeds, instead of error_rate.")
    ] = None
    bits_per_url: Annotated[
        Annotated[float, between(1, 1000, "bits")] | None,
        meaning("Size of bloom or six-seeds for each URL of the capacity."),
    ] = None
    hashes: Annotated[
        Annotated[int, between(1, 48, "hash functions")] | None,
        meaning("Hash functions of bloom, with bits or bits_per_url. Unset means the best number for that size."),
    ] = None
    site_bytes: Annotated[
        int, between(64, 1 << 30, "bytes"), meaning("Size of each filter of per-site."), Meta(multiple_of=8)
    ] = 32_768
    filters: Annotated[
        Annotated[int, between(1, 10**9, "filters")] | None,
        meaning("Number of filters of per-site; the hash of the host chooses one. Unset means one for each host."),
    ] = None
    shards: Annotated[
        int, between(1, 4096, "sets"), meaning("Number of sets over which the URLs are spread, by their hash.")
    ] = 1
    seed: Annotated[int, between(0, 2**32 - 1), meaning("Seed of the hash functions of a filter.")] = 0
    server: Annotated[
        Text | None,
        meaning(
            'Server of redisbloom: "redis://127.0.0.1:6379/0", for example. The comparison deletes its own key there.'
        ),
    ] = None
    options: Annotated[
        Options,
        meaning(
            "Options of the backend, like [visited.options], also those that have no setting here. They override the "
            "settings above."
        ),
        Meta(extra={"options_of": "backend", "backends": "visited"}),
    ] = {}
    works: Annotated[
        tuple[Text, ...], meaning("Names of the works on which the set is measured. Empty means all.")
    ] = ()


class CompareExpect(msgspec.Struct, frozen=True, kw_only=True):
    """An expected figure. The report says whether it was met. If one was not, the exit code is 1."""

    work: Annotated[Text, meaning("Name of the work.")]
    set: Annotated[Text, meaning("Name of the set.")]
    figure: Annotated[
        CompareFigure,
        meaning(
            "The figure in the row of the set. Rates and losses are those at the end of the work. ratio_bytes and "
            "ratio_rate are relative to the set `over`. bytes_at_scale and text_at_scale are the memory and the "
            "characters of all URLs for the `stands_for` of the work."
        ),
    ]
    value: Annotated[float, between(0, 1e18), meaning("The expected value.")]
    tolerance: Annotated[
        Annotated[float, between(0, 10)] | None,
        meaning(
            "Allowed deviation, as a share of the value. Unset means three standard deviations for figures that are "
            "counted."
        ),
    ] = None
    over: Annotated[Text | None, meaning("The set to which a ratio is relative.")] = None
    says: Annotated[Text | None, meaning("What the source of the figure says, for the report.")] = None
    note: Annotated[Text | None, meaning("Why the measured figure differs, for the report.")] = None


class Compare(msgspec.Struct, frozen=True, kw_only=True):
    """Comparison runs of visited sets, by `onceover compare`."""

    directory: Annotated[Text, meaning("Directory for reports. Each run has a folder in it, named by crawl.name.")] = (
        "comparisons"
    )
    rounds: Annotated[int, between(1, 100, "rounds"), meaning("How often speed and memory are measured.")] = 3
    probes: Annotated[
        int,
        between(100, 10**7, "URLs"),
        meaning("Number of absent URLs that are looked up each time the false-positive rate is measured."),
    ] = 20_000
    past_capacity: Annotated[
        float,
        between(1, 100),
        meaning(
            "How far the check goes on beyond the work: up to this many times the URLs of the work, or the capacity if "
            "that is larger."
        ),
    ] = 2.0
    memory_bytes: Annotated[
        Annotated[int, between(1_000_000, MOST, "bytes")] | None,
        meaning("Memory limit of a set. A set that needs more fails, and the report says so. Unset means no limit."),
    ] = None
    trial_timeout_s: Annotated[
        float, between(1, 30 * DAY_S, "seconds"), meaning("Longest duration of one measurement.")
    ] = 3600.0
    scale: Annotated[
        float,
        between(0.001, 1),
        meaning(
            "Share of the URLs of a synthetic work with `stands_for` that is measured. Use less than 1 for a quick run "
            "of a long comparison."
        ),
    ] = 1.0
    max_loss: Annotated[float, between(0, 0.5), meaning("Share of new URLs that the recommended set may lose.")] = (
        0.0001
    )
    max_memory_bytes: Annotated[
        Annotated[int, between(1, MOST, "bytes")] | None,
        meaning("Memory that the recommended set may take. Unset means no limit."),
    ] = None
    seed: Annotated[int, between(0, 2**32 - 1), meaning("Seed of everything random.")] = 1
    work: tuple[CompareWork, ...] = ()
    set: tuple[CompareSet, ...] = ()
    expect: tuple[CompareExpect, ...] = ()

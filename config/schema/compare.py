"""Comparison runs."""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from config.schema.kinds import BYTES, DAY_S, HOSTS, MOST, SECONDS, Options, Text
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

    name: Annotated[Text, Meta(description="Name in the report.")]
    urls: Annotated[
        Text | None,
        Meta(description="File of URLs, one per line; it may be compressed (.gz or .zst). - is standard input."),
    ] = None
    crawl: Annotated[
        Text | None,
        Meta(description="Directory of a crawl with output.links. The work has its links, page by page."),
    ] = None
    distinct: Annotated[
        Annotated[int, Meta(ge=1, le=10**10, extra={"unit": "URLs"})] | None,
        Meta(description="Number of distinct URLs of a synthetic stream, which the settings below describe."),
    ] = None
    live: Annotated[
        CompareLive,
        Meta(
            description="Crawl once with each set, with this configuration: the simulated web, or the seeds. "
            "Only backends of visited.backend can take part."
        ),
    ] = "no"
    repeats: Annotated[
        float, Meta(ge=0, le=0.99, description="Synthetic stream: share of links that occurred before.")
    ] = 0.5
    hosts: Annotated[
        int, Meta(ge=1, le=1_000_000, description="Synthetic stream or simulated web: number of hosts.", extra=HOSTS)
    ] = 1000
    skew: Annotated[
        float,
        Meta(
            ge=0,
            le=4,
            description="Synthetic stream: exponent of the Zipf distribution of host sizes. With 0, all hosts "
            "have the same size.",
        ),
    ] = 1.0
    length: Annotated[
        int,
        Meta(ge=40, le=1000, description="Synthetic stream: mean length of a URL.", extra={"unit": "characters"}),
    ] = 77
    pages: Annotated[
        int, Meta(ge=1, le=100_000, description="Simulated web: pages of each host.", extra={"unit": "pages"})
    ] = 50
    batch: Annotated[
        int, Meta(ge=1, le=10_000, description="Number of links that are added in one call.", extra={"unit": "links"})
    ] = 64
    stands_for: Annotated[
        Annotated[int, Meta(ge=1, le=10**12, extra={"unit": "URLs"})] | None,
        Meta(
            description="This work is a scale model of a larger one with this many distinct URLs. The report "
            "extrapolates memory to it, and says so."
        ),
    ] = None


class CompareSet(msgspec.Struct, frozen=True, kw_only=True):
    """A visited set to compare. Settings that its backend does not have are ignored."""

    backend: Annotated[
        CompareBackend,
        Meta(
            description="A backend of visited.backend, or one of another library, which must be installed: "
            f"{', '.join(PEERS)}."
        ),
    ]
    name: Annotated[Text | None, Meta(description="Name in the report. Unset means the name of the backend.")] = None
    capacity: Annotated[
        Annotated[int, Meta(ge=1, le=MOST, extra={"unit": "URLs"})] | None,
        Meta(description="Number of URLs for which the set is sized. Unset means that of the work."),
    ] = None
    error_rate: Annotated[float, Meta(ge=1e-12, le=0.5, description="Like visited.error_rate.")] = 0.0001
    bits: Annotated[
        Annotated[int, Meta(ge=64, le=2**40, extra={"unit": "bits"})] | None,
        Meta(description="Size of bloom or six-seeds, instead of error_rate."),
    ] = None
    bits_per_url: Annotated[
        Annotated[float, Meta(ge=1, le=1000, extra={"unit": "bits"})] | None,
        Meta(description="Size of bloom or six-seeds for each URL of the capacity."),
    ] = None
    hashes: Annotated[
        Annotated[int, Meta(ge=1, le=48, extra={"unit": "hash functions"})] | None,
        Meta(
            description="Hash functions of bloom, with bits or bits_per_url. Unset means the best number for that size."
        ),
    ] = None
    site_bytes: Annotated[
        int,
        Meta(ge=64, le=1 << 30, multiple_of=8, description="Size of each filter of per-site.", extra={"unit": "bytes"}),
    ] = 32_768
    filters: Annotated[
        Annotated[int, Meta(ge=1, le=10**9, extra={"unit": "filters"})] | None,
        Meta(
            description="Number of filters of per-site; the hash of the host chooses one. Unset means one for "
            "each host."
        ),
    ] = None
    shards: Annotated[
        int,
        Meta(
            ge=1,
            le=4096,
            description="Number of sets over which the URLs are spread, by their hash.",
            extra={"unit": "sets"},
        ),
    ] = 1
    seed: Annotated[int, Meta(ge=0, le=2**32 - 1, description="Seed of the hash functions of a filter.")] = 0
    server: Annotated[
        Text | None,
        Meta(
            description='Server of redisbloom: "redis://127.0.0.1:6379/0", for example. The comparison deletes '
            "its own key there."
        ),
    ] = None
    options: Annotated[
        Options,
        Meta(
            description="Options of the backend, like [visited.options], also those that have no setting here. "
            "They override the settings above.",
            extra={"options_of": "backend", "backends": "visited"},
        ),
    ] = {}
    works: Annotated[
        tuple[Text, ...], Meta(description="Names of the works on which the set is measured. Empty means all.")
    ] = ()


class CompareExpect(msgspec.Struct, frozen=True, kw_only=True):
    """An expected figure. The report says whether it was met. If one was not, the exit code is 1."""

    work: Annotated[Text, Meta(description="Name of the work.")]
    set: Annotated[Text, Meta(description="Name of the set.")]
    figure: Annotated[
        CompareFigure,
        Meta(
            description="The figure in the row of the set. Rates and losses are those at the end of the work. "
            "ratio_bytes and ratio_rate are relative to the set `over`. bytes_at_scale and "
            "text_at_scale are the memory and the characters of all URLs for the `stands_for` of "
            "the work."
        ),
    ]
    value: Annotated[float, Meta(ge=0, le=1e18, description="The expected value.")]
    tolerance: Annotated[
        Annotated[float, Meta(ge=0, le=10)] | None,
        Meta(
            description="Allowed deviation, as a share of the value. Unset means three standard deviations for "
            "figures that are counted."
        ),
    ] = None
    over: Annotated[Text | None, Meta(description="The set to which a ratio is relative.")] = None
    says: Annotated[Text | None, Meta(description="What the source of the figure says, for the report.")] = None
    note: Annotated[Text | None, Meta(description="Why the measured figure differs, for the report.")] = None


class Compare(msgspec.Struct, frozen=True, kw_only=True):
    """Comparison runs of visited sets, by `onceover compare`."""

    directory: Annotated[
        Text, Meta(description="Directory for reports. Each run has a folder in it, named after the crawl or the file.")
    ] = "comparisons"
    rounds: Annotated[
        int, Meta(ge=1, le=100, description="How often speed and memory are measured.", extra={"unit": "rounds"})
    ] = 3
    probes: Annotated[
        int,
        Meta(
            ge=100,
            le=10**7,
            description="Number of absent URLs that are looked up each time the false-positive rate is measured.",
            extra={"unit": "URLs"},
        ),
    ] = 20_000
    past_capacity: Annotated[
        float,
        Meta(
            ge=1,
            le=100,
            description="How far the check goes on beyond the work: up to this many times the URLs of the work, "
            "or the capacity if that is larger.",
        ),
    ] = 2.0
    memory_bytes: Annotated[
        Annotated[int, Meta(ge=1_000_000, le=MOST, extra=BYTES)] | None,
        Meta(
            description="Memory limit of a set. A set that needs more fails, and the report says so. Unset "
            "means no limit."
        ),
    ] = None
    trial_timeout_s: Annotated[
        float, Meta(ge=1, le=30 * DAY_S, description="Longest duration of one measurement.", extra=SECONDS)
    ] = 3600.0
    scale: Annotated[
        float,
        Meta(
            ge=0.001,
            le=1,
            description="Share of the URLs of a synthetic work with `stands_for` that is measured. Use less "
            "than 1 for a quick run of a long comparison.",
        ),
    ] = 1.0
    max_loss: Annotated[
        float,
        Meta(ge=0, le=0.5, description="Share of new URLs that the recommended set may lose."),
    ] = 0.0001
    max_memory_bytes: Annotated[
        Annotated[int, Meta(ge=1, le=MOST, extra=BYTES)] | None,
        Meta(description="Memory that the recommended set may take. Unset means no limit."),
    ] = None
    seed: Annotated[int, Meta(ge=0, le=2**32 - 1, description="Seed of everything random.")] = 1
    work: tuple[CompareWork, ...] = ()
    set: tuple[CompareSet, ...] = ()
    expect: tuple[CompareExpect, ...] = ()

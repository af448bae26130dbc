"""Comparison runs."""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from config.schema.kinds import BYTES, DAY_S, HOSTS, MOST, SECONDS, Text

CompareBackend = Literal[
    "exact",
    "exact-leveldb",
    "bloom",
    "blocked",
    "counting",
    "counting-8",
    "counting-32",
    "dsbf",
    "per-site",
    "raw",
    "fingerprints",
    "six-seeds",
    "salted-md5",
    "python-set",
    "rbloom",
    "fastbloom-rs",
    "pybloom-live",
    "pybloom-live-scalable",
    "redisbloom",
]
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
    """Links on which visited sets are compared. They come from one place: urls, crawl, distinct or live."""

    name: Annotated[Text, Meta(description="Name in the report.")]
    urls: Annotated[
        Text | None,
        Meta(description="File of URLs, one on each line, also compressed (.gz); - is standard input."),
    ] = None
    crawl: Annotated[
        Text | None,
        Meta(description="Directory of a crawl that was run with output.links: its links, page by page."),
    ] = None
    distinct: Annotated[
        Annotated[int, Meta(ge=1, le=10**10, extra={"unit": "URLs"})] | None,
        Meta(description="Distinct URLs of a stream that is computed, by the settings below."),
    ] = None
    live: Annotated[
        CompareLive,
        Meta(
            description="Crawl once with each set, by this configuration: the simulated web, or the seeds. Only "
            "backends of visited.backend can take part."
        ),
    ] = "no"
    repeats: Annotated[
        float, Meta(ge=0, le=0.99, description="Computed stream: share of links that were met before.")
    ] = 0.5
    hosts: Annotated[
        int, Meta(ge=1, le=1_000_000, description="Hosts of a computed stream or a simulated web.", extra=HOSTS)
    ] = 1000
    skew: Annotated[
        float,
        Meta(
            ge=0,
            le=4,
            description="Computed stream: Zipf's exponent, by which hosts differ in size; 0 makes all equal.",
        ),
    ] = 1.0
    length: Annotated[
        int,
        Meta(ge=40, le=1000, description="Computed stream: mean length of a URL.", extra={"unit": "characters"}),
    ] = 77
    pages: Annotated[
        int, Meta(ge=1, le=100_000, description="Simulated web: pages of each host.", extra={"unit": "pages"})
    ] = 50
    batch: Annotated[
        int, Meta(ge=1, le=10_000, description="Links that are added at once.", extra={"unit": "links"})
    ] = 64
    stands_for: Annotated[
        Annotated[int, Meta(ge=1, le=10**12, extra={"unit": "URLs"})] | None,
        Meta(
            description="Distinct URLs of a larger work of which this one is a scale model: memory is extrapolated to "
            "it, and marked so."
        ),
    ] = None


class CompareSet(msgspec.Struct, frozen=True, kw_only=True):
    """A visited set that is compared. Settings that its backend does not have are left alone."""

    backend: Annotated[
        CompareBackend,
        Meta(
            description="A backend of visited.backend; a baseline of the literature: raw, fingerprints, six-seeds, "
            "salted-md5; or of another library, which must be installed: python-set, rbloom, fastbloom-rs, "
            "pybloom-live, pybloom-live-scalable, redisbloom."
        ),
    ]
    name: Annotated[Text | None, Meta(description="Name in the report; unset means that of the backend.")] = None
    capacity: Annotated[
        Annotated[int, Meta(ge=1, le=MOST, extra={"unit": "URLs"})] | None,
        Meta(description="URLs that it is made for; unset means as many as the work has."),
    ] = None
    error_rate: Annotated[float, Meta(ge=1e-12, le=0.5, description="As visited.error_rate.")] = 0.0001
    bits: Annotated[
        Annotated[int, Meta(ge=64, le=2**40, extra={"unit": "bits"})] | None,
        Meta(description="Size of bloom or six-seeds, instead of error_rate."),
    ] = None
    bits_per_url: Annotated[
        Annotated[float, Meta(ge=1, le=1000, extra={"unit": "bits"})] | None,
        Meta(description="The same, for each URL of the capacity."),
    ] = None
    hashes: Annotated[
        Annotated[int, Meta(ge=1, le=48, extra={"unit": "hash functions"})] | None,
        Meta(description="Of bloom with bits or bits_per_url; unset means the best number for that size."),
    ] = None
    site_bytes: Annotated[
        int,
        Meta(ge=64, le=1 << 30, multiple_of=8, description="Each filter of per-site.", extra={"unit": "bytes"}),
    ] = 32_768
    filters: Annotated[
        Annotated[int, Meta(ge=1, le=10**9, extra={"unit": "filters"})] | None,
        Meta(description="Filters of per-site, chosen by the hash of the host; unset gives each host its own."),
    ] = None
    shards: Annotated[
        int, Meta(ge=1, le=4096, description="Sets over which the hash of a URL spreads it.", extra={"unit": "sets"})
    ] = 1
    seed: Annotated[int, Meta(ge=0, le=2**32 - 1, description="Seed of the hash of a filter.")] = 0
    server: Annotated[
        Text | None, Meta(description='Of redisbloom, as "redis://127.0.0.1:6379/0"; its own key there is deleted.')
    ] = None
    works: Annotated[tuple[Text, ...], Meta(description="Names of the works it takes part in; empty means all.")] = ()


class CompareExpect(msgspec.Struct, frozen=True, kw_only=True):
    """A figure that is expected: the report tells whether it was met, and the exit code is 1 if one was not."""

    work: Annotated[Text, Meta(description="Name of the work.")]
    set: Annotated[Text, Meta(description="Name of the set.")]
    figure: Annotated[
        CompareFigure,
        Meta(
            description="Which figure of its row in the report; rates and losses are those at the end of the work, "
            "ratio_bytes and ratio_rate are over those of the set `over`; bytes_at_scale and text_at_scale are the "
            "memory and the characters of the URLs for the `stands_for` of the work."
        ),
    ]
    value: Annotated[float, Meta(ge=0, le=1e18, description="What it should be.")]
    tolerance: Annotated[
        Annotated[float, Meta(ge=0, le=10)] | None,
        Meta(
            description="Deviation that is allowed, as a share of the value; unset means three standard deviations, "
            "for what is counted."
        ),
    ] = None
    over: Annotated[Text | None, Meta(description="The set of which the figure is a multiple.")] = None
    says: Annotated[Text | None, Meta(description="What is said elsewhere, for the report.")] = None
    note: Annotated[Text | None, Meta(description="Why that differs, for the report.")] = None


class Compare(msgspec.Struct, frozen=True, kw_only=True):
    """Comparison runs of visited sets: `onceover compare`."""

    directory: Annotated[
        Text, Meta(description="Where reports go, each into a folder with the name of the crawl or the file.")
    ] = "comparisons"
    rounds: Annotated[
        int, Meta(ge=1, le=100, description="Times that speed and memory are measured.", extra={"unit": "rounds"})
    ] = 3
    probes: Annotated[
        int,
        Meta(
            ge=100,
            le=10**7,
            description="Absent URLs that are asked for at each look at the false-positive rate.",
            extra={"unit": "URLs"},
        ),
    ] = 20_000
    past_capacity: Annotated[
        float,
        Meta(
            ge=1,
            le=100,
            description="The check goes on beyond the work, up to so many times its URLs, or the capacity if that is "
            "more.",
        ),
    ] = 2.0
    memory_bytes: Annotated[
        Annotated[int, Meta(ge=1_000_000, le=MOST, extra=BYTES)] | None,
        Meta(description="A set that takes more dies, and is reported so; unset means no limit."),
    ] = None
    trial_timeout_s: Annotated[
        float, Meta(ge=1, le=30 * DAY_S, description="Longest duration of one measurement.", extra=SECONDS)
    ] = 3600.0
    scale: Annotated[
        float,
        Meta(
            ge=0.001,
            le=1,
            description="Share of its URLs that a computed work with `stands_for` is measured with: a quick run of a "
            "long comparison.",
        ),
    ] = 1.0
    max_loss: Annotated[
        float,
        Meta(ge=0, le=0.5, description="Share of new URLs that may be lost: what is recommended keeps to it."),
    ] = 0.0001
    max_memory_bytes: Annotated[
        Annotated[int, Meta(ge=1, le=MOST, extra=BYTES)] | None,
        Meta(description="Memory that what is recommended may take; unset means any."),
    ] = None
    seed: Annotated[int, Meta(ge=0, le=2**32 - 1, description="Of whatever is drawn at random.")] = 1
    work: tuple[CompareWork, ...] = ()
    set: tuple[CompareSet, ...] = ()
    expect: tuple[CompareExpect, ...] = ()

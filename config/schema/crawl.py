"""What is crawled, until when, and what is written of it."""

from typing import Annotated

import msgspec
from msgspec import Meta

from config.schema.kinds import BYTES, END, MOST, SECONDS, YEAR_S, Text

CrawlName = Annotated[
    str,
    Meta(pattern=rf"^[A-Za-z0-9][A-Za-z0-9._-]{{0,99}}{END}", extra={"form": "of letters, digits, dots and dashes"}),
]


class Crawl(msgspec.Struct, frozen=True, kw_only=True):
    """What to crawl, and where to keep it."""

    name: Annotated[
        CrawlName,
        Meta(description="Name of the crawl, in records, logs and file names; without it, that of this file."),
    ] = "crawl"
    seeds: Annotated[tuple[Text, ...], Meta(description="URLs to start from, absolute, http or https.")] = ()
    seed_files: Annotated[
        tuple[Text, ...],
        Meta(
            description="Files of seeds in UTF-8: one URL per line, # begins a comment. "
            "A relative path starts from the directory of this file."
        ),
    ] = ()
    directory: Annotated[
        Text,
        Meta(
            description="State and output of the crawl, which is resumed when it exists; without it, crawls/NAME. "
            "A relative path starts from the current directory."
        ),
    ] = "crawls/crawl"


class Output(msgspec.Struct, frozen=True, kw_only=True):
    """What is written."""

    records: Annotated[bool, Meta(description="A record of each page, as JSON Lines, in records/.")] = True
    warc: Annotated[bool, Meta(description="Requests and responses as WARC files, in warc/.")] = True
    links: Annotated[bool, Meta(description="The links of each page in its record, repeats included.")] = False
    refusals: Annotated[
        bool, Meta(description="The links of each page that were not followed in its record, each with the reason.")
    ] = False
    min_free_bytes: Annotated[
        int,
        Meta(
            ge=0,
            le=10**15,
            description="The crawl waits while less than this is free on its disk: 64 MiB at least, which the frontier "
            "needs to go on after a full disk. With 0 the crawl waits when the disk is full.",
            extra=BYTES,
        ),
    ] = 100_000_000
    warc_max_bytes: Annotated[
        int, Meta(ge=1000, le=MOST, description="Size at which a new WARC file is begun.", extra=BYTES)
    ] = 1_000_000_000
    records_max_bytes: Annotated[
        int, Meta(ge=1000, le=MOST, description="Size at which a new file of records is begun.", extra=BYTES)
    ] = 256_000_000


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """When a crawl stops before it is complete; it can be resumed. Unset means no limit."""

    pages: Annotated[
        Annotated[int, Meta(ge=1, le=MOST, extra={"unit": "pages"})] | None, Meta(description="Pages fetched.")
    ] = None
    bytes: Annotated[Annotated[int, Meta(ge=1, le=10**18, extra=BYTES)] | None, Meta(description="Bytes received.")] = (
        None
    )
    seconds: Annotated[
        Annotated[float, Meta(ge=0.001, le=10 * YEAR_S, extra=SECONDS)] | None,
        Meta(description="Duration of one run."),
    ] = None


class Progress(msgspec.Struct, frozen=True, kw_only=True):
    """What is told while a crawl runs."""

    interval_s: Annotated[
        float,
        Meta(ge=0.1, le=3600, description="Time between two lines where no live display is possible.", extra=SECONDS),
    ] = 5.0

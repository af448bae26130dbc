"""What is crawled, when a run stops, and what is written."""

from typing import Annotated, Final, Literal

import msgspec
from msgspec import Meta

from config.schema.kinds import MOST, YEAR_S, AgentName, Options, Purpose, Text, between, matching, meaning

CrawlName = Annotated[
    str,
    matching(
        r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}", "of letters, digits, dots, dashes and underscores, first a letter or digit"
    ),
]


class Crawl(msgspec.Struct, frozen=True, kw_only=True):
    """What to crawl, and where to store it."""

    name: Annotated[
        CrawlName, meaning("Name of the crawl, in records, logs and file names. The default is the name of this file.")
    ] = "crawl"
    seeds: Annotated[tuple[Text, ...], meaning("URLs to start from. Without a scheme, https comes first.")] = ()
    seed_files: Annotated[
        tuple[Text, ...],
        meaning(
            "Files of seeds in UTF-8, one URL per line; # begins a comment. Relative paths start from the directory of "
            "this file."
        ),
    ] = ()
    directory: Annotated[
        Text,
        meaning(
            "Directory for state and output. If it holds a crawl, that crawl is resumed. The default is crawls/NAME. A "
            "relative path starts from the current directory."
        ),
    ] = "crawls/crawl"
    parts: Annotated[
        Annotated[int, between(1, 1024, "parts")] | Literal["auto"],
        meaning(
            "Number of processes that share the crawl. Each crawls the hosts of some domains, and has a directory of "
            "its own in that of the crawl. With auto, a new crawl has as many parts as the machine has cores. "
            "`onceover parts` changes the number of a crawl that has begun."
        ),
    ] = 1
    purpose: Annotated[
        tuple[Purpose, ...],
        meaning(
            "What the crawl is for: search (an index), archive, text-mining (analysis of texts and data), ai-use "
            "(input of generative models), train-ai (training of generative models). What a site refuses for all of "
            "these is not fetched or not kept. Without a purpose, nothing is refused."
        ),
    ] = ()
    respect_preferences: Annotated[
        bool, meaning("Respect what sites say about the use of their pages. With false, it is only recorded.")
    ] = True
    purpose_names: Annotated[
        dict[AgentName, Purpose],
        meaning(
            "Names in robots.txt that stand for a purpose instead of a crawler. What such a group disallows, the site "
            "refuses for that purpose."
        ),
    ] = msgspec.field(default_factory=lambda: {"Google-Extended": "train-ai", "Applebot-Extended": "train-ai"})


WarcPrefix = Annotated[str, matching(r"[A-Za-z0-9._-]{1,100}", "of letters, digits, dots, dashes and underscores")]


MediaTypes = Annotated[str, matching(r"!?[a-z0-9*?.+-]+/[a-z0-9*?.+-]+", 'a media type or a pattern, as "image/*"')]


SINKS: Final = ("postgres", "sqlite")
"""Ours that a configuration may name. Records and archive have settings of their own."""
SinkBackend = Annotated[str, Meta(extra={"choices": SINKS, "backends": "sink"})]


class OutputSink(msgspec.Struct, frozen=True, kw_only=True):
    """A sink beside records and archive, with its options. It gets each page."""

    backend: Annotated[SinkBackend, meaning("Its name, or the name or path of a plug-in.")]
    name: Annotated[
        CrawlName | None,
        meaning(
            "Name of the sink, and of its folder in sinks/. Unset means that of its backend. Each sink must have a "
            "name of its own."
        ),
    ] = None
    options: Annotated[
        Options, meaning("Options of the sink."), Meta(extra={"options_of": "backend", "backends": "sink"})
    ] = {}


class Output(msgspec.Struct, frozen=True, kw_only=True):
    """What the crawl writes."""

    records: Annotated[bool, meaning("Write a record of each page as JSON Lines, in records/.")] = True
    warc: Annotated[bool, meaning("Write requests and responses as WARC files, in warc/.")] = True
    links: Annotated[bool, meaning("Write the links of each page into its record, repeats included.")] = False
    link_details: Annotated[
        bool,
        meaning(
            "Write each link of a page into its record with its URL, kind, anchor text and rel, also links that were "
            "not followed, these with the reason."
        ),
    ] = False
    check_fragments: Annotated[
        bool,
        meaning(
            "Write the anchors of each page into its record, as hashes, and its links as with link_details, so that "
            "`onceover report DIR broken-anchors` finds links to missing parts of pages."
        ),
    ] = False
    refusals: Annotated[
        bool, meaning("Write the links that were not followed into the record of their page, each with the reason.")
    ] = False
    text: Annotated[
        bool, meaning("Write the main text of each page into its record, without navigation and the like.")
    ] = False
    markdown: Annotated[
        bool, meaning("Write the main text of each page into its record as Markdown, with absolute links.")
    ] = False
    pdf_text: Annotated[bool, meaning("Write the text of PDF documents into their records. Needs the extra pdf.")] = (
        False
    )
    structured_data: Annotated[
        bool, meaning("Write JSON-LD, decoded, and Open Graph properties of each page into its record.")
    ] = False
    text_max_bytes: Annotated[
        int,
        between(100, 100_000_000, "bytes"),
        meaning("A text or Markdown longer than this is cut, and longer structured data is left out."),
    ] = 1_000_000
    sinks: Annotated[
        tuple[SinkBackend, ...],
        meaning(
            "Other sinks, which also get each page, such as a database: their names, or the names or paths of "
            "plug-ins. A block [[output.sink]] gives options to a sink. They get a page before its record."
        ),
    ] = ()
    sink: tuple[OutputSink, ...] = ()
    min_free_bytes: Annotated[
        int,
        between(0, 10**15, "bytes"),
        meaning(
            "The crawl waits while less disk space than this is free. It must be at least 64 MiB, which the frontier "
            "needs to recover from a full disk. With 0, the crawl only waits when the disk is full."
        ),
    ] = 100_000_000
    max_disk_bytes: Annotated[
        Annotated[int, between(1_000_000, 10**18, "bytes")] | None,
        meaning(
            "The crawl waits while its directory takes more disk space than this: state, output and logs, of all parts "
            "together. Unset means no limit."
        ),
    ] = None
    keep_s: Annotated[
        Annotated[float, between(1, 100 * YEAR_S, "seconds")] | None,
        meaning(
            "Files of records and archives whose last page was written longer ago are deleted, also while the crawl "
            "runs. Unset keeps all."
        ),
    ] = None
    keep_bytes: Annotated[
        Annotated[int, between(1000, 10**18, "bytes")] | None,
        meaning(
            "If records and archives together are larger, the oldest of their files are deleted. Of a crawl in parts, "
            "all count together. Unset keeps all."
        ),
    ] = None
    warc_max_bytes: Annotated[
        int,
        between(1000, MOST, "bytes"),
        meaning("A WARC file that reaches this size is closed, and a new one begins."),
    ] = 1_000_000_000
    warc_prefix: Annotated[WarcPrefix, meaning("Beginning of the names of WARC files.")] = "onceover"
    warc_level: Annotated[
        int, between(1, 9), meaning("Compression of WARC files: 1 is the fastest, 9 gives the smallest files.")
    ] = 2
    warc_index: Annotated[
        bool, meaning("Write a CDXJ index beside each WARC file, which says where each capture lies.")
    ] = True
    warc_revisits: Annotated[
        int,
        between(0, 10_000_000, "bodies"),
        meaning(
            "Number of bodies that the crawl remembers. A page whose body was archived before, at any URL, gets a "
            "revisit record without the body. With 0, each page is archived with its body."
        ),
    ] = 0
    dedupe_min_bytes: Annotated[
        int,
        between(0, MOST, "bytes"),
        meaning("A body that is smaller as received is archived each time. Only with warc_revisits or dedupe_against."),
    ] = 0
    warc_types: Annotated[
        tuple[MediaTypes, ...],
        meaning(
            "Media types of the pages that are archived, such as text/html or image/*. Those that match a pattern with "
            "! in front are not. Empty means all. Other pages only have a record, which says so."
        ),
    ] = ()
    warc_max_body_bytes: Annotated[
        Annotated[int, between(0, MOST, "bytes")] | None,
        meaning("A page with a larger body, as received, is not archived. Unset means no limit."),
    ] = None
    warc_text: Annotated[
        bool, meaning("Archive the main text of each page as a conversion record of type text/plain. Needs text.")
    ] = False
    dedupe_against: Annotated[
        tuple[Text, ...],
        meaning(
            "Earlier crawls: their directories, folders with WARC and CDXJ files, single CDXJ files, also compressed "
            "(.cdxj.gz), or WACZ files. A page whose body one of them has archived, at any URL, gets a revisit record "
            "without the body. Relative paths start from the configuration file."
        ),
    ] = ()
    records_max_bytes: Annotated[
        int,
        between(1000, MOST, "bytes"),
        meaning("A file of records that reaches this size is closed, and a new one begins."),
    ] = 256_000_000


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """When a run stops although there is more to crawl. It can be resumed. Unset means no limit."""

    pages: Annotated[Annotated[int, between(1, MOST, "pages")] | None, meaning("Number of fetched pages.")] = None
    bytes: Annotated[Annotated[int, between(1, 10**18, "bytes")] | None, meaning("Number of received bytes.")] = None
    seconds: Annotated[
        Annotated[float, between(0.001, 10 * YEAR_S, "seconds")] | None, meaning("Duration of one run.")
    ] = None


class Log(msgspec.Struct, frozen=True, kw_only=True):
    """The log of the crawl and of its parts, logs/crawl.log."""

    format: Annotated[
        Literal["text", "json"],
        meaning("Form of the messages: text for people, or json, one object per line, for programs that collect logs."),
    ] = "text"


class Progress(msgspec.Struct, frozen=True, kw_only=True):
    """How a running crawl shows its progress."""

    interval_s: Annotated[
        float,
        between(0.1, 3600, "seconds"),
        meaning("Time between two lines of progress, where a live display is not possible."),
    ] = 5.0

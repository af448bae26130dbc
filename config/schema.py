"""Every setting: its name, type, default, unit, limits and meaning. All else in this package is derived from here.

A section of the file is a struct, and its docstring says what the section is about. A setting is a field whose
`msgspec.Meta` carries the limits and, as `description`, the meaning. In `extra` stand

    unit      "seconds" and "bytes" also admit text with a unit ("5 min", "20 MB"); any other word is only shown
    form      what a text must look like, in words; it completes "text, …" or "a list of texts, each …"
    coming    choices that later versions will have: refused with a message of their own
    later     what to say beside a refusal, where a wider range comes with a later version

A new choice is one more word in a `Literal`; a new setting is one more field. A field that is a tuple of structs is an
array of tables: blocks, of which a file may hold any number. One of its fields may be `overrides`, a table whose
`extra` lists under `overrides` the keys of settings that a block may set anew; see `Site`.
"""

from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import Meta

FrontierBackend = Literal["memory", "leveldb"]
VisitedBackend = Literal[
    "exact", "bloom", "blocked", "counting", "counting-8", "counting-32", "dsbf", "per-site", "auto"
]
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
    "bytes_per_url",
    "bits_per_url",
    "bytes_at_scale",
    "rate",
    "told_rate",
    "largest_host_rate",
    "loss",
    "ratio_bytes",
    "ratio_rate",
    "forgotten",
    "pages_missing",
]
VisitedStore = Literal["memory", "leveldb"]
Within = Literal["host", "domain", "prefix", "any"]
QueueBy = Literal["host", "domain", "ip", "surt-prefix"]
Durability = Literal["process", "power"]
Order = Literal["depth", "breadth-first", "depth-first", "cost"]
QueueOrder = Literal["turns", "best-url"]
Costs = Literal["one", "guess"]
Resolver = Literal["dns", "system"]
Extractor = Literal["lexbor", "lxml", "bs4"]
RenderWait = Literal["load", "idle"]

DEFAULT_USER_AGENT = "onceover/1.0 (+https://example.org/about-our-crawler)"
"""Its contact is a placeholder, and does not count as one: see `config.contact`."""

# `$` also matches before a last line feed, in Python but not in JSON Schema; this ends a text in both.
_END = r"(?![\s\S])"
_PRINTABLE = Meta(pattern=rf"^[^\x00-\x1f\x7f]*[^\x00-\x20\x7f][^\x00-\x1f\x7f]*{_END}", extra={"form": "not empty"})

Text = Annotated[str, _PRINTABLE]
Place = Annotated[
    str,
    Meta(
        pattern=_PRINTABLE.pattern,
        extra={"form": 'a host, a domain as "*.example.org", a URL up to its last slash, or a SURT prefix'},
    ),
]
CrawlName = Annotated[
    str,
    Meta(pattern=rf"^[A-Za-z0-9][A-Za-z0-9._-]{{0,99}}{_END}", extra={"form": "of letters, digits, dots and dashes"}),
]
UserAgent = Annotated[str, Meta(pattern=rf"^[\x21-\x7e][\x20-\x7e]*{_END}", extra={"form": "in printable ASCII"})]
Language = Annotated[
    str,
    Meta(
        pattern=rf"^(\*|[A-Za-z]{{1,8}}(-[A-Za-z0-9]{{1,8}})*){_END}",
        extra={"form": 'a language tag, as "en" or "de-AT"'},
    ),
]
HostPattern = Annotated[str, Meta(pattern=rf"^(\*|(\*\.)?[A-Za-z0-9_]([A-Za-z0-9_.-]*[A-Za-z0-9_])?){_END}")]
Address = Annotated[
    str,
    Meta(
        pattern=rf"^(\[[0-9A-Fa-f:.]+\](:[0-9]{{1,5}})?|[0-9.]+(:[0-9]{{1,5}})?|[0-9A-Fa-f:.]*:[0-9A-Fa-f:.]*){_END}",
        extra={"form": '{ "*.example.org" = "127.0.0.1:8080" }'},
    ),
]
Network = Annotated[
    str, Meta(pattern=rf"^[0-9A-Fa-f:.]+(/[0-9]{{1,3}})?{_END}", extra={"form": 'a network, as "10.1.0.0/16"'})
]
ProxyUrl = Annotated[
    str,
    Meta(
        pattern=rf"^(https?|socks5h?)://(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9_.-]+)(:[0-9]{{1,5}})?/?{_END}",
        extra={"form": '{ "*" = "http://192.0.2.1:3128", "*.example.org" = "socks5://192.0.2.1:1080" }'},
    ),
]
Secret = Annotated[
    str,
    Meta(
        pattern=rf"^(env:[A-Za-z_][A-Za-z0-9_]*|file:[^\x00-\x1f\x7f]+){_END}",
        extra={"form": '{ "www.example.org" = "env:EXAMPLE_LOGIN" } or "file:/run/secrets/example"'},
    ),
]
RenderBlock = Annotated[
    str,
    Meta(
        pattern=rf"^(image|media|font|stylesheet|script|data|frame){_END}",
        extra={"form": "image, media, font, stylesheet, script, data (what scripts ask for) or frame"},
    ),
]
HeaderName = Annotated[str, Meta(pattern=rf"^[!#$%&'*+.^_`|~0-9A-Za-z-]+{_END}")]
HeaderValue = Annotated[
    str,
    Meta(
        pattern=rf"^([\x21-\x7e]([\x20-\x7e\t]*[\x21-\x7e])?)?{_END}",
        extra={"form": '{ "Accept" = "text/html" }, in printable ASCII'},
    ),
]
ParallelQueues = Annotated[
    str,
    Meta(
        pattern=rf"^[A-Za-z0-9_]([A-Za-z0-9_.:-]*[A-Za-z0-9_])?:[1-9][0-9]{{0,2}}{_END}",
        extra={"form": 'a host and a number, as "www.example.org:4"'},
    ),
]
RuleName = Annotated[
    str,
    Meta(
        pattern=rf"^([a-z][a-z0-9-]*|[^\x00-\x1f\x7f]* => [^\x00-\x1f\x7f]*){_END}",
        extra={"form": """the name of a rule, as "sort-query", or '/print$ => /'"""},
    ),
]

GuideWord = Annotated[
    str,
    Meta(
        pattern=rf"^[^\x00-\x1f\x7f:]*[^\x00-\x20\x7f:][^\x00-\x1f\x7f:]*(: *(0?\.[0-9]*[1-9][0-9]*|1(\.0*)?))?{_END}",
        extra={"form": 'a word or phrase, as "glacier" or "sea level: 0.5"'},
    ),
]

_SECONDS = {"unit": "seconds"}
_BYTES = {"unit": "bytes"}
_HOSTS = {"unit": "hosts"}
_DAY_S = 86_400
_YEAR_S = 366 * _DAY_S
_MOST = 10**12


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


class Scope(msgspec.Struct, frozen=True, kw_only=True):
    """Which of the links found are followed."""

    within: Annotated[
        Within,
        Meta(
            description="How far from the seeds: their hosts, their registered domains, URLs that begin as a seed "
            "does up to its last slash, or anywhere."
        ),
    ] = "host"
    places: Annotated[
        tuple[Text, ...],
        Meta(
            description='More places in scope: a host, a domain as "*.example.org", a URL up to its last slash, or a '
            'SURT prefix as "org,example,".'
        ),
    ] = ()
    place_files: Annotated[
        tuple[Text, ...],
        Meta(
            description="Files of such places in UTF-8, one per line, # begins a comment. "
            "A relative path starts from the current directory."
        ),
    ] = ()
    exclude_places: Annotated[
        tuple[Text, ...], Meta(description="Places, written in the same ways, that are out of scope.")
    ] = ()
    exclude_place_files: Annotated[
        tuple[Text, ...], Meta(description="Files of such places; the same as place_files.")
    ] = ()
    include: Annotated[
        tuple[Text, ...],
        Meta(description="Patterns (RE2); if there are any, one of them must be found in a URL."),
    ] = ()
    exclude: Annotated[
        tuple[Text, ...],
        Meta(description="Patterns (RE2); a URL in which one of them is found is not crawled."),
    ] = ()
    offsite_embeds: Annotated[
        bool, Meta(description="Fetch images, scripts and styles of a page wherever they are.")
    ] = False
    nofollow: Annotated[
        bool, Meta(description="Do not follow links and pages marked nofollow, for all or for this crawler.")
    ] = False
    forms: Annotated[bool, Meta(description="Follow the targets of forms, as if they were sent empty.")] = False
    speculative: Annotated[
        bool, Meta(description="Follow what may be URLs in JSON-LD and inline scripts; many lead nowhere.")
    ] = False
    pdf: Annotated[
        bool, Meta(description="Follow the links of PDF documents; needs the extra pdf: pip install onceover[pdf].")
    ] = False
    sitemaps: Annotated[
        bool,
        Meta(description="Read the sitemaps that robots.txt names; what they list is judged like any link."),
    ] = True
    max_depth: Annotated[
        int,
        Meta(ge=0, le=1_000_000, description="Links between a seed and a page; a seed is 0.", extra={"unit": "links"}),
    ] = 20
    max_url_length: Annotated[
        int, Meta(ge=16, le=65_536, description="Longer URLs are not crawled.", extra={"unit": "characters"})
    ] = 2083


class Traps(msgspec.Struct, frozen=True, kw_only=True):
    """Signs that a crawl would never end: what shows more of them is not crawled."""

    max_segments: Annotated[
        int,
        Meta(
            ge=1, le=10_000, description="Segments of a path; longer ones are not crawled.", extra={"unit": "segments"}
        ),
    ] = 20
    max_repeats: Annotated[
        int,
        Meta(
            ge=1,
            le=10_000,
            description="How often segments of a path may repeat in a row, or a parameter with its value.",
            extra={"unit": "times"},
        ),
    ] = 2
    max_parameters: Annotated[
        int, Meta(ge=1, le=10_000, description="Parameters of a query.", extra={"unit": "parameters"})
    ] = 30
    calendar_years: Annotated[
        int,
        Meta(
            ge=0,
            le=10_000,
            description="How far ahead the date in a URL may lie, and in calendars how far back.",
            extra={"unit": "years"},
        ),
    ] = 10
    pages_per_host: Annotated[
        Annotated[int, Meta(ge=1, le=_MOST, extra={"unit": "pages"})] | None,
        Meta(description="Pages fetched from one host."),
    ] = None
    pages_per_pattern: Annotated[
        Annotated[int, Meta(ge=1, le=_MOST, extra={"unit": "pages"})] | None,
        Meta(
            description="Pages fetched from one host whose URLs differ only in numbers, long hexadecimal names and "
            "values of parameters."
        ),
    ] = None


class Focus(msgspec.Struct, frozen=True, kw_only=True):
    """What the crawl looks for: links that promise more of it are followed first. Without words there is no focus."""

    words: Annotated[
        tuple[GuideWord, ...],
        Meta(description="Words and phrases that guide the crawl, each with a weight up to 1 behind a colon, or 1."),
    ] = ()
    min_weight: Annotated[
        float, Meta(ge=0, le=1, description="Links of less weight are not followed; 0 only puts them last.")
    ] = 0.0


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
        Meta(ge=0, le=30 * _DAY_S, description="Wait before the second attempt; it doubles with each.", extra=_SECONDS),
    ] = 30.0
    retry_max_delay_s: Annotated[
        float, Meta(ge=0, le=30 * _DAY_S, description="Longest wait between two attempts.", extra=_SECONDS)
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
            le=_MOST,
            description="Cost after which a queue makes room for others that wait, of which there are only beyond "
            "4,000 queues.",
        ),
    ] = 1000
    total_budget: Annotated[
        Annotated[int, Meta(ge=1, le=_MOST)] | None,
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
            le=_MOST,
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
            ge=1, le=_MOST, description="URLs that are expected; beyond it a filter errs more.", extra={"unit": "URLs"}
        ),
    ] = 1_000_000
    error_rate: Annotated[
        float,
        Meta(ge=1e-12, le=0.5, description="Chance that a full filter takes a new URL for a known one."),
    ] = 0.0001
    memory_bytes: Annotated[
        Annotated[int, Meta(ge=1_000_000, le=_MOST, extra=_BYTES)] | None,
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
            description="Recently met URLs remembered in front of the visited set; 0 does without.",
            extra={"unit": "URLs"},
        ),
    ] = 65_536


class Politeness(msgspec.Struct, frozen=True, kw_only=True):
    """How servers are spared. After a fetch its host rests for delay_factor times as long as the fetch took."""

    robots: Annotated[bool, Meta(description="Obey robots.txt.")] = True
    min_delay_s: Annotated[float, Meta(ge=0, le=_DAY_S, description="Shortest rest of a host.", extra=_SECONDS)] = 1.0
    max_delay_s: Annotated[
        float,
        Meta(
            ge=0,
            le=_DAY_S,
            description="Longest rest of a host that answers well and asks for no more.",
            extra=_SECONDS,
        ),
    ] = 30.0
    delay_factor: Annotated[
        float,
        Meta(
            ge=0,
            le=1000,
            description="Rest of a host for each second that a fetch took.",
            extra={"unit": "seconds per second"},
        ),
    ] = 2.0
    per_host: Annotated[
        int, Meta(ge=1, le=1000, description="Fetches at once from one queue.", extra={"unit": "fetches"})
    ] = 1
    per_ip: Annotated[
        Annotated[int, Meta(ge=1, le=1000, extra={"unit": "fetches"})] | None,
        Meta(
            description="Fetches at once from one IP address, whatever hosts lie there; unset means no limit, or 1 "
            "with ip_delay_s."
        ),
    ] = None
    ip_delay_s: Annotated[
        float,
        Meta(ge=0, le=_DAY_S, description="Rest of an IP address after a fetch from any host there.", extra=_SECONDS),
    ] = 0.0
    per_domain: Annotated[
        Annotated[int, Meta(ge=1, le=1000, extra={"unit": "fetches"})] | None,
        Meta(
            description="Fetches at once from one registered domain, whatever hosts it has; unset means no limit, or 1 "
            "with domain_delay_s."
        ),
    ] = None
    domain_delay_s: Annotated[
        float,
        Meta(
            ge=0,
            le=_DAY_S,
            description="Rest of a registered domain after a fetch from any of its hosts.",
            extra=_SECONDS,
        ),
    ] = 0.0
    max_bytes_per_s: Annotated[
        Annotated[int, Meta(ge=1, le=_MOST, extra=_BYTES)] | None,
        Meta(description="Bytes that a host sends each second, in the long run: it rests longer after large bodies."),
    ] = None
    hours: Annotated[
        Text | None,
        Meta(
            description='When hosts may be asked, as "22:00-06:00 Europe/Vienna" or "Mon-Fri 19:00-07:00; Sat,Sun '
            '00:00-24:00"; without a time zone, UTC. Unset means always.'
        ),
    ] = None
    max_crawl_delay_s: Annotated[
        float, Meta(ge=0, le=_DAY_S, description="Crawl-delay of robots.txt is obeyed up to this.", extra=_SECONDS)
    ] = 300.0
    max_retry_after_s: Annotated[
        float, Meta(ge=0, le=30 * _DAY_S, description="Retry-After of a server is obeyed up to this.", extra=_SECONDS)
    ] = 3600.0


class Fetch(msgspec.Struct, frozen=True, kw_only=True):
    """How pages are fetched and read."""

    user_agent: Annotated[
        UserAgent,
        Meta(
            description="Name given to servers. It must hold a URL or an e-mail address under which you can be "
            "reached, unless all seeds are on this machine or under names reserved for tests."
        ),
    ] = DEFAULT_USER_AGENT
    concurrency: Annotated[
        int, Meta(ge=1, le=10_000, description="Fetches at once, all hosts together.", extra={"unit": "fetches"})
    ] = 64
    spare: Annotated[
        int,
        Meta(
            ge=0,
            le=10_000,
            description="More fetches at once, for as many as wait for a server that is dead or much slower than "
            "usual: they take no turns from others.",
            extra={"unit": "fetches"},
        ),
    ] = 500
    processes: Annotated[
        int,
        Meta(
            ge=0,
            le=0,
            description="Worker processes that fetch and parse; 0 does it all in one process.",
            extra={"later": "worker processes are planned, and not available in this version"},
        ),
    ] = 0
    timeout_s: Annotated[
        float, Meta(ge=0.001, le=_DAY_S, description="Longest duration of a fetch.", extra=_SECONDS)
    ] = 60.0
    connect_timeout_s: Annotated[
        float, Meta(ge=0.001, le=_DAY_S, description="Longest wait for a connection.", extra=_SECONDS)
    ] = 20.0
    head_timeout_s: Annotated[
        float,
        Meta(ge=0.001, le=_DAY_S, description="Longest wait from a request to the end of the headers.", extra=_SECONDS),
    ] = 30.0
    min_window_bytes: Annotated[
        int,
        Meta(
            ge=1,
            le=_MOST,
            description="Of a body at least this much must come in each window_s; a slower one is cut.",
            extra=_BYTES,
        ),
    ] = 1000
    window_s: Annotated[
        float, Meta(ge=0.001, le=_DAY_S, description="Time over which a body's speed is judged.", extra=_SECONDS)
    ] = 20.0
    max_body_bytes: Annotated[
        int, Meta(ge=1, le=_MOST, description="Longer bodies are cut here, and marked so.", extra=_BYTES)
    ] = 20_000_000
    max_sitemap_bytes: Annotated[
        int,
        Meta(
            ge=1,
            le=_MOST,
            description="The same for sitemaps, if it is more; their protocol allows 50 MB.",
            extra=_BYTES,
        ),
    ] = 50_000_000
    max_memory_bytes: Annotated[
        int,
        Meta(
            ge=0,
            le=_MOST,
            description="Where bodies in flight take more than this, all together, only one of them grows at a time.",
            extra=_BYTES,
        ),
    ] = 16_000_000
    extractor: Annotated[Extractor, Meta(description="Library that reads HTML; lexbor is the fastest.")] = "lexbor"
    allow_private: Annotated[bool, Meta(description="Fetch also from private, loopback and link-local addresses.")] = (
        False
    )
    allow_networks: Annotated[
        tuple[Network, ...],
        Meta(description="Private networks that may be fetched from although allow_private is false."),
    ] = ()
    authorities: Annotated[
        tuple[Text, ...],
        Meta(
            description="Files of certificates (PEM) that vouch for servers, beside those that the system knows. "
            "A relative path starts from the current directory."
        ),
    ] = ()
    hosts: Annotated[
        dict[HostPattern, Address],
        Meta(
            description="Names with a fixed address, with or without port; *.NAME is all below NAME. DNS comes after."
        ),
    ] = {}
    resolver: Annotated[
        Resolver,
        Meta(
            description="Who finds the addresses of hosts: dns asks the system's name servers itself, any number of "
            "names at once; system asks as other programs do, sixteen at once."
        ),
    ] = "dns"
    unverified: Annotated[
        tuple[HostPattern, ...],
        Meta(
            description="Hosts whose certificates need not be right; *.NAME is all below NAME.",
            extra={"form": 'a host, as "old.example.org" or "*.example.org"'},
        ),
    ] = ()
    proxies: Annotated[
        dict[HostPattern, ProxyUrl],
        Meta(
            description="Hosts that are asked through a proxy, and its URL; *.NAME is all below NAME, * is all. Names "
            "are found here, but for http, https and socks5h the proxy is told the name."
        ),
    ] = {}
    logins: Annotated[
        dict[HostPattern, Secret],
        Meta(
            description="Hosts or proxies that want a login, and where it stands: in a variable of the environment or "
            "a file. It is user:password, or Bearer and a token."
        ),
    ] = {}
    max_redirects: Annotated[
        int, Meta(ge=0, le=1000, description="Redirects in a row that are followed.", extra={"unit": "redirects"})
    ] = 10
    languages: Annotated[
        tuple[Language, ...], Meta(description="Languages to ask for, the best first; sent as Accept-Language.")
    ] = ()
    headers: Annotated[
        dict[HeaderName, HeaderValue],
        Meta(description="More headers to send with each request. They are kept in the crawl directory as they stand."),
    ] = {}
    cookies: Annotated[
        bool,
        Meta(
            description="Keep cookies, and send them back to the site that set them, after a restart too. They stand "
            "in the crawl directory."
        ),
    ] = False
    hsts: Annotated[
        bool,
        Meta(
            description="Where a server has said over https that it wants https alone (HSTS), take http URLs of it for "
            "redirects there."
        ),
    ] = False


class Render(msgspec.Struct, frozen=True, kw_only=True):
    """Pages that scripts make: shown to a headless Chromium, and read as they are then. Without patterns, none is."""

    patterns: Annotated[
        tuple[Text, ...],
        Meta(description="Patterns (RE2); HTML pages in whose URL one of them is found are rendered."),
    ] = ()
    browser: Annotated[Text, Meta(description="Command or path of the browser; Debian's package is chromium.")] = (
        "chromium"
    )
    concurrency: Annotated[
        int,
        Meta(
            ge=1,
            le=100,
            description="Pages rendered at once, each in a browser of its own of some 300 MB.",
            extra={"unit": "pages"},
        ),
    ] = 2
    wait: Annotated[
        RenderWait,
        Meta(description="When a page is done: once loaded, or once it has also loaded nothing for idle_s."),
    ] = "idle"
    idle_s: Annotated[
        float,
        Meta(ge=0, le=3600, description="With wait idle: how long a page must load nothing.", extra=_SECONDS),
    ] = 0.5
    wait_s: Annotated[
        float,
        Meta(
            ge=0.001, le=_DAY_S, description="Longest wait for that; the page is then taken as it is.", extra=_SECONDS
        ),
    ] = 10.0
    timeout_s: Annotated[
        float,
        Meta(
            ge=0.001,
            le=_DAY_S,
            description="Longest duration of a rendering; a page that is not done then is kept as it was received.",
            extra=_SECONDS,
        ),
    ] = 20.0
    block: Annotated[tuple[RenderBlock, ...], Meta(description="What pages don't load.")] = ("image", "media", "font")
    block_urls: Annotated[
        tuple[Text, ...],
        Meta(description="Patterns (RE2); a URL in which one of them is found is not loaded by pages."),
    ] = ()
    robots: Annotated[bool, Meta(description="Obey robots.txt, where the crawl does, also for what pages load.")] = True
    max_requests: Annotated[
        int, Meta(ge=0, le=1_000_000, description="Requests that a page may make.", extra={"unit": "requests"})
    ] = 200
    max_bytes: Annotated[int, Meta(ge=0, le=_MOST, description="Bytes that a page may load.", extra=_BYTES)] = (
        20_000_000
    )
    max_memory_bytes: Annotated[
        int,
        Meta(
            ge=1,
            le=_MOST,
            description="Memory of a browser with all its processes; a page that takes more is kept as it was "
            "received.",
            extra=_BYTES,
        ),
    ] = 1_500_000_000


class Urls(msgspec.Struct, frozen=True, kw_only=True):
    """Which URLs count as the same."""

    rules: Annotated[
        tuple[RuleName, ...] | None,
        Meta(
            description="Canonicalization rules, in order: named ones, and PATTERN => REPLACEMENT of your own; unset "
            "means the standard ones. Fixed once a crawl has begun."
        ),
    ] = None


class Output(msgspec.Struct, frozen=True, kw_only=True):
    """What is written."""

    records: Annotated[bool, Meta(description="A record of each page, as JSON Lines, in records/.")] = True
    warc: Annotated[bool, Meta(description="Requests and responses as WARC files, in warc/.")] = True
    links: Annotated[bool, Meta(description="The links of each page in its record.")] = False
    refusals: Annotated[
        bool, Meta(description="The links of each page that were not followed in its record, each with the reason.")
    ] = False
    min_free_bytes: Annotated[
        int,
        Meta(ge=0, le=10**15, description="The crawl waits while less than this is free on its disk.", extra=_BYTES),
    ] = 100_000_000
    warc_max_bytes: Annotated[
        int, Meta(ge=1000, le=_MOST, description="Size at which a new WARC file is begun.", extra=_BYTES)
    ] = 1_000_000_000
    records_max_bytes: Annotated[
        int, Meta(ge=1000, le=_MOST, description="Size at which a new file of records is begun.", extra=_BYTES)
    ] = 256_000_000


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """When a crawl stops before it is complete; it can be resumed. Unset means no limit."""

    pages: Annotated[
        Annotated[int, Meta(ge=1, le=_MOST, extra={"unit": "pages"})] | None, Meta(description="Pages fetched.")
    ] = None
    bytes: Annotated[
        Annotated[int, Meta(ge=1, le=10**18, extra=_BYTES)] | None, Meta(description="Bytes received.")
    ] = None
    seconds: Annotated[
        Annotated[float, Meta(ge=0.001, le=10 * _YEAR_S, extra=_SECONDS)] | None,
        Meta(description="Duration of one run."),
    ] = None


class Progress(msgspec.Struct, frozen=True, kw_only=True):
    """What is told while a crawl runs."""

    interval_s: Annotated[
        float,
        Meta(ge=0.1, le=3600, description="Time between two lines where no live display is possible.", extra=_SECONDS),
    ] = 5.0


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
        int, Meta(ge=1, le=1_000_000, description="Hosts of a computed stream or a simulated web.", extra=_HOSTS)
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
        Annotated[int, Meta(ge=1, le=_MOST, extra={"unit": "URLs"})] | None,
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
            "ratio_bytes and ratio_rate are over those of the set `over`."
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
        Meta(ge=1, le=100, description="The check goes on beyond the work, up to so many times the capacity."),
    ] = 2.0
    memory_bytes: Annotated[
        Annotated[int, Meta(ge=1_000_000, le=_MOST, extra=_BYTES)] | None,
        Meta(description="A set that takes more dies, and is reported so; unset means no limit."),
    ] = None
    trial_timeout_s: Annotated[
        float, Meta(ge=1, le=30 * _DAY_S, description="Longest duration of one measurement.", extra=_SECONDS)
    ] = 3600.0
    max_loss: Annotated[
        float,
        Meta(ge=0, le=0.5, description="Share of new URLs that may be lost: what is recommended keeps to it."),
    ] = 0.0001
    max_memory_bytes: Annotated[
        Annotated[int, Meta(ge=1, le=_MOST, extra=_BYTES)] | None,
        Meta(description="Memory that what is recommended may take; unset means any."),
    ] = None
    seed: Annotated[int, Meta(ge=0, le=2**32 - 1, description="Of whatever is drawn at random.")] = 1
    work: tuple[CompareWork, ...] = ()
    set: tuple[CompareSet, ...] = ()
    expect: tuple[CompareExpect, ...] = ()


SITE_KEYS: Final = (
    "scope.include",
    "scope.exclude",
    "scope.max_depth",
    "traps.max_segments",
    "traps.max_repeats",
    "traps.max_parameters",
    "traps.calendar_years",
    "traps.pages_per_host",
    "traps.pages_per_pattern",
    "frontier.max_attempts",
    "frontier.retry_delay_s",
    "frontier.retry_max_delay_s",
    "frontier.open_after",
    "frontier.dead_after",
    "frontier.total_budget",
    "politeness.robots",
    "politeness.min_delay_s",
    "politeness.max_delay_s",
    "politeness.delay_factor",
    "politeness.per_host",
    "politeness.max_bytes_per_s",
    "politeness.hours",
    "politeness.max_crawl_delay_s",
    "politeness.max_retry_after_s",
    "fetch.timeout_s",
    "fetch.connect_timeout_s",
    "fetch.head_timeout_s",
    "fetch.min_window_bytes",
    "fetch.window_s",
    "fetch.max_body_bytes",
    "fetch.languages",
    "fetch.headers",
    "fetch.cookies",
)
"""Settings that may differ between sites: each reaches its part through `wiring` as a value by URL or by queue."""


class Site(msgspec.Struct, frozen=True, kw_only=True):
    """Settings that are different for some of the web. Of blocks that match one URL, the more special goes before: a
    directory before a host, a host before a domain, a domain before one around it. Of equally special ones, the later
    goes before."""

    match: Annotated[
        tuple[Place, ...],
        Meta(description="Where the settings of this block hold, written in the same ways as places in scope."),
    ]
    overrides: Annotated[dict[str, Any], Meta(extra={"overrides": SITE_KEYS})] = {}
    """By key, as `politeness.min_delay_s`; checked."""


class Config(msgspec.Struct, frozen=True, kw_only=True):
    """All settings of a crawl."""

    crawl: Crawl = Crawl()
    scope: Scope = Scope()
    traps: Traps = Traps()
    focus: Focus = Focus()
    frontier: Frontier = Frontier()
    visited: Visited = Visited()
    politeness: Politeness = Politeness()
    fetch: Fetch = Fetch()
    render: Render = Render()
    urls: Urls = Urls()
    output: Output = Output()
    limits: Limits = Limits()
    progress: Progress = Progress()
    compare: Compare = Compare()
    site: tuple[Site, ...] = ()

"""What belongs to a crawl, under which name, and what is worth more."""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from config.schema.kinds import BYTES, END, MOST, Text

Within = Literal["host", "domain", "prefix", "any"]
RuleName = Annotated[
    str,
    Meta(
        pattern=rf"^([a-z][a-z0-9-]*|[^\x00-\x1f\x7f]* => [^\x00-\x1f\x7f]*){END}",
        extra={"form": """the name of a rule, as "sort-query", or '/print$ => /'"""},
    ),
]
GuideWord = Annotated[
    str,
    Meta(
        pattern=rf"^[^\x00-\x1f\x7f:]*[^\x00-\x20\x7f:][^\x00-\x1f\x7f:]*(: *(0?\.[0-9]*[1-9][0-9]*|1(\.0*)?))?{END}",
        extra={"form": 'a word or phrase, as "glacier" or "sea level: 0.5"'},
    ),
]


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
    embeds: Annotated[
        bool, Meta(description="Fetch what pages are shown with: images, scripts, styles, media, icons.")
    ] = True
    ports: Annotated[
        tuple[Annotated[int, Meta(ge=1, le=65_535)], ...],
        Meta(
            description="Ports to crawl beside those of the seeds, 80, 443, and those from 1024 on that browsers do "
            "not refuse."
        ),
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
    preview_images: Annotated[
        bool, Meta(description="Fetch the images that pages name for previews elsewhere: og:image, twitter:image.")
    ] = False
    data_links: Annotated[
        bool, Meta(description="Follow what data-href and data-url attributes hold; some lead nowhere.")
    ] = False
    amp_images: Annotated[bool, Meta(description="Fetch the images of amp-img elements.")] = False
    pdf: Annotated[
        bool,
        Meta(
            description="Follow the links of PDF documents; needs the extra pdf: pip install 'onceover-crawler[pdf]'."
        ),
    ] = False
    sitemaps: Annotated[
        bool,
        Meta(description="Read the sitemaps that robots.txt names; what they list is judged like any link."),
    ] = True
    sitemap_paths: Annotated[
        tuple[Text, ...],
        Meta(description="Where to look for a sitemap if robots.txt names none; `[]` looks nowhere."),
    ] = ("/sitemap.xml",)
    max_depth: Annotated[
        int,
        Meta(ge=0, le=1_000_000, description="Links between a seed and a page; a seed is 0.", extra={"unit": "links"}),
    ] = 20
    max_url_length: Annotated[
        int, Meta(ge=16, le=65_536, description="Longer URLs are not crawled.", extra={"unit": "characters"})
    ] = 2083


class Traps(msgspec.Struct, frozen=True, kw_only=True):
    """Signs that a crawl would never end: what shows more of them is not crawled. Images, scripts and styles may have
    four times as much."""

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
            description="How often two to four segments of a path may stand in a row (one segment: once more), or a "
            "parameter with its value.",
            extra={"unit": "times"},
        ),
    ] = 2
    max_parameters: Annotated[
        int,
        Meta(ge=1, le=10_000, description="Parameters of a query; empty ones are none.", extra={"unit": "parameters"}),
    ] = 30
    calendar_years: Annotated[
        int,
        Meta(
            ge=0,
            le=10_000,
            description="How far ahead a date in a URL may lie; URLs that a sitemap lists are free of that.",
            extra={"unit": "years"},
        ),
    ] = 10
    pages_per_host: Annotated[
        Annotated[int, Meta(ge=1, le=MOST, extra={"unit": "pages"})] | None,
        Meta(description="Pages fetched from one host."),
    ] = None
    pages_per_pattern: Annotated[
        Annotated[int, Meta(ge=1, le=MOST, extra={"unit": "pages"})] | None,
        Meta(
            description="Pages fetched from one host whose URLs differ only in numbers, long hexadecimal names and "
            "values of parameters."
        ),
    ] = None
    sitemaps_per_host: Annotated[
        int,
        Meta(ge=0, le=MOST, description="Sitemaps asked for of one host.", extra={"unit": "sitemaps"}),
    ] = 10_000
    host_sitemap_bytes: Annotated[
        int,
        Meta(ge=0, le=10**18, description="Bytes received of the sitemaps of one host.", extra=BYTES),
    ] = 1_000_000_000


class Focus(msgspec.Struct, frozen=True, kw_only=True):
    """What the crawl looks for: links that promise more of it are followed first. Without words there is no focus."""

    words: Annotated[
        tuple[GuideWord, ...],
        Meta(description="Words and phrases that guide the crawl, each with a weight up to 1 behind a colon, or 1."),
    ] = ()
    min_weight: Annotated[
        float, Meta(ge=0, le=1, description="Links of less weight are not followed; 0 only puts them last.")
    ] = 0.0


class Urls(msgspec.Struct, frozen=True, kw_only=True):
    """Which URLs count as the same."""

    rules: Annotated[
        tuple[RuleName, ...] | None,
        Meta(
            description="Canonicalization rules: named ones, in any order, and behind them PATTERN => REPLACEMENT of "
            "your own, in their order; unset means the standard ones. Fixed once a crawl has begun."
        ),
    ] = None

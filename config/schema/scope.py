"""Which URLs belong to a crawl, which are the same, and which go first."""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from config.schema.kinds import MOST, PER_SITE, YEAR_S, Options, Text, between, matching, meaning

Within = Literal["host", "domain", "prefix", "any"]
RuleName = Annotated[
    str,
    matching(
        r"([a-z][a-z0-9-]*|[A-Za-z_][A-Za-z0-9_.]*:[A-Za-z_][A-Za-z0-9_.]*" r"|[^\x00-\x1f\x7f]* => [^\x00-\x1f\x7f]*)",
        """the name of a rule, as "sort-query", or '/print$ => /'""",
        backends="canonical_rule",
    ),
]
RuleBackend = Annotated[str, Meta(extra={"choices": (), "backends": "canonical_rule"})]
GuideWord = Annotated[
    str,
    matching(
        r"[^\x00-\x1f\x7f:]*[^\x00-\x20\x7f:][^\x00-\x1f\x7f:]*(: *(0?\.[0-9]*[1-9][0-9]*|1(\.0*)?))?",
        'a word or phrase, as "glacier" or "sea level: 0.5"',
    ),
]


class Scope(msgspec.Struct, frozen=True, kw_only=True):
    """Which links the crawl follows."""

    within: Annotated[
        Within,
        meaning(
            "How far the crawl may go from the seeds: host (the hosts of the seeds), domain (their registered "
            "domains), prefix (URLs that begin like a seed, up to its last slash), or any (everywhere)."
        ),
    ] = "host"
    places: Annotated[
        tuple[Text, ...],
        meaning(
            'More places in scope. A place is a host, a domain as "*.example.org", a URL up to its last slash, or a '
            'SURT prefix as "org,example,".'
        ),
    ] = ()
    place_files: Annotated[
        tuple[Text, ...],
        meaning(
            "Files of more places in scope, in UTF-8, one per line; # begins a comment. Relative paths start from the "
            "current directory."
        ),
    ] = ()
    exclude_places: Annotated[tuple[Text, ...], meaning("Places that are out of scope.")] = ()
    exclude_place_files: Annotated[
        tuple[Text, ...], meaning("Files of places that are out of scope, written like place_files.")
    ] = ()
    include: Annotated[
        tuple[Text, ...],
        meaning("Patterns (RE2). If there are any, a URL is crawled only if one of them is found in it."),
        PER_SITE,
    ] = ()
    exclude: Annotated[
        tuple[Text, ...], meaning("Patterns (RE2). A URL is not crawled if one of them is found in it."), PER_SITE
    ] = ()
    embeds: Annotated[bool, meaning("Fetch what a page needs to be shown: images, scripts, styles, media, icons.")] = (
        True
    )
    ports: Annotated[
        tuple[Annotated[int, between(1, 65_535)], ...],
        meaning(
            "More ports to crawl. The crawl always uses the ports of the seeds, 80, 443, and all from 1024 on that "
            "browsers do not block."
        ),
    ] = ()
    offsite_embeds: Annotated[bool, meaning("Fetch images, scripts and styles of a page from anywhere.")] = False
    check_external: Annotated[
        bool,
        meaning(
            "Ask for each URL out of scope that a page links to whether it is there, by HEAD, or by GET for its first "
            "byte where that is refused. It is not crawled, and does not count as a page. Its host gets fetch.headers, "
            "too: give a secret one to a [[site]] alone."
        ),
    ] = False
    nofollow: Annotated[
        bool, meaning("Obey nofollow on links and on pages, whether it addresses all crawlers or this one.")
    ] = False
    forms: Annotated[bool, meaning("Follow the targets of forms, as if the forms were sent empty.")] = False
    speculative: Annotated[
        bool, meaning("Follow texts in JSON-LD and inline scripts that look like URLs. Many of them do not exist.")
    ] = False
    preview_images: Annotated[
        bool, meaning("Fetch the images that pages offer for previews on other sites: og:image, twitter:image.")
    ] = False
    data_links: Annotated[
        bool, meaning("Follow URLs in data-href and data-url attributes. Some of them do not exist.")
    ] = False
    amp_images: Annotated[bool, meaning("Fetch the images of amp-img elements.")] = False
    pdf: Annotated[
        bool, meaning("Follow the links in PDF documents. Needs the extra pdf: pip install 'onceover-crawler[pdf]'.")
    ] = False
    sitemaps: Annotated[
        bool, meaning("Read the sitemaps that robots.txt names. The URLs in them are judged like links.")
    ] = True
    sitemap_paths: Annotated[
        tuple[Text, ...], meaning("Paths to try for a sitemap if robots.txt names none. With `[]`, none is tried.")
    ] = ("/sitemap.xml",)
    sitemap_max_age_s: Annotated[
        Annotated[float, between(1, 100 * YEAR_S, "seconds")] | None,
        meaning(
            "Follow only URLs in entries of sitemaps and feeds that have changed in this time, by their lastmod, "
            "updated or pubDate, and read only such sitemaps of an index. What has no date is followed, and so are "
            "links of pages."
        ),
    ] = None
    max_depth: Annotated[
        int,
        between(0, 1_000_000, "links"),
        meaning(
            "Largest number of links between a seed and a page. A seed has depth 0. What pages need to be shown "
            "(embeds) may be up to five steps further away."
        ),
        PER_SITE,
    ] = 20
    max_url_length: Annotated[int, between(16, 65_536, "characters"), meaning("Longer URLs are not crawled.")] = 2083


class Traps(msgspec.Struct, frozen=True, kw_only=True):
    """Limits that keep the crawl out of endless sites. URLs beyond them are not crawled. For images, scripts and
    styles, each limit on a URL is four times as high."""

    max_segments: Annotated[int, between(1, 10_000, "segments"), meaning("Segments of a path."), PER_SITE] = 20
    max_repeats: Annotated[
        int,
        between(1, 10_000, "times"),
        meaning(
            "How often a group of two to four path segments may repeat in a row, or a query parameter with the same "
            "value. A single segment may repeat once more."
        ),
        PER_SITE,
    ] = 2
    max_parameters: Annotated[
        int,
        between(1, 10_000, "parameters"),
        meaning("Parameters of a query; those without a value do not count."),
        PER_SITE,
    ] = 30
    calendar_years: Annotated[
        int,
        between(0, 10_000, "years"),
        meaning("How far in the future a date in a URL may be. URLs from sitemaps are exempt."),
        PER_SITE,
    ] = 10
    pages_per_host: Annotated[
        Annotated[int, between(1, MOST, "pages")] | None, meaning("Pages fetched from one host."), PER_SITE
    ] = None
    pages_per_domain: Annotated[
        Annotated[int, between(1, MOST, "pages")] | None,
        meaning("Pages fetched from one registered domain, all its hosts together."),
        PER_SITE,
    ] = None
    pages_per_pattern: Annotated[
        Annotated[int, between(1, MOST, "pages")] | None,
        meaning(
            "Pages fetched from one host whose URLs differ only in numbers, long hexadecimal names and values of "
            "parameters."
        ),
        PER_SITE,
    ] = None
    sitemaps_per_host: Annotated[
        int, between(0, MOST, "sitemaps"), meaning("Sitemaps fetched from one host."), PER_SITE
    ] = 10_000
    host_sitemap_bytes: Annotated[
        int, between(0, 10**18, "bytes"), meaning("Bytes received of all sitemaps of one host."), PER_SITE
    ] = 1_000_000_000
    sitemaps_per_domain: Annotated[
        int, between(0, MOST, "sitemaps"), meaning("Sitemaps fetched from one registered domain."), PER_SITE
    ] = 100_000
    domain_sitemap_bytes: Annotated[
        int, between(0, 10**18, "bytes"), meaning("Bytes received of all sitemaps of one registered domain."), PER_SITE
    ] = 10_000_000_000


class Focus(msgspec.Struct, frozen=True, kw_only=True):
    """The topic of the crawl. Links that promise more of it are followed first. Without words there is no focus."""

    words: Annotated[
        tuple[GuideWord, ...],
        meaning("Words and phrases of the topic. Each may have a weight up to 1 after a colon; the default is 1."),
    ] = ()
    min_weight: Annotated[
        float,
        between(0, 1),
        meaning("Links with less weight than this are not followed. With 0, they are only followed last."),
    ] = 0.0


class UrlRule(msgspec.Struct, frozen=True, kw_only=True):
    """A canonicalization rule of another package, with its options. These rules are applied after those of urls.rules,
    in their order."""

    backend: Annotated[RuleBackend, meaning("The name or path of the plug-in.")]
    options: Annotated[
        Options, meaning("Options of the plug-in."), Meta(extra={"options_of": "backend", "backends": "canonical_rule"})
    ] = {}


class Urls(msgspec.Struct, frozen=True, kw_only=True):
    """Which URLs count as the same page."""

    rules: Annotated[
        tuple[RuleName, ...] | None,
        meaning(
            "Canonicalization rules: named ones, in any order, then your own as PATTERN => REPLACEMENT, and those of "
            "other packages by name or path, which are applied in their order. Unset means the standard rules. "
            "Changing them in a crawl that has begun needs --rebuild."
        ),
    ] = None
    rule: tuple[UrlRule, ...] = ()

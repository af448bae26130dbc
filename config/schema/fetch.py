"""How pages are fetched."""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from config.schema.kinds import DAY_S, IN_NAME, MOST, PER_SITE, Options, Text, between, matching, meaning

Resolver = Literal["dns", "system"]
Extractor = Annotated[str, Meta(extra={"choices": ("lexbor", "turbohtml", "lxml", "bs4"), "backends": "extractor"})]
FetchBackend = Annotated[str, Meta(extra={"choices": ("http",), "backends": "fetcher"})]
DEFAULT_USER_AGENT = "onceover/1.0 (+https://example.org/about-our-crawler)"
"""Its contact is a placeholder, which does not count; see `config.contact`."""
UserAgent = Annotated[
    str, matching(r"[\x21-\x7e][\x20-\x7e]*", "in printable ASCII, not empty and without a space at its start")
]
Language = Annotated[str, matching(r"(\*|[A-Za-z]{1,8}(-[A-Za-z0-9]{1,8})*)", 'a language tag, as "en" or "de-AT"')]
HostPattern = Annotated[str, matching(rf"(\*|(\*\.)?{IN_NAME}([.-]*{IN_NAME})*)")]
Address = Annotated[
    str,
    matching(
        r"(\[[0-9A-Fa-f:.]+\](:[0-9]{1,5})?|[0-9.]+(:[0-9]{1,5})?|[0-9A-Fa-f:.]{0,45}:[0-9A-Fa-f:.]{0,45})",
        '{ "*.example.org" = "127.0.0.1:8080" }, with hosts without ports',
    ),
]
Network = Annotated[str, matching(r"[0-9A-Fa-f:.]+(/[0-9]{1,3})?", 'a network, as "10.1.0.0/16"')]
ProxyUrl = Annotated[
    str,
    matching(
        r"(https?|socks5h?)://(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9_.-]+)(:[0-9]{1,5})?/?",
        '{ "*" = "http://192.0.2.1:3128", "*.example.org" = "socks5://192.0.2.1:1080" }',
    ),
    Meta(extra={"hides_wrong": True}),
]
Secret = Annotated[
    str,
    matching(
        r"(env:[A-Za-z_][A-Za-z0-9_]*|file:[^\x00-\x1f\x7f]+)",
        '{ "www.example.org" = "env:LOGIN" } or "file:/run/secrets/login", with hosts without ports',
    ),
    Meta(extra={"hides_wrong": True}),
]
HeaderName = Annotated[str, matching(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")]
HeaderValue = Annotated[
    str, matching(r"([\x21-\x7e]([\x20-\x7e\t]*[\x21-\x7e])?)?", '{ "Accept" = "text/html" }, in printable ASCII')
]


class Fetch(msgspec.Struct, frozen=True, kw_only=True):
    """How the crawl fetches and reads pages."""

    user_agent: Annotated[
        UserAgent,
        meaning(
            "The User-Agent header. It must contain a URL or an e-mail address under which people can reach you, "
            "unless all seeds are on this machine or under names reserved for tests."
        ),
    ] = DEFAULT_USER_AGENT
    concurrency: Annotated[int, between(1, 10_000, "fetches"), meaning("Fetches at once, for all hosts together.")] = 64
    spare: Annotated[
        int,
        between(0, 10_000, "fetches"),
        meaning(
            "Additional fetches at once that may wait for servers that are dead or much slower than usual. So slow "
            "servers do not use up concurrency."
        ),
    ] = 500
    timeout_s: Annotated[float, between(0.001, DAY_S, "seconds"), meaning("Longest duration of a fetch."), PER_SITE] = (
        60.0
    )
    connect_timeout_s: Annotated[
        float, between(0.001, DAY_S, "seconds"), meaning("Longest wait for a connection."), PER_SITE
    ] = 20.0
    head_timeout_s: Annotated[
        float,
        between(0.001, DAY_S, "seconds"),
        meaning("Longest wait from the request to the end of the response headers."),
        PER_SITE,
    ] = 30.0
    min_window_bytes: Annotated[
        int,
        between(1, MOST, "bytes"),
        meaning("Slowest accepted transfer of a body: this much in each window_s. A slower body is cut."),
        PER_SITE,
    ] = 1000
    window_s: Annotated[
        float, between(0.001, DAY_S, "seconds"), meaning("Time over which the speed of a body is measured."), PER_SITE
    ] = 20.0
    max_body_bytes: Annotated[
        int, between(1, MOST, "bytes"), meaning("Longer bodies are cut at this size; their record says so."), PER_SITE
    ] = 20_000_000
    max_sitemap_bytes: Annotated[
        int,
        between(1, MOST, "bytes"),
        meaning("The same for sitemaps, if it is more than max_body_bytes. The sitemap protocol allows 50 MB."),
    ] = 50_000_000
    max_memory_bytes: Annotated[
        int,
        between(0, MOST, "bytes"),
        meaning(
            "While the bodies in flight take more memory than this in total, only one of them may grow at a time, and "
            "beside it one that comes slowly."
        ),
    ] = 16_000_000
    max_connection_bytes: Annotated[
        int,
        between(0, MOST, "bytes"),
        meaning(
            "While all open connections take more memory than about this, idle ones are closed, those first that are "
            "expected to be used last."
        ),
    ] = 64_000_000
    extractor: Annotated[
        Extractor,
        meaning("Library that parses HTML. lexbor is the fastest. It may also be the name or path of a plug-in."),
    ] = "lexbor"
    extractor_options: Annotated[
        Options,
        meaning("Options of a plug-in that extracts links, as a table [fetch.extractor_options]."),
        Meta(extra={"options_of": "fetch.extractor", "backends": "extractor"}),
    ] = {}
    backend: Annotated[FetchBackend, meaning("What fetches pages: http, or the name or path of a plug-in.")] = "http"
    options: Annotated[
        Options,
        meaning("Options of a plug-in that fetches pages, as a table [fetch.options]."),
        Meta(extra={"options_of": "fetch.backend", "backends": "fetcher"}),
    ] = {}
    allow_private: Annotated[bool, meaning("Allow connections to private, loopback and link-local addresses.")] = False
    allow_networks: Annotated[
        tuple[Network, ...],
        meaning("Private networks to which connections are allowed although allow_private is false."),
    ] = ()
    authorities: Annotated[
        tuple[Text, ...],
        meaning(
            "Files of certificates (PEM) of certificate authorities that are trusted in addition to those of the "
            "system. Relative paths start from the current directory."
        ),
    ] = ()
    hosts: Annotated[
        dict[HostPattern, Address],
        meaning(
            "Fixed addresses, with or without a port, for host names without one. *.NAME stands for all names below "
            "NAME. They take precedence over DNS."
        ),
    ] = {}
    resolver: Annotated[
        Resolver,
        meaning(
            "How host names are resolved: dns asks the name servers of the system directly, any number of names at "
            "once; system uses the resolver of the system, 16 names at once."
        ),
    ] = "dns"
    unverified: Annotated[
        tuple[HostPattern, ...],
        meaning("Hosts whose TLS certificates are not verified. *.NAME stands for all names below NAME."),
        Meta(extra={"form": 'a host, as "old.example.org" or "*.example.org"'}),
    ] = ()
    proxies: Annotated[
        dict[HostPattern, ProxyUrl],
        meaning(
            "Proxies by host. *.NAME stands for all names below NAME, and * for all hosts. http, https and socks5h "
            "proxies resolve the host names themselves; for socks5, the crawler does."
        ),
    ] = {}
    logins: Annotated[
        dict[HostPattern, Secret],
        meaning(
            "Logins for hosts and proxies, from an environment variable or a file. The content is user:password, or "
            "Bearer and a token."
        ),
    ] = {}
    max_redirects: Annotated[
        int, between(0, 1000, "redirects"), meaning("Longest chain of redirects that is followed.")
    ] = 10
    languages: Annotated[
        tuple[Language, ...], meaning("Preferred languages, the best first; sent as Accept-Language."), PER_SITE
    ] = ()
    headers: Annotated[
        dict[HeaderName, HeaderValue],
        meaning(
            "Additional headers for each request, whatever its host. They are stored unencrypted in the crawl "
            "directory."
        ),
        Meta(extra={"is_secret": True}),
        PER_SITE,
    ] = {}
    cookies: Annotated[
        bool,
        meaning(
            "Store cookies, and send them back to the site that set them, also after a restart. They are stored "
            "unencrypted in the crawl directory."
        ),
        PER_SITE,
    ] = False
    hsts: Annotated[
        bool, meaning("If a server has asked for https only (HSTS), treat its http URLs as redirects to https.")
    ] = False

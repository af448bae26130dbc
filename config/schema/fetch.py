"""How pages are asked for."""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from config.schema.kinds import BYTES, DAY_S, END, MOST, SECONDS, Text

Resolver = Literal["dns", "system"]
Extractor = Literal["lexbor", "lxml", "bs4"]
DEFAULT_USER_AGENT = "onceover/1.0 (+https://example.org/about-our-crawler)"
"""Its contact is a placeholder, and does not count as one: see `config.contact`."""
UserAgent = Annotated[str, Meta(pattern=rf"^[\x21-\x7e][\x20-\x7e]*{END}", extra={"form": "in printable ASCII"})]
Language = Annotated[
    str,
    Meta(
        pattern=rf"^(\*|[A-Za-z]{{1,8}}(-[A-Za-z0-9]{{1,8}})*){END}",
        extra={"form": 'a language tag, as "en" or "de-AT"'},
    ),
]
HostPattern = Annotated[str, Meta(pattern=rf"^(\*|(\*\.)?[A-Za-z0-9_]([A-Za-z0-9_.-]*[A-Za-z0-9_])?){END}")]
Address = Annotated[
    str,
    Meta(
        pattern=rf"^(\[[0-9A-Fa-f:.]+\](:[0-9]{{1,5}})?|[0-9.]+(:[0-9]{{1,5}})?|[0-9A-Fa-f:.]*:[0-9A-Fa-f:.]*){END}",
        extra={"form": '{ "*.example.org" = "127.0.0.1:8080" }'},
    ),
]
Network = Annotated[
    str, Meta(pattern=rf"^[0-9A-Fa-f:.]+(/[0-9]{{1,3}})?{END}", extra={"form": 'a network, as "10.1.0.0/16"'})
]
ProxyUrl = Annotated[
    str,
    Meta(
        pattern=rf"^(https?|socks5h?)://(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9_.-]+)(:[0-9]{{1,5}})?/?{END}",
        extra={"form": '{ "*" = "http://192.0.2.1:3128", "*.example.org" = "socks5://192.0.2.1:1080" }'},
    ),
]
Secret = Annotated[
    str,
    Meta(
        pattern=rf"^(env:[A-Za-z_][A-Za-z0-9_]*|file:[^\x00-\x1f\x7f]+){END}",
        extra={"form": '{ "www.example.org" = "env:EXAMPLE_LOGIN" } or "file:/run/secrets/example"'},
    ),
]
HeaderName = Annotated[str, Meta(pattern=rf"^[!#$%&'*+.^_`|~0-9A-Za-z-]+{END}")]
HeaderValue = Annotated[
    str,
    Meta(
        pattern=rf"^([\x21-\x7e]([\x20-\x7e\t]*[\x21-\x7e])?)?{END}",
        extra={"form": '{ "Accept" = "text/html" }, in printable ASCII'},
    ),
]


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
    timeout_s: Annotated[float, Meta(ge=0.001, le=DAY_S, description="Longest duration of a fetch.", extra=SECONDS)] = (
        60.0
    )
    connect_timeout_s: Annotated[
        float, Meta(ge=0.001, le=DAY_S, description="Longest wait for a connection.", extra=SECONDS)
    ] = 20.0
    head_timeout_s: Annotated[
        float,
        Meta(ge=0.001, le=DAY_S, description="Longest wait from a request to the end of the headers.", extra=SECONDS),
    ] = 30.0
    min_window_bytes: Annotated[
        int,
        Meta(
            ge=1,
            le=MOST,
            description="Of a body at least this much must come in each window_s; a slower one is cut.",
            extra=BYTES,
        ),
    ] = 1000
    window_s: Annotated[
        float, Meta(ge=0.001, le=DAY_S, description="Time over which a body's speed is judged.", extra=SECONDS)
    ] = 20.0
    max_body_bytes: Annotated[
        int, Meta(ge=1, le=MOST, description="Longer bodies are cut here, and marked so.", extra=BYTES)
    ] = 20_000_000
    max_sitemap_bytes: Annotated[
        int,
        Meta(
            ge=1,
            le=MOST,
            description="The same for sitemaps, if it is more; their protocol allows 50 MB.",
            extra=BYTES,
        ),
    ] = 50_000_000
    max_memory_bytes: Annotated[
        int,
        Meta(
            ge=0,
            le=MOST,
            description="Where bodies in flight take more than this, all together, only one of them grows at a time.",
            extra=BYTES,
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

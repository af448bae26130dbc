"""Who the crawl says it is."""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from config.schema.fetch import HostPattern
from config.schema.kinds import DAY_S, Text, between, matching, meaning

Email = Annotated[
    str,
    matching(
        r"[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]+@[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)+", 'an e-mail address, as "crawler@your.site"'
    ),
]
Origin = Annotated[
    str,
    matching(
        r"https://[a-z0-9_-]+(\.[a-z0-9_-]+)*(:[0-9]{1,5})?",
        'a site with https and without a path, in small letters, as "https://bot.your.site"',
    ),
]


class Identity(msgspec.Struct, frozen=True, kw_only=True):
    """Who the crawl says it is, beside `fetch.user_agent`. The page on identity says what sites expect of a crawler."""

    email: Annotated[
        Email | None, meaning("Where people can reach you; sent as the header From. Unset means that it is not sent.")
    ] = None
    sign: Annotated[
        Literal["never", "challenged", "always"],
        meaning(
            "Which requests are signed (Web Bot Auth): challenged means those to sites that have asked for it, by the "
            "header Accept-Signature."
        ),
    ] = "never"
    keys: Annotated[
        Text | None,
        meaning(
            "The folder with the keys, as `onceover identity init` makes it. A relative path starts from the current "
            "directory."
        ),
    ] = None
    agent: Annotated[
        Origin | None, meaning("The site where you publish the public keys; sent as the header Signature-Agent.")
    ] = None
    hosts: Annotated[
        tuple[HostPattern, ...],
        meaning(
            "Hosts to which requests may be signed. *.NAME stands for all names below NAME, and * for all hosts at "
            "public addresses. A host at a private address must be named."
        ),
        Meta(extra={"form": 'a host, as "www.example.org", "*.example.org" or "*"'}),
    ] = ("*",)
    cover: Annotated[
        Literal["authority", "request"],
        meaning(
            "What a signature holds for: authority is all requests to a host, until it is renewed; request is one "
            "method and path, with a nonce, and takes a new signature for each request."
        ),
    ] = "authority"
    lifetime_s: Annotated[
        float, between(30, DAY_S, "seconds"), meaning("How long a signature is valid. It is renewed earlier.")
    ] = 300.0

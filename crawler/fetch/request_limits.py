"""On which terms a site is asked: what may be different for each."""

import msgspec


class RequestLimits(msgspec.Struct, frozen=True, kw_only=True):
    """`timeout_s` is for the whole fetch, `connect_timeout_s` for each address tried, TLS included, `head_timeout_s`
    from the request to the end of the headers; of a body at least `min_window_bytes` must come in each `window_s`.

    `max_body_bytes` holds for the body as received and as decoded, and one that unfolds to more than `max_ratio` times
    what was received is cut there.
    """

    headers: dict[str, str]
    """Sent with every request, as `headers.sent_always` makes them."""
    timeout_s: float = 60.0
    connect_timeout_s: float = 10.0
    head_timeout_s: float = 30.0
    min_window_bytes: int = 1000
    window_s: float = 20.0
    max_body_bytes: int = 20_000_000
    max_sitemap_bytes: int = 50_000_000
    """The same for sitemaps, if it is more."""
    max_ratio: float = 1000.0
    cookies: bool = False
    """Whether cookies are kept and sent back."""

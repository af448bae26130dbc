"""Limits and headers of a request, which may differ between sites."""

import msgspec

SECRET_HEADERS = frozenset({"authorization", "proxy-authorization", "cookie"})
"""Names of headers, in lower case, that are never recorded."""


class RequestLimits(msgspec.Struct, frozen=True, kw_only=True):
    """`timeout_s` applies to the whole fetch, `connect_timeout_s` to each address, including TLS, and `head_timeout_s`
    to the time from the request to the end of the headers. In each `window_s`, at least `min_window_bytes` of a body
    must arrive.

    `max_body_bytes` applies to the body as received and as decoded. A body that expands to more than `max_ratio` times
    the received size is cut there.
    """

    headers: dict[str, str]
    """Headers of every request, a result of `headers.default_headers`."""
    unrecorded: frozenset[str] = SECRET_HEADERS
    """Names of headers that records leave out, a result of `headers.unrecorded_headers`."""
    timeout_s: float = 60.0
    connect_timeout_s: float = 10.0
    head_timeout_s: float = 30.0
    min_window_bytes: int = 1000
    window_s: float = 20.0
    max_body_bytes: int = 20_000_000
    max_sitemap_bytes: int = 50_000_000
    """The limit for sitemaps, if it is higher."""
    max_ratio: float = 1000.0
    cookies: bool = False
    """Whether cookies are stored and sent."""

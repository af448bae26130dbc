"""Tries http for a seed that names no scheme, if its host has no https. Pure.

Such a seed is queued as its https URL, with the text that was written as its `anchor`; no other seed has one. If the
connection fails, that URL gets an internal redirect to http, and the URL of http keeps the anchor. A server that has
an invalid certificate, or fails in any other way, is never asked over http.
"""

from typing import Final

from crawler.page import Failure, LinkKind, Redirect, Verdict
from frontier import CrawlUrl

_SECURE: Final = "https://"


def redirect_to_http(url: CrawlUrl, failed: Failure | Verdict, *, now: float) -> Redirect | None:
    """The redirect to http; None if http must not be tried. `failed`: what came of the URL or of its robots.txt. `now`
    is in seconds since 1970."""
    if not failed.no_connection or url.kind != LinkKind.SEED or url.anchor is None or not url.url.startswith(_SECURE):
        return None
    location = f"http://{url.url.removeprefix(_SECURE)}"
    message = f"no https ({failed.message}), and the seed {url.anchor!r} names no scheme: http is tried"
    return Redirect.internal(url.url, location, why=b"No HTTPS", now=now, message=message)

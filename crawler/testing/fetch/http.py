"""The fetcher of HTTP to which other fetchers pass requests on. It may connect to 127.0.0.1."""

from typing import Final

from msgspec.structs import replace

from crawler.fetch.connect.guard import Guard
from crawler.fetch.connect.network import Network
from crawler.fetch.headers import default_headers
from crawler.fetch.http import HttpFetcher
from crawler.fetch.request_limits import RequestLimits
from crawler.testing.timeouts import MAX_WAIT_S

USER_AGENT: Final = "onceover/1.0"
HANG_S: Final = 0.5
"""How long the fetcher waits for a server that never answers."""
MAX_BODY_BYTES: Final = 50_000


def loopback_http() -> HttpFetcher:
    """It gives up URLs that end with `/hang` early, because they are never answered."""
    patient = RequestLimits(
        headers=default_headers(USER_AGENT, {}),
        timeout_s=MAX_WAIT_S,
        connect_timeout_s=MAX_WAIT_S,
        head_timeout_s=MAX_WAIT_S,
        max_body_bytes=MAX_BODY_BYTES,
    )
    brief = replace(patient, timeout_s=HANG_S)
    network = Network(guard=Guard(allow_private=True))
    return HttpFetcher(network, limits=lambda url: brief if url.endswith("/hang") else patient)

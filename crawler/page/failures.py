"""Why a fetch got no usable response."""

from enum import StrEnum


class FailureKind(StrEnum):
    """Why there is no usable response. Users read these words in records, counters and logs."""

    DNS = "dns"
    """the name does not resolve"""
    CONNECT = "connect"
    """no connection: refused, unreachable"""
    TLS = "tls"
    TIMEOUT = "timeout"
    DISCONNECTED = "disconnected"
    """the server closed the connection before the response was complete"""
    PROTOCOL = "protocol"
    """the server sent something that is not HTTP"""
    ENCODING = "encoding"
    """the body can't be decompressed"""
    PRIVATE_ADDRESS = "private-address"
    """the name resolves to an address that the crawl may not connect to"""
    PORT = "port"
    """the crawl does not connect to this port"""
    NO_CONTACT = "no-contact"
    """the host may belong to somebody else, and the User-Agent gives no contact"""
    BAD_URL = "bad-url"
    UNEXPECTED = "unexpected"
    """an error that the fetcher does not know: a bug worth a report"""


TRANSIENT_FAILURES = frozenset(
    {
        FailureKind.DNS,
        FailureKind.CONNECT,
        FailureKind.TIMEOUT,
        FailureKind.DISCONNECTED,
        FailureKind.PROTOCOL,
        FailureKind.ENCODING,
    }
)
"""Failures after which another attempt may succeed."""

HOST_FAILURES = frozenset({FailureKind.DNS, FailureKind.CONNECT, FailureKind.TLS})
"""Failures that every other URL of the host would have too, robots.txt included."""

REFUSALS = frozenset({FailureKind.PRIVATE_ADDRESS, FailureKind.PORT, FailureKind.NO_CONTACT, FailureKind.BAD_URL})
"""Failures by our own decision: no request was sent, and none will be."""

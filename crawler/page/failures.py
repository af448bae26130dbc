"""Why a fetch got no usable response."""

from enum import StrEnum


class FailureKind(StrEnum):
    """Why there is no usable response. Users read these words in records, counters and logs."""

    DNS = "dns"
    """the name does not resolve"""
    CONNECT = "connect"
    """no connection: refused, unreachable"""
    TLS = "tls"
    """the handshake fails for any other reason than the following"""
    TLS_EXPIRED = "tls-expired"
    """the certificate has expired, or is not valid yet"""
    TLS_WRONG_HOST = "tls-wrong-host"
    """the certificate is for other hosts"""
    TLS_SELF_SIGNED = "tls-self-signed"
    """nobody but its owner vouches for the certificate"""
    TLS_UNKNOWN_AUTHORITY = "tls-unknown-authority"
    """we do not know who vouches for the certificate, or the server sends an incomplete chain"""
    TLS_VERSION = "tls-version"
    """no version of TLS in common"""
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

_TLS_FAILURES = frozenset(
    {
        FailureKind.TLS,
        FailureKind.TLS_EXPIRED,
        FailureKind.TLS_WRONG_HOST,
        FailureKind.TLS_SELF_SIGNED,
        FailureKind.TLS_UNKNOWN_AUTHORITY,
        FailureKind.TLS_VERSION,
    }
)

HOST_FAILURES = _TLS_FAILURES | {FailureKind.DNS, FailureKind.CONNECT}
"""Failures that every other URL of the host would have too, robots.txt included."""

ROBOTS_FAILURES = HOST_FAILURES | {FailureKind.TIMEOUT}
"""Failures of a request for robots.txt that its verdict names, because the host can't be reached. The only time-outs
among them are those of connections."""

REFUSALS = frozenset({FailureKind.PRIVATE_ADDRESS, FailureKind.PORT, FailureKind.NO_CONTACT, FailureKind.BAD_URL})
"""Failures by our own decision: no request was sent, and none will be."""

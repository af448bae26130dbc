"""Connections to servers, as counts."""

import msgspec


class ConnectionCounts(msgspec.Struct, frozen=True, kw_only=True):
    """The connections of a run."""

    opened: int = 0
    reused: int = 0
    """Requests over kept connections."""
    open: int = 0
    """Those that are open now, idle ones included."""
    memory_bytes: int = 0
    """About what the open ones take."""
    tls_handshakes: int = 0
    """Handshakes after which a server answered."""
    tls_resumed: int = 0
    """Of these, those that resumed a session."""

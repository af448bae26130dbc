"""Decides which TLS sessions are kept, and when they are used. Pure.

A session is used for many connections, though RFC 8446 (appendix C.4) would have each ticket used once: so nobody who
listens can link the connections of a person. A crawler names itself in each request, and to copy a session out of
OpenSSL and back costs a third of a handshake each time.
"""

from collections import OrderedDict
from ssl import SSLSession
from typing import Final

import msgspec

CAPACITY: Final = 4096
"""Hosts. A session takes about 7 KB, most of it the server's certificate."""
MAX_AGE_S: Final = 86_400.0
"""So long after a certificate was verified, sessions are resumed from it. Then it is verified again, because it may
have expired or changed: without this limit, a session that is renewed in time would never end (RFC 8446, section
4.6.1)."""
_MAX_USELESS: Final = 2
"""After so many sessions in a row that the server did not resume, we keep no more of its sessions."""


class _Kept(msgspec.Struct):
    """What is known of a host."""

    session: SSLSession | None = None
    taken_at: float = 0.0
    lifetime_s: float = 0.0
    verified_at: float = 0.0
    """When its certificate was verified."""
    useless: int = 0
    """Sessions in a row that were of no use."""


class Sessions:
    """The sessions of hosts under one trust, at most `capacity`; those that were not used for longest are dropped.

    For each connection: `find` before the handshake, `note` after it, and `keep` if `note` asks for its session.
    """

    def __init__(self, capacity: int = CAPACITY) -> None:
        self._capacity = capacity
        self._hosts: OrderedDict[str, _Kept] = OrderedDict()
        self.handshakes = 0
        """All handshakes that ended well, resumed ones too."""
        self.resumed = 0

    def __len__(self) -> int:
        return sum(kept.session is not None for kept in self._hosts.values())

    def find(self, host: str, /, now: float) -> SSLSession | None:
        """The session to resume with `host`; None if there is none that may be used."""
        kept = self._hosts.get(host)
        if kept is None or kept.session is None:
            return None
        if now >= kept.taken_at + kept.lifetime_s or now >= kept.verified_at + MAX_AGE_S:
            kept.session = None
        return kept.session

    def note(self, host: str, /, now: float, *, offered: bool, resumed: bool) -> bool:
        """Note a handshake with `host`, in which we offered a session or not. Returns whether its session is worth a
        copy: there is none, the one that we have was refused, or half of its time is over."""
        self.handshakes += 1
        kept = self._hosts.get(host)
        if kept is None:
            return True
        self._hosts.move_to_end(host)
        if resumed:
            self.resumed += 1
            kept.useless = 0
        elif offered:
            kept.session = None
            kept.useless += 1
        if kept.session is None:
            return kept.useless < _MAX_USELESS
        return now >= kept.taken_at + kept.lifetime_s / 2

    def keep(self, host: str, session: SSLSession, /, now: float, *, resumed: bool, needs_ticket: bool) -> None:
        """Keep the session of the connection that was noted last. `needs_ticket`: as TLS 1.3 does, which has no other
        way to resume."""
        kept = self._hosts.get(host)
        if kept is None:
            if len(self._hosts) >= self._capacity:
                self._hosts.popitem(last=False)
            kept = self._hosts[host] = _Kept()
        if not resumed:
            kept.verified_at = now
        if session.has_ticket or (session.id and not needs_ticket):
            kept.session = session
            kept.taken_at = now
            kept.lifetime_s = float(session.ticket_lifetime_hint or session.timeout)
        elif not resumed:
            kept.useless += 1

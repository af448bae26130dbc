"""Makes TLS connections of asyncio resume sessions.

asyncio and uvloop make a TLS object by the context's `wrap_bio`, without a session. Python lets a context say which
class these objects have (`sslobject_class`), and a session may be set until the handshake begins.
"""

import asyncio
from ssl import SSLContext, SSLObject
from time import monotonic
from typing import Any, cast

from crawler.fetch.connect.tls.sessions import Sessions


class ResumingTls(SSLObject):
    """One end of a TLS connection, which resumes the session of its host if there is one."""

    sessions: Sessions
    _began = False
    _offered = False

    def do_handshake(self) -> None:
        if not self._began:
            self._began = True
            host = self.server_hostname
            if host is not None:
                session = self.sessions.find(host, monotonic())
                if session is not None:
                    self.session = session
                    self._offered = True
        super().do_handshake()

    def getpeercert(self, binary_form: bool = False) -> Any:
        """The certificate of the server, in DER only. asyncio and uvloop ask for the parsed one after each handshake,
        and nobody reads it; to parse one of a hundred names takes long."""
        return super().getpeercert(True) if binary_form else None

    def keep_session(self) -> None:
        """Keep the session of this connection for the next one. To be called once, after the server has answered: with
        TLS 1.3 its tickets arrive after the handshake."""
        host = self.server_hostname
        if host is None:
            return
        now, resumed = monotonic(), bool(self.session_reused)
        if not self.sessions.note(host, now, offered=self._offered, resumed=resumed):
            return
        session = self.session
        if session is not None:
            needs_ticket = self.version() == "TLSv1.3"
            self.sessions.keep(host, session, now, resumed=resumed, needs_ticket=needs_ticket)


def keep_session(transport: asyncio.BaseTransport | None) -> None:
    """Keep the session of a connection for the next one, if it has one. To be called once, after the server has
    answered."""
    tls = None if transport is None else transport.get_extra_info("ssl_object")
    if isinstance(tls, ResumingTls):
        tls.keep_session()


def resume_sessions(context: SSLContext) -> Sessions:
    """Make all client connections of this context resume sessions; returns those."""
    sessions = Sessions()
    context.sslobject_class = cast(type[SSLObject], type("ResumingTls", (ResumingTls,), {"sessions": sessions}))
    return sessions

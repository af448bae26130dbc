"""Decides which ports a crawl may ask. Pure.

A link may name any port of any machine, and a server of another protocol may take a request for commands. So a crawl
asks ports 80 and 443, and those from 1024 on that browsers do not block; other ports only if the user names them.

Source: the Fetch standard, section 2.9, port blocking (https://fetch.spec.whatwg.org/#port-blocking).
"""

from collections.abc import Iterable
from typing import Final

from crawler.url.hosts import split_port

_FIRST_FREE: Final = 1024
_WEB: Final = frozenset({80, 443})
_BLOCKED: Final = frozenset(
    {1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061, 6000, 6566, *range(6665, 6670), 6679, 6697, 10080}
)
"""The ports from 1024 on that browsers block. We refuse all lower ports, except 80 and 443."""


class Ports:
    """The ports of one crawl: the usual ones, and those in `named`."""

    def __init__(self, named: Iterable[int] = ()) -> None:
        self._named = frozenset(named)

    def allow(self, port: int, /) -> bool:
        return port in self._named or port in _WEB or (port >= _FIRST_FREE and port not in _BLOCKED)

    def allow_site(self, site: str, /) -> bool:
        """Whether the crawl may ask the port of a `Target.site`."""
        if ":" not in site:
            return True
        port = site.rpartition(":")[2]  # of an IPv6 address without one, the end
        return not port.isdecimal() or self.allow(int(port))


def port_of(site: str, /) -> int | None:
    """The port of a `Target.site`; None for the default port of its scheme."""
    port = split_port(site)[1]
    return int(port[1:]) if port else None

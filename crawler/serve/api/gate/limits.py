"""How much a client may ask for. Pure: takes the time as an argument."""

from collections import OrderedDict
from ipaddress import IPv6Address, ip_address
from typing import Final

import msgspec

_NETWORK_BITS: Final = 64
"""An owner of IPv6 addresses has at least a /64 of them."""
MAX_CLIENTS: Final = 10_000


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """What the API bears. All but the limits on connections and bodies hold for ports alone."""

    max_connections: int = 256
    max_connections_per_client: int = 64
    requests_per_s: float = 200.0
    """The limit for all clients together."""
    max_requests_at_once: int = 400
    client_requests_per_s: float = 50.0
    max_client_requests_at_once: int = 100
    wrong_tokens_per_s: float = 0.1
    """The limit for each client."""
    max_wrong_tokens_at_once: int = 10
    max_body_bytes: int = 1 << 20
    max_target_bytes: int = 1 << 16
    """The longest path with its query."""
    max_headers: int = 64
    max_header_bytes: int = 8192
    """The longest header."""
    idle_s: float = 20.0
    """After this time without a whole request a connection is closed."""
    body_s: float = 20.0
    """A body must have arrived after this time."""
    linger_s: float = 2.0
    """For so long the rest of a refused body is read, so that its client reads the reply."""


class Pace:
    """Bounds how often something happens, for each client.

    The generic cell rate algorithm: of each client only the time is stored at which it would have been served if it had
    kept to the rate.
    """

    def __init__(self, per_s: float, at_once: int, max_clients: int = MAX_CLIENTS) -> None:
        self._interval_s = 1.0 / per_s
        self._tolerance_s = (at_once - 1) * self._interval_s
        self._max_clients = max_clients
        self._due: OrderedDict[str, float] = OrderedDict()

    def wait_s(self, client: str, now: float) -> float:
        """How long a client has to wait; 0 if it need not."""
        return max(self._due.get(client, now) - now - self._tolerance_s, 0.0)

    def take(self, client: str, now: float) -> float:
        """The same; counts it if the client need not wait."""
        wait_s = self.wait_s(client, now)
        if wait_s == 0.0:
            self._due[client] = max(self._due.get(client, now), now) + self._interval_s
            self._due.move_to_end(client)
            if len(self._due) > self._max_clients:
                self._due.popitem(last=False)
        return wait_s


def client_of(address: str | None) -> str:
    """The client that requests from an address count for. Empty for the local socket."""
    if not address:
        return ""
    try:
        parsed = ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if not isinstance(parsed, IPv6Address):
        return address
    if parsed.ipv4_mapped is not None:
        return str(parsed.ipv4_mapped)
    network = int(parsed) >> _NETWORK_BITS << _NETWORK_BITS
    return f"{IPv6Address(network)}/{_NETWORK_BITS}"

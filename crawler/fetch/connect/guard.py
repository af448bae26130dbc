"""Decides to which addresses we may connect. Pure.

A crawler follows links that strangers write, so they must not lead it to the machines around it: routers, databases,
cloud metadata. The name or spelling of a host proves nothing; only the address to which it resolves counts.

Sources: the IANA special-purpose address registries for IPv4 and IPv6 (RFC 6890, RFC 8190), RFC 6052 for NAT64.
"""

from collections.abc import Iterable
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

Address = IPv4Address | IPv6Address

_REFUSED_V4 = tuple(
    (IPv4Network(network), why)
    for network, why in (
        ("0.0.0.0/8", "this host"),
        ("10.0.0.0/8", "private"),
        ("100.64.0.0/10", "shared by a carrier"),
        ("127.0.0.0/8", "loopback"),
        ("168.63.129.16/32", "cloud metadata"),
        ("169.254.0.0/16", "link-local"),
        ("172.16.0.0/12", "private"),
        ("192.0.0.0/24", "reserved"),
        ("192.0.2.0/24", "documentation"),
        ("192.31.196.0/24", "reserved"),
        ("192.52.193.0/24", "reserved"),
        ("192.88.99.0/24", "reserved"),
        ("192.168.0.0/16", "private"),
        ("192.175.48.0/24", "reserved"),
        ("198.18.0.0/15", "benchmarking"),
        ("198.51.100.0/24", "documentation"),
        ("203.0.113.0/24", "documentation"),
        ("224.0.0.0/4", "multicast"),
        ("240.0.0.0/4", "reserved"),
    )
)

_REFUSED_V6 = tuple(
    (IPv6Network(network), why)
    for network, why in (
        ("::1/128", "loopback"),
        ("::/128", "this host"),
        ("fe80::/10", "link-local"),
        ("fec0::/10", "private"),
        ("fc00::/7", "private"),
        ("ff00::/8", "multicast"),
        ("2001::/23", "reserved"),
        ("2001:db8::/32", "documentation"),
        ("2002::/16", "a tunnel"),
        ("3fff::/20", "documentation"),
    )
)

_GLOBAL_V6 = IPv6Network("2000::/3")
_NAT64 = IPv6Network("64:ff9b::/96")


class AddressRefused(OSError):
    """Nothing was sent, because we must not connect to the address. It is an `OSError`, because a connector passes on
    no other exceptions."""


class Guard:
    """Says why we must not connect to an address.

    `networks`, such as `10.1.0.0/16`, are allowed beside the public ones. `allow_private` allows everything.
    """

    def __init__(self, *, allow_private: bool = False, networks: Iterable[str] = ()) -> None:
        self.allows_all = allow_private
        """Whether it allows every address."""
        self._networks = tuple(ip_network(network) for network in networks)
        self.is_strict = not self.allows_all and not self._networks
        """Whether it allows public addresses alone."""

    def refusal(self, address: str, /) -> str | None:
        """Why `address`, a literal without brackets, is refused; None if we may connect to it."""
        if self.allows_all:
            return None
        why = special_use(address)
        if why is None:
            return None
        if self._networks and any(_unmap(address) in network for network in self._networks):
            return None
        return why

    def refusal_of_name(self, host: str, /) -> str | None:
        """Why `host` is refused without a lookup; None for most names. RFC 6761, section 6.3, reserves `localhost` and
        all names below it for this machine, whatever a name server or a proxy would answer."""
        name = host.rstrip(".").lower()
        return self.refusal("127.0.0.1") if name == "localhost" or name.endswith(".localhost") else None


@lru_cache(maxsize=8192)
def special_use(address: str, /) -> str | None:
    """The purpose for which `address` is reserved, in a word; None if it is an address of the public Internet."""
    try:
        parsed = _unmap(address)
    except ValueError:
        return "not an address"
    if isinstance(parsed, IPv4Address):
        return next((why for network, why in _REFUSED_V4 if parsed in network), None)
    if parsed in _NAT64:
        return special_use(str(IPv4Address(int(parsed) & 0xFFFF_FFFF)))
    for network, why in _REFUSED_V6:
        if parsed in network:
            return why
    return None if parsed in _GLOBAL_V6 else "reserved"


def _unmap(address: str) -> Address:
    """The address without its zone. An IPv4 address mapped into IPv6 becomes that IPv4 address."""
    parsed = ip_address(address.partition("%")[0])
    if isinstance(parsed, IPv6Address) and parsed.ipv4_mapped is not None:
        return parsed.ipv4_mapped
    return parsed

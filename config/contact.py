"""Whether the owners of sites can reach the person who crawls them.

Well-known crawlers give a contact in their User-Agent, and site owners block crawlers that don't. Hosts on this
machine, and names that RFC 2606 and RFC 6761 reserve, have no other owner. For the same reason, a contact under such a
name does not count; the default User-Agent has one.
"""

import re
from collections.abc import Iterable, Mapping
from ipaddress import IPv6Address, ip_address
from socket import inet_aton
from urllib.parse import urlsplit

from ada_url import idna

_CONTACT = re.compile(
    r"https?://(?:[^\s/@]*@)?([^\s/:;,()<>\[\]]+|\[[0-9A-Fa-f:.]+\])|[^\s@():;,<>]{1,64}@([A-Za-z0-9.-]+)"
)
"""The bound is that of RFC 5321. Without one, a long text without @ takes the square of its length."""
_WITHOUT_SCHEME = re.compile(
    r"(?:localhost|\[[0-9A-Fa-f:.]+\]|[^\s/?#@:\[\]\\]+\.[^\s/?#@:\[\]\\]+)(?::[0-9]|[/?#]|$)", re.IGNORECASE
)
"""Any text that may be read as a host without a scheme; the rest of it does not matter."""
_RESERVED = re.compile(r"(?:.*\.)?(?:test|example|invalid|localhost|example\.(?:com|net|org))")


def has_contact(user_agent: str) -> bool:
    """Whether a User-Agent has a URL or an e-mail address that can reach somebody."""
    hosts = (match[1] or match[2] for match in _CONTACT.finditer(user_agent))
    return any(("." in host or ":" in host) and not _has_no_owner(host) for host in hosts)


def owned_by_others(urls: Iterable[str], *, hosts: Mapping[str, str]) -> str | None:
    """The first URL whose host may belong to somebody else; None if there is none.

    `hosts` are the static names with their addresses. URLs that can't be crawled, such as ftp://, do not count.
    """
    return next(
        (url for url in urls if (host := _host(url)) and not _has_no_owner(host) and not _is_local(host, hosts)), None
    )


def _host(url: str) -> str | None:
    try:
        text = url.strip()
        parts = urlsplit(f"https://{text}" if _WITHOUT_SCHEME.match(text) else text)
        return parts.hostname if parts.scheme in ("http", "https") else None
    except ValueError:
        return None


def _has_no_owner(host: str) -> bool:
    name = host.lower().rstrip(".").strip("[]")
    return _RESERVED.fullmatch(name) is not None or _is_loopback(name)


def in_ascii(name: str) -> str:
    """A host name, or a pattern of names, as URLs have it; empty if IDNA has no such form, as for `xn--ü`."""
    return name if name.isascii() else idna.encode(name).decode()


def _is_local(host: str, hosts: Mapping[str, str]) -> bool:
    """Whether the name has a static address on this machine. The most specific pattern counts."""
    labels = in_ascii(host).rstrip(".").split(".")
    patterns = [".".join(labels), *(".".join(["*", *labels[start:]]) for start in range(1, len(labels) + 1))]
    static = {in_ascii(pattern).lower(): address for pattern, address in hosts.items()}
    address = next((static[pattern] for pattern in patterns if pattern in static), "")
    return _is_loopback(split_address(address)[0])


def split_address(text: str) -> tuple[str, str]:
    """Address and port of `127.0.0.1:80`, `[::1]:80`, `127.0.0.1` or `::1`; the port is empty if there is none."""
    if text.startswith("["):
        address, _, port = text[1:].partition("]")
        return address, port.removeprefix(":")
    if text.count(":") == 1:
        address, _, port = text.partition(":")
        return address, port
    return text, ""


def _is_loopback(address: str) -> bool:
    try:
        parsed = ip_address(address)
    except ValueError:
        pass
    else:
        mapped = parsed.ipv4_mapped if isinstance(parsed, IPv6Address) else None  # as ::ffff:127.0.0.1
        return (mapped or parsed).is_loopback
    try:
        return ip_address(inet_aton(address)).is_loopback  # as 127.1, which URLs may have too
    except (OSError, ValueError):
        return False

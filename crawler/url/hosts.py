"""Works with host names as URLs contain them by the WHATWG standard: SURT order and registered domains.

SURT order, `com,example,www`, keeps the hosts of a domain together. It includes the port if that is not the default of
its scheme: `com,example,www:8080`. So http and https of one host share a key. IP addresses stay as they are.
"""

import re
from functools import lru_cache
from ipaddress import IPv6Address
from pathlib import Path
from typing import Final

import msgspec
from ada_url import idna
from publicsuffixlist import PSLFILE, PublicSuffixList

HOSTS_REMEMBERED: Final = 32_768
"""Each cache of names, domains or origins in this room remembers so many hosts."""
_LONGEST_NAME: Final = 253
_LONGEST_LABEL: Final = 63
LONGEST_REMEMBERED: Final = 300
"""Characters. A host name may have 253; longer ones can't exist, and would fill the cache."""
_TOP_LEVELS_REMEMBERED: Final = 2048
_MISSING_SEARCHED: Final = 8
"""To search the list for one top-level domain that it lacks takes a tenth of the time to read all that it has."""
_REGISTRIES_BEGIN: Final = b"// ===BEGIN ICANN DOMAINS==="
_REGISTRIES_END: Final = b"// ===END ICANN DOMAINS==="
"""Marks in the list of public suffixes."""


def split_port(authority: str, /) -> tuple[str, str]:
    """Host and port of a serialised authority. The port includes its colon, or is empty."""
    if ":" not in authority or authority.endswith("]"):
        return authority, ""
    host, _, port = authority.rpartition(":")
    return host, f":{port}"


def name_of_site(site: str, /) -> str:
    """A `Target.site` without its port, the same for all servers of the host. An IPv4 address mapped into IPv6 becomes
    that IPv4 address."""
    host = split_port(site)[0]
    return same_address(host[1:-1]) if host.startswith("[::ffff:") else host


def same_address(address: str, /) -> str:
    """The IPv4 address for one mapped into IPv6; any other address unchanged. `address` is a literal without
    brackets."""
    if not address.startswith("::ffff:"):
        return address
    mapped = IPv6Address(address).ipv4_mapped
    return address if mapped is None else str(mapped)


def is_name(host: str, /) -> bool:
    """Whether DNS can contain the name: at most 253 characters, in labels of 1 to 63, without a `*` (RFC 1035, section
    2.3.4; RFC 4592 for the `*`). True also for an address."""
    if host.startswith("["):
        return True
    name = host.removesuffix(".")
    return (
        len(name) <= _LONGEST_NAME
        and "*" not in name
        and all(0 < len(label) <= _LONGEST_LABEL for label in name.split("."))
    )


def surt_host(host: str, /) -> str:
    """`www.example.org` as `org,example,www`; IP addresses stay as they are."""
    host = host.rstrip(".") or host
    if is_address(host):
        return host
    return ",".join(reversed(host.split(".")))


def registered_domain(host: str, /) -> str:
    """The registered domain of a host, `example.co.uk` for `www.example.co.uk`; without one, the host itself."""
    return _known_registered_domain(host) if len(host) <= LONGEST_REMEMBERED else _registered_domain(host)


def _registered_domain(host: str) -> str:
    host = host.rstrip(".") or host
    if is_address(host):
        return host
    return _suffixes_for(host).privatesuffix(host) or host


_known_registered_domain = lru_cache(maxsize=HOSTS_REMEMBERED)(_registered_domain)


def domain_of_site(site: str, /) -> str:
    """The SURT of the registered domain of a `Target.site`, with its port: `org,example:8080`."""
    return _known_domain_of_site(site) if len(site) <= LONGEST_REMEMBERED else _domain_of_site(site)


def _domain_of_site(site: str) -> str:
    host, port = split_port(site)
    if is_address(host):
        return site
    return f"{surt_host(_registered_domain('.'.join(reversed(host.split(',')))))}{port}"


_known_domain_of_site = lru_cache(maxsize=HOSTS_REMEMBERED)(_domain_of_site)


def is_address(host: str, /) -> bool:
    # The standard serialises every host whose last label is a number as an IPv4 address.
    return host.startswith("[") or (host[-1:].isdigit() and host.rpartition(".")[2].isdigit())


def has_registered_domain(host: str, /) -> bool:
    """Whether a host is a registered domain or below one. Addresses and public suffixes are not."""
    host = host.rstrip(".") or host
    return not is_address(host) and _suffixes_for(host).privatesuffix(host) is not None


class Suffixes(msgspec.Struct, frozen=True):
    """What the list of public suffixes says of a host."""

    registry_suffix: str | None
    """That of a registry, as `co.uk`."""
    registered_domain: str | None
    """One label more, if the host has it."""
    private_suffix: str | None
    """Perhaps that of a private owner of a domain, as `github.io`."""
    private_domain: str | None


def public_suffixes(host: str, /) -> Suffixes | None:
    """None if the host is an address."""
    host = host.rstrip(".") or host
    if is_address(host):
        return None
    registries, all_suffixes = _suffixes_for(host, of_registries=True), _suffixes_for(host)
    return Suffixes(
        registries.publicsuffix(host),
        registries.privatesuffix(host),
        all_suffixes.publicsuffix(host),
        all_suffixes.privatesuffix(host),
    )


def has_known_top_level(host: str, /) -> bool:
    """Whether a rule of the list of public suffixes is about the top-level domain of the host."""
    top_level = _top_level(host.rstrip("."))
    return len(top_level) <= _LONGEST_LABEL and _has_rules(top_level)


def installed_suffixes() -> bytes:
    """The text of the list of public suffixes that this program brings."""
    return Path(PSLFILE).read_bytes()


def use_suffixes(text: bytes, /) -> None:
    """Use another list of public suffixes in this process. Registered domains that are known already are forgotten."""
    if _SUFFIXES.text != text:
        _SUFFIXES.text, _SUFFIXES.top_levels, _SUFFIXES.missing = text, None, 0
        for cached in (_text, _suffixes, _has_rules, _known_registered_domain, _known_domain_of_site):
            cached.cache_clear()


class _Suffixes:
    """Which list this process uses."""

    text: bytes | None = None
    """None is that of the package."""
    top_levels: frozenset[str] | None = None
    """Those of its rules. They are read when several were missing, because more may follow: a page can have 100,000
    links to such hosts, and to search the list for each of them would take 20 s."""
    missing: int = 0
    """How many top-level domains have been searched for in vain."""


_SUFFIXES: Final = _Suffixes()


def _suffixes_for(host: str, *, of_registries: bool = False) -> PublicSuffixList:
    """All suffixes that a host may have, or only those of registries."""
    top_level = _top_level(host)
    return _suffixes(top_level if len(top_level) <= _LONGEST_LABEL else "", of_registries=of_registries)


def _top_level(host: str) -> str:
    return host.rpartition(".")[2]


@lru_cache(maxsize=_TOP_LEVELS_REMEMBERED)
def _suffixes(top_level: str, *, of_registries: bool) -> PublicSuffixList:
    """Below one top-level domain: a crawl meets few of them, and to read the whole list takes the library 15 ms."""
    rules = map(_rule_in_ascii, _rules_for(top_level, of_registries=of_registries))
    return PublicSuffixList(rules, accept_encoded_idn=False)


@lru_cache(maxsize=_TOP_LEVELS_REMEMBERED)
def _has_rules(top_level: str) -> bool:
    return bool(_rules_for(top_level))


def _rules_for(top_level: str, *, of_registries: bool = False) -> list[str]:
    """As the list has them. It may have the top-level domain in ASCII, as URLs have it, or in its own letters."""
    decoded = idna.decode(top_level) if top_level.startswith("xn--") else top_level
    if _SUFFIXES.top_levels is not None and _SUFFIXES.top_levels.isdisjoint((top_level, decoded)):
        return []
    text = _text(of_registries=of_registries)
    rules = _find_rules(top_level, text)
    if decoded != top_level:
        rules += _find_rules(decoded, text.decode("utf-8", "replace").lower().encode())
    if not rules:
        _SUFFIXES.missing += 1
        if _SUFFIXES.missing > _MISSING_SEARCHED and _SUFFIXES.top_levels is None:
            _SUFFIXES.top_levels = _top_levels()
    return rules


def _top_levels() -> frozenset[str]:
    lines = filter(None, map(str.split, _text(of_registries=False).decode("utf-8", "replace").lower().split("\n")))
    return frozenset(_top_level(words[0]).removeprefix("!") for words in lines)


@lru_cache(maxsize=2)
def _text(*, of_registries: bool) -> bytes:
    """The list. Its ASCII letters are in lower case, and each of its lines ends with a line feed."""
    text = installed_suffixes() if _SUFFIXES.text is None else _SUFFIXES.text
    if of_registries:
        text = text.partition(_REGISTRIES_BEGIN)[2].partition(_REGISTRIES_END)[0]
    return text.lower().replace(b"\r", b"\n") + b"\n"


def _find_rules(top_level: str, text: bytes) -> list[str]:
    """Those below a top-level domain. To read all 10,000 rules would take as long as to start Python."""
    if not top_level:
        return []
    rules, end = [], 0
    last_label = re.compile(re.escape(top_level).encode() + rb"(?=\s)")
    while (found := last_label.search(text, end)) is not None:
        start, end = text.rfind(b"\n", 0, found.start()) + 1, text.index(b"\n", found.end())
        rule = text[start:end].decode("utf-8", "replace").lower().split(maxsplit=1)[0]
        if not rule.startswith("//") and _top_level(rule).removeprefix("!") == top_level:
            rules.append(rule)
    return rules


def _rule_in_ascii(rule: str) -> str:
    """The library would encode each rule, which doubles its time."""
    name = rule.removeprefix("!")
    return f"{rule.removesuffix(name)}{in_ascii(name)}"


def in_ascii(name: str, /) -> str:
    """A host name, or a pattern of names, in the form in which URLs have it: `xn--mnchen-3ya` for `München`."""
    return name if name.isascii() else idna.encode(name).decode()

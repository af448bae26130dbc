"""HTTP Strict Transport Security, RFC 6797: remembers the hosts that accept https only.

A host declares this over https. It is stored durably until it expires or the host revokes it. There is no preload list.
"""

import re
from collections.abc import Callable
from time import time
from typing import Final

import msgspec

from crawler.notes import NoteCache, NoteKind, Notes
from crawler.url.hosts import is_address
from crawler.url.urls import host_of

NOTES: Final = NoteKind(word="hsts", host_of=str)
"""By host."""
_MAX_AGE: Final = re.compile(r'max-age\s*=\s*(?:"([0-9]+)"|([0-9]+))', re.IGNORECASE)
_LONGEST_S: Final = 10 * 366 * 86_400
_UNNOTED_SHARE: Final = 0.01
"""A policy that is renewed is stored again only once that share of its time is over."""
_REMEMBERED: Final = 50_000
"""Hosts in memory."""


class Policy(msgspec.Struct, frozen=True):
    """The declaration of a host."""

    expires_at: float
    """Seconds since 1970."""
    with_subdomains: bool


_DECODER: Final = msgspec.msgpack.Decoder(Policy)


class StrictTransport:
    """The hosts that accept https only."""

    def __init__(self, notes: Notes, *, clock: Callable[[], float] = time) -> None:
        self._clock = clock
        self._policies = NoteCache(
            notes, NOTES, read=_DECODER.decode, write=msgspec.msgpack.encode, capacity=_REMEMBERED
        )

    def upgrade(self, url: str, /) -> str | None:
        """The https URL that must replace an http one; None if the URL may be fetched as it is."""
        if not url.startswith("http://") or not self._covers(host_of(url).rstrip(".")):
            return None
        return f"https{url[4:]}"

    def learn(self, url: str, header: str, /) -> None:
        """Store the header of a response from an https URL, received over a verified connection."""
        host = host_of(url).rstrip(".")
        policy = _read(header, self._clock())
        if policy is None or is_address(host):
            return
        known = self._policies.find(host)
        if known is not None and _is_nearly_the_same(known, policy, self._clock()):
            return  # as with most responses
        self._policies.put(host, policy)

    def _covers(self, host: str) -> bool:
        if is_address(host):
            return False
        now = self._clock()
        name = host
        while name:
            policy = self._policies.find(name)
            if policy is not None and policy.expires_at > now and (name == host or policy.with_subdomains):
                return True
            name = name.partition(".")[2]
        return False


def _read(header: str, now: float) -> Policy | None:
    """Parse the header, by section 6.1; None if it is invalid, also because a directive is repeated."""
    directives = [directive.strip() for directive in header.split(";") if directive.strip()]
    names = {directive.partition("=")[0].rstrip().lower() for directive in directives}
    ages = [match for directive in directives if (match := _MAX_AGE.fullmatch(directive))]
    if len(ages) != 1 or len(names) < len(directives):
        return None
    age_s = min(int((ages[0][1] or ages[0][2])[:12]), _LONGEST_S)
    return Policy(now + age_s, any(directive.lower() == "includesubdomains" for directive in directives))


def _is_nearly_the_same(known: Policy, policy: Policy, now: float) -> bool:
    """Whether a new policy hardly differs from the one that is known. One that ends at once always differs."""
    difference_s = abs(policy.expires_at - known.expires_at)
    return policy.with_subdomains == known.with_subdomains and difference_s < _UNNOTED_SHARE * (policy.expires_at - now)

"""What traps kept out of a crawl, so that an owner sees what is missing.

Refusals by a trap or a quota are counted by rule and host, with the first few URLs as examples. The counts are notes,
which outlive a restart. They stay small, whatever a site invents: there are so many hosts at most, and what else is
refused is counted under no name.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from crawler.discover.traps import Trap
from crawler.notes import Notes, read_note
from crawler.page import Link, Redirect
from crawler.protocols import Discovered, Discovery, Quota
from crawler.steps import LINKS_AT_ONCE, Steps
from crawler.url.urls import host_of, join
from frontier import CrawlUrl

PREFIX: Final = "refused "
"""With what the keys of these notes begin; rule and host follow."""
EXAMPLES: Final = 3
MAX_HOSTS: Final = 1000
"""Pairs of a rule and a host that have a count of their own."""
_LONGEST_EXAMPLE: Final = 2083
_HOSTS: Final = "refused"
_TRAPS: Final = frozenset(Trap)


class Refused(msgspec.Struct, array_like=True, frozen=True):
    """What one rule refused of one host."""

    count: int = 0
    """Links to traps, repeats on other pages included; URLs of quotas."""
    examples: list[str] = []
    """Of these, the first that differ."""


_encode = msgspec.msgpack.Encoder().encode
_DECODER: Final = msgspec.msgpack.Decoder(Refused)
_COUNT: Final = msgspec.msgpack.Decoder(int)


def decode_refused(note: bytes, /) -> Refused:
    """Raises `msgspec.DecodeError`."""
    return _DECODER.decode(note)


class Refusals:
    """Counts refusals in notes."""

    def __init__(self, notes: Notes, *, max_hosts: int = MAX_HOSTS) -> None:
        self._notes = notes
        self._max_hosts = max_hosts
        self._hosts = read_note(notes, _HOSTS, _COUNT.decode) or 0

    def count(self, refusals: Sequence[tuple[str, str]], /) -> None:
        """URLs were refused, each by a rule. Written once for each host and rule among them."""
        found: Counter[tuple[str, str]] = Counter()
        examples: dict[tuple[str, str], dict[str, None]] = {}
        for url, rule in refusals:
            key = rule, host_of(url)
            found[key] += 1
            of_host = examples.setdefault(key, {})
            if len(of_host) < EXAMPLES and len(url) <= _LONGEST_EXAMPLE:
                of_host[url] = None
        unnamed: Counter[str] = Counter()
        for (rule, host), count in found.items():
            if not self._add(f"{PREFIX}{rule} {host}", count, examples[rule, host]):
                unnamed[rule] += count
        for rule, count in unnamed.items():
            self._put(f"{PREFIX}{rule} ", self._known(f"{PREFIX}{rule} ") or Refused(), count, {})

    def _add(self, key: str, count: int, examples: Mapping[str, None]) -> bool:
        """False if there are too many hosts for another."""
        known = self._known(key)
        if known is None:
            if self._hosts >= self._max_hosts:
                return False
            known = Refused()
            self._hosts += 1
            self._notes.put(_HOSTS, _encode(self._hosts))
        self._put(key, known, count, examples)
        return True

    def _known(self, key: str) -> Refused | None:
        return read_note(self._notes, key, decode_refused)

    def _put(self, key: str, known: Refused, count: int, examples: Mapping[str, None]) -> None:
        kept = list(dict.fromkeys((*known.examples, *examples)))[:EXAMPLES]
        self._notes.put(key, _encode(Refused(known.count + count, kept)))


class TrapsCounted:
    """A `Discovery` whose refusals by traps are counted."""

    def __init__(self, inner: Discovery, refusals: Refusals) -> None:
        self._inner = inner
        self._refusals = refusals

    def seeds(self, urls: Sequence[str], /) -> list[CrawlUrl]:
        return self._inner.seeds(urls)

    def links(self, base_url: str, links: Sequence[Link], /, *, parent: CrawlUrl, about: str = "") -> Steps[Discovered]:
        found = yield from self._inner.links(base_url, links, parent=parent, about=about)
        if not _TRAPS.isdisjoint(found.refused):
            trapped = [(url, reason) for url, reason in found.refusals if reason in _TRAPS]
            for at in range(0, len(trapped), LINKS_AT_ONCE):
                if at:
                    yield
                self._refusals.count(trapped[at : at + LINKS_AT_ONCE])
        return found

    def references(
        self, base_url: str, links: Sequence[Link], found: Discovered, /, *, parent: CrawlUrl
    ) -> Steps[list[str]]:
        return self._inner.references(base_url, links, found, parent=parent)

    def sitemaps(self, hrefs: Sequence[str], /, *, parent: CrawlUrl) -> Steps[Discovered]:
        return self._inner.sitemaps(hrefs, parent=parent)

    def redirect(self, redirect: Redirect, /, *, parent: CrawlUrl) -> CrawlUrl | str:
        found = self._inner.redirect(redirect, parent=parent)
        if isinstance(found, Trap) and (url := join(parent.url, redirect.location.strip())):
            self._refusals.count([(url, found)])
        return found


class QuotaCounted:
    """A `Quota` whose refusals are counted."""

    def __init__(self, inner: Quota, refusals: Refusals) -> None:
        self._inner = inner
        self._refusals = refusals

    def refusal(self, url: str, /) -> str | None:
        reason = self._inner.refusal(url)
        if reason is not None:
            self._refusals.count([(url, reason)])
        return reason

    def spend(self, url: str, /, received_bytes: int = 0) -> None:
        self._inner.spend(url, received_bytes)

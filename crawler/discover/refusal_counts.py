"""Counts what traps and quotas kept out of a crawl, so that the owner sees what is missing.

Refusals are counted by rule and host, with the first few URLs as examples. The counts are notes, so they survive a
restart. They stay small, whatever a site invents: beyond a number of hosts, refusals are counted by rule only.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Final

import msgspec

from crawler.discover.traps import Trap
from crawler.notes import NoteKind, Notes, read_note
from crawler.page import Link, LinkDetail, Redirect
from crawler.protocols import Discovered, Discovery, Quota
from crawler.steps import LINKS_AT_ONCE, Steps
from crawler.url.urls import host_of, join
from frontier import CrawlUrl

PREFIX: Final = "refused "
"""The keys of these notes begin with it; rule and host follow."""
EXAMPLES: Final = 3
MAX_HOSTS: Final = 1000
"""Pairs of a rule and a host with a count of their own."""
_LONGEST_EXAMPLE: Final = 2083
_HOSTS: Final = "refused"
_TRAPS: Final = frozenset(Trap)


class RefusalCount(msgspec.Struct, array_like=True, frozen=True):
    """The refusals of one rule on one host."""

    count: int = 0
    """For a trap: how many links lead to it, repeats on other pages included. For a quota: how many URLs it refused."""
    examples: list[str] = []
    """The first distinct URLs."""


_encode = msgspec.msgpack.Encoder().encode
decode_refusal_count: Final = msgspec.msgpack.Decoder(RefusalCount).decode
_COUNT: Final = msgspec.msgpack.Decoder(int)


def _add(note: bytes, other: bytes) -> bytes:
    try:
        return _encode(_COUNT.decode(note) + _COUNT.decode(other))
    except msgspec.ValidationError:
        one, more = decode_refusal_count(note), decode_refusal_count(other)
        examples = list(dict.fromkeys((*one.examples, *more.examples)))[:EXAMPLES]
        return _encode(RefusalCount(one.count + more.count, examples))


NOTES: Final = NoteKind(word="refused", host_of=lambda rule_and_host: rule_and_host.partition(" ")[2], add=_add)
"""The notes have one entry for each rule and host. The number of entries, and the count for further hosts, belong to
the whole crawl."""


class RefusalCounts:
    """Counts refusals in notes."""

    def __init__(self, notes: Notes, *, max_hosts: int = MAX_HOSTS) -> None:
        self._notes = notes
        self._max_hosts = max_hosts
        self._hosts = read_note(notes, _HOSTS, _COUNT.decode) or 0

    def count(self, refusals: Sequence[tuple[str, str]], /) -> None:
        """Count refused URLs, each with its rule. Writes one note for each host and rule among them."""
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
            self._put(f"{PREFIX}{rule} ", self._find(f"{PREFIX}{rule} ") or RefusalCount(), count, {})

    def _add(self, key: str, count: int, examples: Mapping[str, None]) -> bool:
        """False if there are too many hosts to add another."""
        known = self._find(key)
        if known is None:
            if self._hosts >= self._max_hosts:
                return False
            known = RefusalCount()
            self._hosts += 1
            self._notes.put(_HOSTS, _encode(self._hosts))
        self._put(key, known, count, examples)
        return True

    def _find(self, key: str) -> RefusalCount | None:
        return read_note(self._notes, key, decode_refusal_count)

    def _put(self, key: str, known: RefusalCount, count: int, examples: Mapping[str, None]) -> None:
        kept = list(dict.fromkeys((*known.examples, *examples)))[:EXAMPLES]
        self._notes.put(key, _encode(RefusalCount(known.count + count, kept)))


class TrapCounter:
    """A `Discovery` that counts the refusals by traps."""

    def __init__(self, inner: Callable[[], Discovery], refusals: RefusalCounts) -> None:
        """`inner` gives the discovery that holds now."""
        self._inner = inner
        self._refusals = refusals

    def seeds(self, urls: Sequence[str], /) -> list[CrawlUrl]:
        return self._inner().seeds(urls)

    def links(self, base_url: str, links: Sequence[Link], /, *, parent: CrawlUrl, about: str = "") -> Steps[Discovered]:
        found = yield from self._inner().links(base_url, links, parent=parent, about=about)
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
        return self._inner().references(base_url, links, found, parent=parent)

    def link_details(
        self, base_url: str, links: Sequence[Link], found: Discovered, /, *, parent: CrawlUrl
    ) -> Steps[list[LinkDetail]]:
        return self._inner().link_details(base_url, links, found, parent=parent)

    def sitemaps(self, links: Sequence[Link], /, *, parent: CrawlUrl) -> Steps[Discovered]:
        return self._inner().sitemaps(links, parent=parent)

    def redirect(self, redirect: Redirect, /, *, parent: CrawlUrl) -> CrawlUrl | str:
        found = self._inner().redirect(redirect, parent=parent)
        if isinstance(found, Trap) and (url := join(parent.url, redirect.location.strip())):
            self._refusals.count([(url, found)])
        return found


class QuotaCounter:
    """A `Quota` that counts its refusals."""

    def __init__(self, inner: Quota, refusals: RefusalCounts) -> None:
        self._inner = inner
        self._refusals = refusals
        self.spend = inner.spend

    def refusal(self, url: str, /) -> str | None:
        reason = self._inner.refusal(url)
        if reason is not None:
            self._refusals.count([(url, reason)])
        return reason

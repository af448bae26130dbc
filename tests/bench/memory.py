"""What the caches of a crawl cost: bytes per entry, and megabytes when each is as full as it may be.

Each cache is filled in a process of its own, and its resident memory is measured before and after. Entries are of the
usual size: URLs of 70 characters, robots.txt files of 500, one cookie for each site. With `--quick`, a tenth of the
entries is made, and the cost of a full cache is extrapolated.
"""

import asyncio
import gc
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Final

import msgspec
from yarl import URL

from crawler.discover import quota
from crawler.discover.discovery import REMEMBERED_LINKS
from crawler.discover.links.filter import LinkFilter, LinkRules
from crawler.discover.scope import Scope
from crawler.discover.traps import Traps
from crawler.fetch import cookies, hsts
from crawler.fetch.connect.lookup.answers import Answer, Answers, NameCacheLimits
from crawler.fetch.robots.cache import MAX_BYTES, MAX_ORIGINS, RobotsCache
from crawler.fetch.robots.status import RobotsStatus
from crawler.page import Link, LinkKind
from crawler.page.duplicates import BODIES_REMEMBERED, Duplicates
from crawler.url.hosts import HOSTS_REMEMBERED, domain_of_site, registered_domain
from crawler.url.urls import Target, UrlReader
from frontier.link_table.table import MAX_COUNTS, make_link_table
from frontier.sending.sent import MAX_SENT, SentUrls
from frontier.values import CrawlUrl
from tests.bench.report import emit, options, tell
from visited.filters.bloom import BloomSet
from visited.url_cache import UrlCache

_RECENT: Final = 65_536
_FILLED_URLS: Final = 1_000_000

ROBOTS: Final = "User-agent: *\n" + "".join(f"Disallow: /private/{number}/\n" for number in range(20))


class NoNotes:
    """Remembers nothing."""

    def get(self, _key: str, /) -> bytes | None:
        return None

    def put(self, _key: str, _note: bytes, /) -> None:
        pass

    def items(self, _prefix: str, /) -> Iterator[tuple[str, bytes]]:
        return iter(())

    def set_aside(self, _key: str, _error: Exception, /) -> None:
        pass


class Case(msgspec.Struct, frozen=True):
    """A cache, and how many entries it holds at most."""

    most: int
    fill: Callable[[int], object]
    """Makes one with so many entries."""


def main() -> None:
    asked = options(__doc__ or "")
    figures: dict[str, float] = {}
    for name, case in CASES.items():
        entries = case.most // 10 if asked.quick else case.most
        per_entry = _grown_by(case.fill, entries) / entries
        figures |= {f"{name}_bytes": per_entry, f"{name}_full_mb": per_entry * case.most / 1e6}
        tell(f"{name}: {per_entry:,.0f} bytes for each of {case.most:,} at most")
    emit(figures, asked=asked, meanings=dict.fromkeys(figures, ""))


def _grown_by(fill: Callable[[int], object], entries: int) -> int:
    """By how much a child process grows when it makes a full cache."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        code = 1
        try:
            fill(2)
            gc.collect()
            before = resident_bytes()
            kept = fill(entries)
            gc.collect()
            os.write(writing, str(resident_bytes() - before).encode())
            del kept
            code = 0
        finally:
            os._exit(code)
    os.close(writing)
    with os.fdopen(reading, "rb") as told:
        said = told.read()
    _, status = os.waitpid(child, 0)
    if status:
        raise RuntimeError("a cache could not be filled; see above")
    return int(said)


def resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGESIZE")


def _names(entries: int) -> object:
    answers = Answers()
    for number in range(entries):
        answer = Answer(1e9 + number, 2e9 + number, f"192.0.2.{number % 250} 2001:db8::{number:x}")
        answers.put(_host(number), answer, max_names=NameCacheLimits().max_names)
    return answers


def _robots(entries: int) -> object:
    cache = RobotsCache(NoNotes(), agent="onceover")
    for number in range(entries):
        cache.put(f"https://{_host(number)}", _status(number))
    return cache


def _status(number: int) -> RobotsStatus:
    return RobotsStatus(expires_at=1e9 + number, text=f"# {number}\n{ROBOTS}")


def _most_robots() -> int:
    return min(
        MAX_ORIGINS, MAX_BYTES // RobotsCache(NoNotes(), agent="onceover").put("https://e.org", _status(0)).size_bytes
    )


def _recent(entries: int) -> object:
    cache = UrlCache(_RECENT)
    for at in range(0, entries, 100):
        batch = dict.fromkeys(_url(number) for number in range(at, min(at + 100, entries)))
        cache.see(batch, list(batch))
    return cache


def _judged(entries: int) -> object:
    reader, traps = UrlReader(), Traps()
    scope = Scope(within="host", seeds=[_target(reader, _url(0))])
    link_filter = LinkFilter(
        urls=reader, scope=scope, traps=lambda _: traps, rules=LinkRules(), remembered_links=REMEMBERED_LINKS
    )
    for page in range(0, entries, 40):
        links = [Link(_url(number), LinkKind.LINK) for number in range(page, min(page + 40, entries))]
        for judged in link_filter.judge_each(links, _url(page)):
            judged()
    return link_filter


def _hosts(entries: int) -> object:
    reader = UrlReader()
    for number in range(entries):
        target = _target(reader, f"https://{_host(number)}/")
        registered_domain(target.host)
        domain_of_site(target.site)
    return reader


def _target(reader: UrlReader, url: str) -> Target:
    found = reader.read(url, url)
    assert isinstance(found, Target)
    return found


def _bodies(entries: int) -> object:
    bodies = Duplicates()
    for number in range(entries):
        bodies.remember(number.to_bytes(20, "big"), _url(number))
    return bodies


def _sent(entries: int) -> object:
    sent = SentUrls()
    for number in range(entries):
        sent.remember([CrawlUrl(url=_url(number), canonical=_url(number), queue_key="org,example")])
    return sent


def _strict(entries: int) -> object:
    known = hsts.StrictTransport(NoNotes())
    for number in range(entries):
        known.learn(f"https://{_host(number)}/", "max-age=31536000; includeSubDomains")
    return known


def _cookies(entries: int) -> object:
    async def fill() -> object:
        known = cookies.Cookies(NoNotes())
        for number in range(entries):
            known.learn(URL(f"https://site{number}.test/"), [f"session={number:032x}; Path=/; Max-Age=86400"])
        return known

    return asyncio.run(fill())


def _links(entries: int) -> object:
    table = make_link_table()
    for number in range(entries):
        table.add([_url(number)], [1])
    return table


def _counts(entries: int) -> object:
    pages = quota.PageQuota(NoNotes(), lambda _: quota.PageLimits(per_host=1))
    for number in range(entries):
        pages.spend(f"https://{_host(number)}/")
    return pages


def _bloom(entries: int) -> object:
    visited = BloomSet(capacity=_FILLED_URLS, error_rate=0.0001)

    async def fill() -> None:
        for at in range(0, entries, 1000):
            await visited.add_many([_url(number) for number in range(at, min(at + 1000, entries))])

    asyncio.run(fill())
    return visited


def _host(number: int) -> str:
    return f"www.host-{number:07d}.example.org"


def _url(number: int) -> str:
    return f"https://www.example.org/articles/2024/{number:09d}/a-title-of-usual-length"


CASES: Final[Mapping[str, Case]] = {
    "names": Case(NameCacheLimits().max_names, _names),
    "robots": Case(_most_robots(), _robots),
    "recent_urls": Case(_RECENT, _recent),
    "judged_links": Case(REMEMBERED_LINKS, _judged),
    "hosts": Case(HOSTS_REMEMBERED, _hosts),
    "bodies": Case(BODIES_REMEMBERED, _bodies),
    "sent_urls": Case(2 * MAX_SENT, _sent),
    "hsts": Case(hsts._REMEMBERED, _strict),
    "cookie_sites": Case(cookies._REMEMBERED, _cookies),
    "link_counts": Case(MAX_COUNTS, _links),
    "counts_of_traps": Case(quota._REMEMBERED, _counts),
    "visited_bloom": Case(_FILLED_URLS, _bloom),
}


if __name__ == "__main__":
    main()

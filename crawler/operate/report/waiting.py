"""What the hosts of a report do now, or why they wait, and what their robots.txt files say."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

import msgspec

from crawler.control.replies import HostForm, RobotsForm
from crawler.control.requests import MAX_ITEMS, InspectRobots, Top
from crawler.operate.reach import ReachedCrawl
from crawler.operate.refused import Refused
from crawler.operate.report.forms import HostRow, HostTable
from crawler.url.hosts import split_port
from crawler.url.seeds import scheme_adder
from crawler.url.urls import host_of, join

_HOSTS_WITH_SITEMAPS: Final = 8
"""Asked at once: each file may name half a megabyte of sitemaps."""


def who_waits(crawl: ReachedCrawl) -> Mapping[str, HostForm]:
    """The hosts that a crawl serves now, and those that come next, as far as one request tells. A frontier of others
    may be unable to tell."""
    try:
        hosts = crawl.ask(Top(limit=MAX_ITEMS)).hosts
    except Refused:
        return {}
    found: dict[str, HostForm] = {}
    for each in hosts:
        # As URLs have it. Ports, and parts of a host, are queues of their own.
        name, _ = split_port(each.host.partition("#")[0])
        before = found.get(name)
        # The first one is that which is served first.
        size = each.size if before is None else before.size + each.size
        found[name] = msgspec.structs.replace(before or each, size=size)
    return found


def robots_of(crawl: ReachedCrawl, hosts: Sequence[str], *, sitemaps: bool = False) -> Mapping[str, RobotsForm]:
    """What the robots.txt files of hosts say; nothing if the crawl can't tell. `sitemaps` also tells which they
    name."""
    pieces = [
        InspectRobots(hosts=[*hosts[at : at + MAX_ITEMS]], sitemaps=sitemaps) for at in range(0, len(hosts), MAX_ITEMS)
    ]
    try:
        return {each.host: each for piece in pieces for each in crawl.ask(piece).hosts}
    except Refused:
        return {}


def sitemaps_of(crawl: ReachedCrawl, robots_files: Iterable[str]) -> Iterator[tuple[str, list[str]]]:
    """The URLs of the sitemaps that the robots.txt files at these URLs name, as far as the crawl knows. Asks for a few
    hosts at once, so that few files are in memory."""
    of_hosts: dict[str, list[str]] = {}
    for url in robots_files:
        of_hosts.setdefault(host_of(url), []).append(url)
    hosts = [*of_hosts]
    for at in range(0, len(hosts), _HOSTS_WITH_SITEMAPS):
        for host, form in robots_of(crawl, hosts[at : at + _HOSTS_WITH_SITEMAPS], sitemaps=True).items():
            if form.sitemaps is not None:
                for url in of_hosts[host]:
                    add_scheme = scheme_adder(url)
                    yield url, [sitemap for each in form.sitemaps if (sitemap := join(url, add_scheme(each)))]


def with_facts(table: HostTable, waiting: Mapping[str, HostForm], robots: Mapping[str, RobotsForm]) -> HostTable:
    def known(rows: Iterable[HostRow]) -> list[HostRow]:
        return [_with_facts(row, waiting.get(row.host), robots.get(row.host)) for row in rows]

    return msgspec.structs.replace(
        table,
        most_pages=known(table.most_pages),
        most_bytes=known(table.most_bytes),
        most_failures=known(table.most_failures),
    )


def _with_facts(row: HostRow, waiting: HostForm | None, robots: RobotsForm | None) -> HostRow:
    if waiting is not None:
        row = msgspec.structs.replace(row, queued=waiting.size, waits=waiting.waits)
    if robots is not None:
        row = msgspec.structs.replace(
            row, robots=robots.robots, robots_at=robots.asked_at, crawl_delay_s=robots.crawl_delay_s
        )
    return row

"""The parameters of a simulated web, and two common sets of them."""

import re

import msgspec

_DOMAIN = re.compile(r"[a-z0-9_-]{1,63}(?:\.[a-z0-9_-]{1,63})*")
_LEAF_SHARES = ("flaky", "throttled", "slow", "cut", "duplicates", "near_duplicates")
_HOST_SHARES = ("robots_rules", "robots_missing", "robots_redirect")
_COUNTS = ("hosts", "pages_per_host", "giant_factor", "branching", "host_branching", "flaky_failures", "change_spread")
_NOT_NEGATIVE = (
    *("links_per_page", "page_bytes", "throttled_answers", "cut_answers"),
    *("retry_after_s", "delay_s", "crawl_delay_s", "change_every_s"),
)


class WorldParams(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Determines a simulated web: equal parameters make equal webs, byte for byte.

    A share is between 0 and 1, and 0 by default, so the default web is plain. Raises `ValueError` for a number outside
    its limits.
    """

    seed: int = 1
    domain: str = "sim.test"
    """Hosts are h00000.sim.test, h00001.sim.test, …"""
    https: bool = False
    """Whether absolute links say https. The server must then have a certificate."""
    hosts: int = 10
    pages_per_host: int = 20
    giant_hosts: float = 0.0
    """Share of hosts that have `giant_factor` times as many pages."""
    giant_factor: int = 10
    links_per_page: int = 40
    """Half of them are navigation. A page has more if it needs more to keep the web connected."""
    page_bytes: int = 8_000
    """Mean size of a page before compression. Single pages have 0.5 to 1.5 times that."""
    branching: int = 8
    """The number of child pages of a trunk page."""
    host_branching: int = 8
    """The number of child hosts of a host."""

    redirects: float = 0.0
    """Redirects (301, 302, 303, 307, 308) per page: to a page, through chains of up to 4, to other hosts."""
    redirect_loops: float = 0.0
    """Redirect loops per page, of 1, 2 and 5 URLs."""
    not_found: float = 0.0
    """Dead links per page: 404, some 410."""
    broken: float = 0.0
    """URLs per page that always answer 500 or 502."""
    cut_forever: float = 0.0
    """URLs per page whose connection always closes in the middle of the body."""

    flaky: float = 0.0
    """Share of leaf pages that answer 500 to the first `flaky_failures` requests."""
    flaky_failures: int = 1
    throttled: float = 0.0
    """Share of leaf pages that answer 429 with Retry-After to the first `throttled_answers` requests."""
    throttled_answers: int = 1
    retry_after_s: int = 1
    slow: float = 0.0
    """Share of leaf pages that answer after `delay_s`."""
    delay_s: float = 0.5
    cut: float = 0.0
    """Share of leaf pages whose connection closes in the middle of the body on the first `cut_answers` requests."""
    cut_answers: int = 1
    duplicates: float = 0.0
    """Share of leaf pages whose body is that of another page of their host."""
    near_duplicates: float = 0.0
    """Share of leaf pages whose body is that of another page of their host, but for a few words."""

    robots_rules: float = 0.0
    """Share of hosts whose robots.txt disallows something."""
    robots_redirect: float = 0.0
    """Share of hosts whose robots.txt redirects to one with rules."""
    robots_missing: float = 0.0
    """Share of hosts whose robots.txt is a 404."""
    robots_broken: float = 0.0
    """Additional hosts per host whose robots.txt answers 5xx, so that nothing on them may be fetched."""
    crawl_delays: float = 0.0
    """Share of hosts whose robots.txt states a Crawl-delay of `crawl_delay_s`."""
    crawl_delay_s: float = 1.0
    disallowed: float = 0.0
    """Disallowed URLs per page, on hosts with rules."""
    traps: float = 0.0
    """Share of the hosts with rules that have an endless calendar and an endless path."""
    traps_disallowed: bool = True
    """Whether robots.txt disallows the traps. If not, any host may have them, and no crawl is ever complete."""
    sitemap_only: float = 0.0
    """Pages per page that only the sitemap lists, on hosts that have a robots.txt."""

    session_ids: float = 0.0
    """Share of the links to known pages that carry a session id, ;jsessionid= or PHPSESSID=."""
    odd_links: float = 0.0
    """Share of the links to known pages in odd spellings: fragments, dot segments, upper case, white space."""
    legacy_charsets: float = 0.0
    """Share of pages in another encoding than plain UTF-8, declared by header, by meta or not at all."""
    broken_html: float = 0.0
    """Share of pages with unclosed tags, nested tables, missing quotes and stray NULs."""
    compressed: float = 0.0
    """Share of pages that are compressed (br, gzip, deflate) for clients that accept it."""
    chunked: float = 0.0
    """Share of pages sent in chunks instead of with a Content-Length."""

    change_every_s: float = 0.0
    """The median of the pages' mean times between two changes. Each page changes at random; 0 means never."""
    change_spread: int = 1
    """How many times as long and as short as the median the mean time of a page may be."""
    fleeting: float = 0.0
    """Share of leaf pages that are missing (404 or 410) after every other of their changes, on average."""

    def __post_init__(self) -> None:
        for field in msgspec.structs.fields(self):
            value = getattr(self, field.name)
            if field.type is float and not field.name.endswith("_s") and not 0.0 <= value <= 1.0:
                raise ValueError(f"{field.name} must be a share between 0 and 1, not {value!r}")
        for name in _COUNTS:
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, not {getattr(self, name)!r}")
        for name in _NOT_NEGATIVE:
            if getattr(self, name) < 0:
                raise ValueError(f"{name} must not be negative, but is {getattr(self, name)!r}")
        for names, of in ((_LEAF_SHARES, "leaf pages"), (_HOST_SHARES, "hosts")):
            total = sum(getattr(self, name) for name in names)
            if total > 1.0 + 1e-9:
                raise ValueError(f"{', '.join(names)} are shares of the same {of}: their sum is {total:g}, at most 1")
        if not -(2**63) <= self.seed < 2**63:
            raise ValueError(f"seed must fit in 64 bits, not {self.seed!r}")
        if not _DOMAIN.fullmatch(self.domain):
            raise ValueError(f"domain must be a lower-case ASCII name, as sim.test, not {self.domain!r}")


def demo_params() -> WorldParams:
    """40 hosts with 50 pages each, so 2,000 pages, and some of every difficulty that costs only seconds."""
    return WorldParams(
        seed=2026,
        hosts=40,
        pages_per_host=50,
        page_bytes=6_000,
        redirects=0.06,
        redirect_loops=0.02,
        not_found=0.06,
        flaky=0.02,
        throttled=0.005,
        retry_after_s=1,
        slow=0.02,
        delay_s=0.05,
        cut=0.01,
        duplicates=0.03,
        robots_rules=0.4,
        robots_redirect=0.1,
        robots_missing=0.2,
        disallowed=0.06,
        traps=0.5,
        session_ids=0.1,
        odd_links=0.1,
        legacy_charsets=0.15,
        broken_html=0.1,
        compressed=0.5,
        chunked=0.1,
    )


def bench_params(pages: int, *, pages_per_host: int = 250) -> WorldParams:
    """Plain pages of 8 KB with 40 links, no failures.

    `pages` must be a multiple of `pages_per_host`, or less than it; then all pages are on one host.
    """
    if 0 < pages <= pages_per_host:
        return WorldParams(hosts=1, pages_per_host=pages)
    if pages < 1 or pages % pages_per_host:
        raise ValueError(f"pages must be a positive multiple of {pages_per_host} (pages per host), not {pages}")
    return WorldParams(hosts=pages // pages_per_host, pages_per_host=pages_per_host)

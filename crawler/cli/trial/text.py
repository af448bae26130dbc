"""What a trial tells people."""

import textwrap
from collections import defaultdict
from collections.abc import Iterator
from typing import Any, Final

import msgspec

from config import Config
from crawler.library.trial.forms import Hop, Tried, TriedLink
from crawler.operate.report.text import printable
from crawler.page import LinkKind, PageRecord
from crawler.status import duration, size

_ENQUEUED: Final = "enqueued"
_CHECKED: Final = "only checked"
"""With `scope.check_external`."""
_EXAMPLES: Final = 3
_WIDEST: Final = 300
"""Characters of a value. `--json` has all of it."""
_NOT_SHOWN: Final = frozenset(
    {
        *("number", "url", "resolved_url", "state", "status", "reason", "message", "depth", "kind", "hit_count"),
        *("precedence", "weight", "fetched_at", "duration_s", "attempts", "ip", "redirect", "content_type"),
        *("declared_type", "charset", "charset_source", "size_bytes", "received_bytes", "truncated", "rendering"),
        *("noindex", "visit", "references", "link_details", "refused", "refusals", "anchors"),
    }
)
"""Fields of a record that other lines tell, or that say nothing of a trial."""
_ROBOTS: Final = {
    "allowed": "robots.txt allows it",
    "disallowed": "robots.txt disallows it",
    "none": "there is no robots.txt",
    "ignored": "robots.txt is not asked: politeness.robots is false",
    None: "robots.txt was not asked",
}

_Rows = Iterator[tuple[str, str]]


def lines(tried: Tried, config: Config, *, all_links: bool) -> Iterator[str]:
    """All that a person should know of a URL."""
    return map(printable, _lines(tried, config, all_links=all_links))


def _lines(tried: Tried, config: Config, *, all_links: bool) -> Iterator[str]:
    for hop in tried.hops:
        yield hop.url
        yield from _laid_out(_hop_rows(hop))
    yield from _laid_out(_page_rows(tried, config))
    yield from _links(tried.links, all_links=all_links)


def _laid_out(rows: _Rows) -> Iterator[str]:
    for name, value in rows:
        yield f"{name:>17}  {value}"


def _hop_rows(hop: Hop) -> _Rows:
    delay = "" if hop.crawl_delay_s is None else f", with a Crawl-delay of {duration(hop.crawl_delay_s)}"
    yield "robots", _ROBOTS.get(hop.robots, f"robots.txt can't be fetched: {hop.robots}") + delay
    record = hop.record
    if record is None:
        return
    if record.status is not None:
        took = "" if record.duration_s is None else f" in {record.duration_s:.2f} s"
        server = "" if record.ip is None else f" from {record.ip}"
        protocol = "" if hop.protocol is None else f", {hop.protocol}"
        yield "answer", f"{record.status}{took}{server}{protocol}"
    if record.state != "done":
        yield record.state, record.reason or ""
    if record.message is not None:
        yield "message", record.message
    if record.redirect is not None:
        refused = "".join(f", which is not followed: {reason}" for reason in record.refused or ())
        yield "redirects to", record.redirect + refused
        return
    yield from _body_rows(record)
    for name, value in msgspec.to_builtins(record).items():
        if value and name not in _NOT_SHOWN:
            yield name, _shortened(value)


def _body_rows(record: PageRecord) -> _Rows:
    if record.content_type is not None:
        is_other = record.declared_type is not None and record.declared_type != record.content_type
        yield "type", record.content_type + (f", declared as {record.declared_type}" if is_other else "")
    if record.size_bytes is not None and record.received_bytes is not None:
        compressed = "" if record.size_bytes == record.received_bytes else f", {size(record.received_bytes)} received"
        cut = "" if record.truncated is None else f", cut: {record.truncated}"
        yield "size", size(record.size_bytes) + compressed + cut
    if record.charset is not None:
        yield "encoding", f"{record.charset}, by {record.charset_source}"
    if record.rendering is not None:
        yield "rendering", record.rendering


def _page_rows(tried: Tried, config: Config) -> _Rows:
    if tried.waits_s is not None:
        yield "waits", f"for {duration(tried.waits_s)}, because of politeness.hours; it was not asked"
    if tried.noindex:
        yield "noindex", "the page asks not to be shown in search results"
    if tried.nofollow:
        yield "nofollow", "obeyed" if config.scope.nofollow else "not obeyed: scope.nofollow is false"
    if tried.refused is not None:
        yield "scope", f"{tried.refused}: the crawl follows no link to it; it was tried as a seed"
    if tried.sitemaps:
        yield "sitemaps", ", ".join(tried.sitemaps)


def _links(links: list[TriedLink], *, all_links: bool) -> Iterator[str]:
    if not links:
        return
    groups: defaultdict[str, list[TriedLink]] = defaultdict(list)
    for link in links:
        groups[link.refused or (_CHECKED if link.kind == LinkKind.EXTERNAL else _ENQUEUED)].append(link)
    enqueued = len(groups[_ENQUEUED])
    yield f"{'links':>17}  {enqueued:,} would be enqueued, {len(links) - enqueued:,} not"
    for what, group in sorted(groups.items(), key=lambda item: (item[0] != _ENQUEUED, -len(item[1]))):
        shown = group if all_links else group[:_EXAMPLES]
        for place, link in enumerate(shown):
            head = f"{len(group):>9,}  {what:<16}" if place == 0 else " " * 27
            yield f"{head}  {link.url}"
        if len(group) > len(shown):
            yield f"{'':>29}and {len(group) - len(shown):,} more; --links shows them"


def _shortened(value: Any) -> str:
    text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
    return textwrap.shorten(text, _WIDEST, placeholder=" …")

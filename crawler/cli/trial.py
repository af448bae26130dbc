"""onceover try"""

import asyncio
import os
import textwrap
from collections import defaultdict
from collections.abc import Container, Iterator
from functools import partial
from typing import Any, Final

import click
import msgspec

from config import Config, Loaded
from crawler.cli.options import settings_option
from crawler.cli.run.diagnostics import diagnostics, warning_on
from crawler.cli.run.interrupts import interrupts
from crawler.cli.run.running import in_event_loop
from crawler.cli.run.streams import say, say_result
from crawler.codes.exit_codes import COMPLETE, FAILED
from crawler.library.trial.forms import Hop, Tried, TriedLink
from crawler.library.trial.trying import try_urls
from crawler.operate.report.text import printable
from crawler.page import LinkKind, PageRecord
from crawler.progress import ReadStatus, why
from crawler.status import duration, size
from crawler.wiring.configuration import load
from crawler.wiring.plugins.blame import blaming, plugins_of

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


@click.command("try")
@click.argument("configuration", type=click.Path())
@click.argument("urls", metavar="URL...", nargs=-1, required=True)
@settings_option()
@click.option("--links", "all_links", is_flag=True, help="Show all links of each page, not only some of each kind.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON Lines: an object for each URL.")
def try_(configuration: str, urls: tuple[str, ...], settings: tuple[str, ...], all_links: bool, as_json: bool) -> int:
    """Show what a crawl would make of each URL.

    It fetches the URL once, as the crawl of CONFIGURATION would: it asks robots.txt, follows redirects, and rests
    between requests. It shows the record, and which links would be enqueued. There need be no crawl, and one that
    exists is not touched. If CONFIGURATION has no seeds, the URLs are its seeds. Exits with 1 if the crawl would not
    have the page of a URL.
    """
    if "://" in configuration:
        raise click.UsageError(f"expected a configuration file, found the URL {configuration}: name the file first")
    loaded = load(configuration, overrides=settings, environ=os.environ, require_seeds=False)
    if not loaded.seeds:
        options: dict[str, tuple[str, object]] = {"crawl.seeds": ("URL", list(urls))}
        loaded = load(configuration, overrides=settings, options=options, environ=os.environ)
    with warning_on(diagnostics()), blaming(plugins_of(loaded.config)):
        tried = in_event_loop(partial(_try, loaded, urls))
    for number, each in enumerate(tried):
        if as_json:
            say_result(msgspec.json.encode(each))
        else:
            text = "\n".join(lines(each, loaded.config, all_links=all_links))
            say_result(f"\n{text}" if number else text)
    return COMPLETE if all(each.fetched for each in tried) else FAILED


async def _try(loaded: Loaded, urls: tuple[str, ...]) -> list[Tried]:
    async def show(read: ReadStatus) -> None:
        while True:
            await asyncio.sleep(loaded.config.progress.interval_s)
            for reason in why(read()):
                say(reason, to_stderr=True)

    with interrupts():
        return await try_urls(loaded, urls, show=show)


def lines(tried: Tried, config: Config, *, all_links: bool) -> Iterator[str]:
    """All that a person should know of a URL."""
    return map(printable, _lines(tried, config, all_links=all_links))


def _lines(tried: Tried, config: Config, *, all_links: bool) -> Iterator[str]:
    for number, hop in enumerate(tried.hops, 1):
        yield hop.url
        yield from _laid_out(_hop_rows(hop, before={each.url for each in tried.hops[:number]}))
    yield from _laid_out(_page_rows(tried, config))
    yield from _links(tried.links, all_links=all_links)


def _laid_out(rows: _Rows) -> Iterator[str]:
    for name, value in rows:
        yield f"{name:>17}  {value}"


def _hop_rows(hop: Hop, *, before: Container[str]) -> _Rows:
    """`before` are the URLs of the chain up to this one."""
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
        circle = ", which closes a circle" if record.redirect.partition("#")[0] in before else ""
        yield "redirects to", record.redirect + refused + circle
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

"""A report for people."""

import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import chain
from typing import Any, Final

from rich.table import Table

from crawler.course.text import left_text
from crawler.operate.report.forms import HostRow, HostTable, Report, Summary
from crawler.operate.report.lists.forms import (
    ERROR,
    REDIRECT,
    BrokenAnchor,
    DeadLink,
    FetchedRow,
    FoundPage,
    ListName,
    Lists,
    MislistedUrl,
    RedirectLink,
    RefusedRow,
)
from crawler.page import REDIRECTS
from crawler.status import duration, number_of, read_in_part_text, row_lines, size

_WITHOUT_LINKS: Final = "fetched without output.link_details: set it, and crawl anew."
_JOINERS: Final = "\u00ad\u200c\u200d"
"""Soft hyphens and joiners, which words of some languages have, and emoji."""
_SAME: Final = {"body": "same body as", "canonical": "canonical URL is", "text": "almost the same text as"}
_ROBOTS: Final = {
    "allowed": "robots.txt allows everything",
    "partly": "robots.txt disallows a part",
    "disallowed": "robots.txt disallows everything",
    "unreachable": "robots.txt can't be had, so nothing is fetched",
    "none": "no robots.txt",
}


def heading(report: Report) -> str:
    state = "runs" if report.running else "does not run"
    source = "" if report.source == "records" else "; it has no records, so this is what its ledger tells"
    left = report.summary.remaining.urls
    waiting = f"; {number_of(left, 'URL waits', 'URLs wait')} to be fetched" if left else ""
    return f"{report.directory}, {report.at}: {state}{waiting}{source}"


def summary_lines(summary: Summary) -> list[str]:
    """Names and values, wrapped."""
    return row_lines(_rows(summary))


def _rows(summary: Summary) -> list[tuple[str, str]]:
    share = "" if summary.share_done is None else f" ({summary.share_done:.1%})"
    rows = [("URLs", f"{summary.settled:,} of {summary.urls:,} settled{share}, {number_of(summary.hosts, 'host')}")]
    received = "" if summary.bytes_received is None else f" · {size(summary.bytes_received)} received"
    rows.append(("pages", f"{summary.pages:,}{received}"))
    times = summary.times
    if times.first_at is not None:
        mean = "" if times.mean_s is None else f" · {times.mean_s:.2f} s each on average"
        rows.append(("fetched", f"{times.first_at} to {times.last_at}{mean}"))
    rows.append(("left", left_text(summary.remaining)))
    counts = (
        ("answers", summary.statuses, ""),
        ("truncated", summary.truncated or {}, " (pages)"),
        ("failed", summary.failures, ""),
        ("excluded", summary.exclusions, ""),
        ("refused", summary.refused or {}, " (links)"),
    )
    if summary.pruned:
        rows.append(
            ("pruned", f"{number_of(summary.pruned, 'old record was', 'old records were')} deleted, and not counted")
        )
    if summary.read_in_part:
        rows.append(("cut", read_in_part_text(summary.read_in_part)))
    if (external := summary.external) is not None:
        reasons = f" ({_counts(external.exclusions)})" if external.exclusions else ""
        texts = [
            f"{external.checked:,} checked",
            f"{external.dead:,} dead",
            f"{external.excluded:,} not asked{reasons}",
        ]
        rows.append(("external", " · ".join(texts)))
    rows += [(name, _counts(each) + unit) for name, each, unit in counts if each]
    return rows


def _counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name}: {count:,}" for name, count in counts.items())


def host_tables(hosts: HostTable) -> list[Table]:
    """A table for each thing that hosts can have much of."""
    kinds = (("pages", hosts.most_pages), ("bytes", hosts.most_bytes), ("failures", hosts.most_failures))
    return [_table(f"most {name}", rows) for name, rows in kinds if rows]


def host_lines(report: Report) -> Iterator[str]:
    """What rules exclude on these hosts, what their robots.txt files say, and why they wait now."""
    for row in report.hosts.rows:
        texts = [] if not row.excluded else [f"excluded: {_counts(row.excluded)}"]
        texts += [] if row.robots is None else [robots_text(row, report.at)]
        texts += [] if row.waits is None else [f"{row.queued:,} queued; {row.waits}"]
        if texts:
            yield f"{row.host}  {' · '.join(texts)}"


def robots_text(row: HostRow, now: str) -> str:
    """What the robots.txt of a host said, and when. `now` is the moment of the report."""
    said = _ROBOTS.get(row.robots or "", row.robots or "")
    asked = ""
    if row.robots_at is not None:
        age_s = (datetime.fromisoformat(now) - datetime.fromisoformat(row.robots_at)).total_seconds()
        asked = f", asked {duration(max(0.0, age_s))} ago"
    delay = "" if row.crawl_delay_s is None else f"; it asks for {row.crawl_delay_s:g} s between requests"
    return f"{said}{asked}{delay}"


def _table(title: str, rows: list[HostRow]) -> Table:
    table = Table(title, "pages", "failures", "received", "s each", "last", box=None, pad_edge=False)
    for column in table.columns[1:5]:
        column.justify = "right"
    for row in rows:
        received = "" if row.bytes_received is None else size(row.bytes_received)
        mean = "" if row.mean_s is None else f"{row.mean_s:.2f}"
        table.add_row(row.host, f"{row.pages:,}", f"{row.failures:,}", received, mean, (row.last_at or "")[:19])
    return table


_LISTS: Final[Sequence[tuple[ListName, str, str, Callable[[Any], Iterable[str]]]]] = (
    ("dead-links", "dead links", " links", lambda found: _dead_links(found.links)),
    ("broken-anchors", "broken anchors", " links", lambda found: _broken_anchors(found.links)),
    ("orphans", "orphans", "", lambda found: map(_found_line, found.pages)),
    ("unlisted", "unlisted pages", "", lambda found: map(_found_line, found.pages)),
    ("mislisted", "mislisted URLs", "", lambda found: _mislisted(found.entries)),
    ("redirects", "redirects", " links", lambda found: _redirects(found.links)),
    ("duplicates", "duplicates", "", lambda rows: (f"{each.url}  {_SAME[each.by]} {each.of}" for each in rows)),
    ("refused", "refused links", " rules", lambda rows: chain.from_iterable(map(_refused_lines, rows))),
    ("slowest", "slowest", "", lambda rows: map(_fetched_line, rows)),
    ("largest", "largest", "", lambda rows: map(_fetched_line, rows)),
)
"""The name of each list, its title, what it has more of beyond the limit, and its lines."""


def list_lines(report: Lists) -> Iterator[str]:
    """The lists that were made."""
    for name, title, of, lines in _LISTS:
        found = getattr(report, name.replace("-", "_"))
        if found is not None:
            yield from titled(title, chain(lines(found), unknown(report, name)))
            if count := report.more.get(name):
                yield f"  and {count:,} more{of}; a larger --limit shows them"


def titled(title: str, lines: Iterable[str]) -> Iterator[str]:
    yield ""
    yield title
    none = True
    for line in lines:
        none = False
        yield f"  {printable(line)}"
    if none:
        yield "  none"


def printable(line: str) -> str:
    """What strangers have written must not control the terminal, or turn the text around it."""
    return line if line.isprintable() else "".join(each if _is_shown(each) else "\ufffd" for each in line)


def _is_shown(character: str) -> bool:
    return character.isprintable() or character in _JOINERS or unicodedata.category(character) == "Zs"


def _broken_anchors(links: Iterable[BrokenAnchor]) -> Iterator[str]:
    """Each page, then its links."""
    page = None
    for link in links:
        if link.page != page:
            page = link.page
            yield page
        anchor = "" if link.anchor is None else f'  "{link.anchor}"'
        yield f"    {link.url}{anchor}"


def unknown(report: Lists, name: str) -> list[str]:
    """What nobody knows of the rows of a list; nothing if all is known."""
    linked = {"dead-links": report.dead_links, "redirects": report.redirects}.get(name)
    anchors, orphans = report.broken_anchors, report.orphans
    listing = {"unlisted": report.unlisted, "mislisted": report.mislisted}.get(name)
    if linked is not None and linked.links and not linked.is_whole:
        return [
            "Each is shown with one page, where the crawl found it first, because it ran without output.link_details."
        ]
    if name == "broken-anchors" and anchors is not None and not anchors.pages:
        return ["No page tells its anchors, because the crawl ran without output.check_fragments."]
    if name == "orphans" and orphans is not None and orphans.unread:
        pages = number_of(orphans.unread, "page was", "pages were")
        return [f"This needs the links of all pages, but {pages} {_WITHOUT_LINKS}"]
    if listing is not None and listing.unread:
        sitemaps = number_of(listing.unread, "sitemap was", "sitemaps were")
        return [f"This needs what all sitemaps name, but {sitemaps} {_WITHOUT_LINKS}"]
    if listing is not None and not listing.sitemaps:
        return ["No sitemap that names a page was read with output.link_details."]
    return []


def _found_line(row: FoundPage) -> str:
    return f"{row.url}  {row.kind}" + ("" if row.via is None else f" in {row.via}")


def _mislisted(entries: Iterable[MislistedUrl]) -> Iterator[str]:
    """Each sitemap, then what it should not name."""
    sitemap = None
    for each in entries:
        if each.sitemap != sitemap:
            sitemap = each.sitemap
            yield sitemap
        to = "" if each.leads_to is None else f" -> {each.leads_to}"
        yield f"    {why_mislisted(each)}  {each.url}{to}{_end(each)}"


def _dead_links(links: Iterable[DeadLink]) -> Iterator[str]:
    """Each URL, then the pages that link to it."""
    url = None
    for link in links:
        if link.url != url:
            url = link.url
            to = "" if link.leads_to is None else f" -> {link.leads_to}"
            yield f"{dead_answer(link)}  {url}{to}"
        yield _page_line(link)


def _redirects(links: Iterable[RedirectLink]) -> Iterator[str]:
    """Each redirect, then the pages that link to it."""
    url = None
    for link in links:
        if link.url != url:
            url = link.url
            hops = "" if link.hops == 1 else f"  {link.hops} redirects"
            yield f"{answer(link.status, None)}  {url} -> {link.leads_to}{hops}{_end(link)}"
        yield _page_line(link)


def _end(link: RedirectLink | MislistedUrl) -> str:
    """The answer where redirects end."""
    has_end = link.end_status is not None or link.end_reason is not None
    return f"  {answer(link.end_status, link.end_reason)}" if has_end else ""


def _page_line(link: DeadLink | RedirectLink) -> str:
    if link.page is None:
        return "    no page links to it"
    how = link.kind if link.anchor is None else f'"{link.anchor}"'
    return f"    {link.page}  {how}" if how else f"    {link.page}"


def _refused_lines(row: RefusedRow) -> Iterator[str]:
    yield f"{row.links:,}  {row.rule}"
    for example in row.examples:
        yield f"    {example.url}  on {example.page}"


def _fetched_line(row: FetchedRow) -> str:
    took = "" if row.duration_s is None else f"{row.duration_s:.2f} s"
    return f"{took:>9}  {'' if row.size_bytes is None else size(row.size_bytes):>9}  {row.url}"


def dead_answer(link: DeadLink) -> str:
    """A redirect that leads somewhere is not dead itself."""
    return _with_fault(answer(link.status, link.reason), link.status)


def why_mislisted(entry: MislistedUrl) -> str:
    """The status of an error or of a redirect says more than that it is one."""
    if entry.reason == ERROR:
        return _with_fault(answer(entry.status, entry.reason), entry.status)
    return answer(entry.status, entry.reason) if entry.reason == REDIRECT else entry.reason


def _with_fault(said: str, status: int | None) -> str:
    return said + (" without a Location" if status in REDIRECTS else "")


def answer(status: int | None, reason: str | None) -> str:
    return str(status) if status is not None else (reason or "?")

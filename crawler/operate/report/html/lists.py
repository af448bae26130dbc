"""The lists of a report as tables."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Final

from crawler.operate.report.forms import HostRow
from crawler.operate.report.html.tables import Cell, number, table, text, url
from crawler.operate.report.lists.forms import (
    BrokenAnchor,
    DeadLink,
    FetchedRow,
    FoundPage,
    Lists,
    MislistedUrl,
    RedirectLink,
    RefusedRow,
)
from crawler.operate.report.text import dead_answer, robots_text, unknown, why_mislisted
from crawler.status import size

_REDIRECT_COLUMNS: Final = ("Status", "URL", "Leads to", "Answer there", "On the page", "Link")
Section = tuple[str, str, str, str]
"""The name of a list, its title, its table, and what to say if it is empty."""


def sections(report: Lists) -> Iterator[Section]:
    if report.dead_links is not None:
        shown = _table(("Dead URL", "Answer", "On the page", "Link"), _dead_rows(report.dead_links.links))
        yield "dead-links", "Dead links", shown, "No link is known to be dead."
    if report.broken_anchors is not None:
        broken = ((url(each.page), url(each.url), _link(each)) for each in report.broken_anchors.links)
        empty = "".join(unknown(report, "broken-anchors")) or "No link is known to be broken."
        shown = _table(("Page", "Leads to", "Link"), broken)
        yield "broken-anchors", "Links to missing parts of pages", shown, empty
    if report.orphans is not None:
        empty = "".join(unknown(report, "orphans")) or "There are none."
        yield "orphans", "Orphan pages", _found(report.orphans.pages), empty
    if report.unlisted is not None:
        empty = "".join(unknown(report, "unlisted")) or "There are none."
        yield "unlisted", "Pages that no sitemap names", _found(report.unlisted.pages), empty
    if report.mislisted is not None:
        shown = _table(("Sitemap", "URL", "Why", "Leads to", "Answer there"), _mislisted_rows(report.mislisted.entries))
        empty = "".join(unknown(report, "mislisted")) or "There are none."
        yield "mislisted", "URLs that sitemaps should not name", shown, empty
    if report.redirects is not None:
        shown = _table(_REDIRECT_COLUMNS, _redirect_rows(report.redirects.links))
        yield "redirects", "Redirects", shown, "There are none."
    if report.duplicates is not None:
        same = ((url(each.url), url(each.of), each.by, _size(each.bytes)) for each in report.duplicates)
        yield "duplicates", "Duplicates", _table(("URL", "Same as", "By", "Size"), same), "There are none."
    if report.refused is not None:
        shown = _table(("Rule", "Links", "Examples"), map(_refused, report.refused))
        yield "refused", "Refused links", shown, "No link was refused."
    for name, title, fetched in (("slowest", "Slowest", report.slowest), ("largest", "Largest", report.largest)):
        if fetched is not None:
            shown = _table(("URL", "Status", "Time", "Received", "Decoded"), map(_fetched, fetched))
            yield name, title, shown, "Nothing was fetched."


def _found(pages: Sequence[FoundPage]) -> str:
    rows = ((url(each.url), each.kind, "–" if each.via is None else url(each.via)) for each in pages)
    return _table(("URL", "Found as", "In"), rows)


def _table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Empty without rows."""
    found = list(rows)
    return table(columns, found) if found else ""


def host_table(rows: Iterable[HostRow], at: str) -> str:
    """`at`: the moment of the report."""
    counted = ("URLs", "Pages", "Failures", "Answers", "Excluded", "Received", "Mean time", "Last fetch")
    return table(("Host", *counted, "robots.txt", "Now"), (_host(row, at) for row in rows))


def _host(row: HostRow, at: str) -> Sequence[str]:
    mean = "–" if row.mean_s is None else f"{row.mean_s:.2f} s"
    counts = (number(row.urls), number(row.pages), number(row.failures))
    statuses = ", ".join(f"{status}: {count:,}" for status, count in row.statuses.items())
    excluded = ", ".join(f"{rule}: {count:,}" for rule, count in row.excluded.items())
    now = "–" if row.waits is None else f"{row.queued:,} queued; {row.waits}"
    return (
        row.host,
        *counts,
        statuses or "–",
        excluded or "–",
        _size(row.bytes_received),
        mean,
        (row.last_at or "–")[:19],
        "–" if row.robots is None else robots_text(row, at).removeprefix("robots.txt "),
        now,
    )


def _dead_rows(links: Iterable[DeadLink]) -> Iterator[Sequence[str]]:
    """A URL stands before the first of its pages."""
    for (dead, leads_to, said), of_one in groupby(links, key=lambda each: (each.url, each.leads_to, dead_answer(each))):
        to = "" if leads_to is None else f"<br>→ {url(leads_to)}"
        shown, answer = Cell(url(dead) + to), Cell(text(said))
        for link in of_one:
            yield shown, answer, *_page(link)
            shown = answer = Cell("")


def _mislisted_rows(entries: Iterable[MislistedUrl]) -> Iterator[Sequence[str]]:
    """A sitemap stands before the first of its URLs."""
    for sitemap, of_one in groupby(entries, key=lambda each: each.sitemap):
        shown = url(sitemap)
        for each in of_one:
            end = _answer(each.end_status, each.end_reason)
            yield shown, url(each.url), why_mislisted(each), url(each.leads_to), end
            shown = Cell("")


def _redirect_rows(links: Iterable[RedirectLink]) -> Iterator[Sequence[str]]:
    """A redirect stands before the first of its pages."""
    for _, of_one in groupby(links, key=lambda each: each.url):
        shown: Sequence[str] = ()
        for link in of_one:
            end = _answer(link.end_status, link.end_reason)
            shown = (Cell(""),) * 4 if shown else (_answer(link.status, None), url(link.url), url(link.leads_to), end)
            yield *shown, *_page(link)


def _page(link: DeadLink | RedirectLink) -> Sequence[str]:
    return Cell("no page links to it") if link.page is None else url(link.page), _link(link)


def _link(link: DeadLink | RedirectLink | BrokenAnchor) -> str:
    """Its text in quotation marks, or its kind if it has none."""
    return link.kind or "–" if link.anchor is None else f'"{link.anchor}"'


def _refused(row: RefusedRow) -> Sequence[str]:
    examples = "<br>".join(f"{text(each.url)} on {url(each.page)}" for each in row.examples)
    return row.rule, number(row.links), Cell(examples or "–")


def _fetched(row: FetchedRow) -> Sequence[str]:
    took = "–" if row.duration_s is None else f"{row.duration_s:.2f} s"
    return url(row.url), _answer(row.status, None), took, _size(row.received_bytes), _size(row.size_bytes)


def _answer(status: int | None, reason: str | None) -> Cell:
    return Cell(text(str(status) if status is not None else reason or "–"))


def _size(count: int | None) -> Cell:
    return Cell("–" if count is None else f'<span class="number">{size(count)}</span>')

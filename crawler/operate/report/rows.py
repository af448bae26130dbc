"""A section of a report as rows of a table, for programs that read CSV."""

import csv
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TextIO

import msgspec

from crawler.operate.report.forms import HostRow, Report
from crawler.operate.report.lists.forms import (
    BrokenAnchor,
    DeadLink,
    Duplicate,
    FetchedRow,
    FoundPage,
    MislistedUrl,
    RedirectLink,
    RefusedExample,
)
from crawler.operate.report.text import unknown


class RefusedLine(msgspec.Struct, frozen=True, kw_only=True):
    """An example of links that a rule has refused; without one, the rule alone."""

    rule: str
    links: int
    url: str | None
    page: str | None


def _refused_lines(report: Report) -> Iterator[RefusedLine]:
    none = RefusedExample(url="", page="")
    for row in report.refused or ():
        for example in row.examples or (none,):
            yield RefusedLine(rule=row.rule, links=row.links, url=example.url or None, page=example.page or None)


_TABLES: Mapping[str, tuple[type[msgspec.Struct], Callable[[Report], Iterable[msgspec.Struct]]]] = {
    "hosts": (HostRow, lambda report: report.hosts.rows),
    "dead-links": (DeadLink, lambda report: () if report.dead_links is None else report.dead_links.links),
    "broken-anchors": (BrokenAnchor, lambda report: report.broken_anchors.links if report.broken_anchors else ()),
    "orphans": (FoundPage, lambda report: () if report.orphans is None else report.orphans.pages),
    "unlisted": (FoundPage, lambda report: () if report.unlisted is None else report.unlisted.pages),
    "mislisted": (MislistedUrl, lambda report: () if report.mislisted is None else report.mislisted.entries),
    "redirects": (RedirectLink, lambda report: () if report.redirects is None else report.redirects.links),
    "duplicates": (Duplicate, lambda report: report.duplicates or ()),
    "refused": (RefusedLine, _refused_lines),
    "slowest": (FetchedRow, lambda report: report.slowest or ()),
    "largest": (FetchedRow, lambda report: report.largest or ()),
}
"""What the rows of each section are, and where they are."""


def write_csv(report: Report, section: str, stream: TextIO) -> None:
    """A section with the names of its columns. Raises `KeyError` for one that is no table."""
    struct, rows = _TABLES[section]
    columns = struct.__struct_fields__
    lines = csv.writer(stream, lineterminator="\n")
    lines.writerow(columns)
    for row in rows(report):
        lines.writerow([in_a_line(getattr(row, column)) for column in columns])
    stream.flush()


def may_have_rows(report: Report, section: str) -> bool:
    """Whether a section has any rows, or would have if the crawl knew more."""
    return bool(unknown(report, section) or report.notes) or any(True for _ in _TABLES[section][1](report))


def in_a_line(value: object) -> object:
    """`csv` quotes line feeds alone, but many readers take a carriage return for the end of a line. Truth values are
    written as in JSON and in exports."""
    if isinstance(value, Mapping):
        return " ".join(f"{name}:{count}" for name, count in value.items())
    if isinstance(value, bool):
        return "true" if value else "false"
    return value.replace("\r", " ") if isinstance(value, str) else value
